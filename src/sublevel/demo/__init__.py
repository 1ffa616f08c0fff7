"""The demonstration: several models, what was promised, what happened.

`collect` gathers every fact into plain data; `write` and `show` only print them.
"""

from .console import show
from .facts import collect
from .report import write

__all__ = ["collect", "show", "write"]
