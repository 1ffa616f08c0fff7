"""Programs whose solution is a formula: recognised, solved, certified."""

from .closed_form import ClosedForm
from .form import Form, form_of

__all__ = ["ClosedForm", "Form", "form_of"]
