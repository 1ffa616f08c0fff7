"""The demonstration: several models, what was promised, what happened.

`collect` gathers every fact into plain data; `write` and `show` only print them.
`show_problem` walks through one problem of the paper.
"""

from .console import show
from .facts import collect
from .problem import show_problem
from .report import write

__all__ = ["collect", "show", "show_problem", "write"]
