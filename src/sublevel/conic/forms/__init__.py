"""Programs whose solution is a formula: recognised, solved, certified."""

from .closed_form import ClosedForm
from .compiled_form import CompiledForm
from .form import Form, form_of

__all__ = ["ClosedForm", "CompiledForm", "Form", "form_of"]
