"""A reproduction as pages: HTML that needs nothing else, Markdown, CSV and JSON.

Facts come in as plain data (`sublevel.experiments.collect`); nothing is computed here
but where ink goes.
"""

from .digest import digest
from .writing import write

__all__ = ["digest", "write"]
