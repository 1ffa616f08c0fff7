"""The demonstration: several models, what was promised, what happened.

`show_sets` calibrates them on a made-up shop; `show_problem` walks through one problem
of the paper, from a fresh model to audited decisions. Both collect every fact into
plain data first, then say it and write its page.
"""

from .problem import show_problem
from .sets import show_sets

__all__ = ["show_problem", "show_sets"]
