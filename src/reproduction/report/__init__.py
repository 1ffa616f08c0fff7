"""One pipeline from tables and charts to files and to the terminal.

Facts come in as plain data. Whoever has them lays them out as a `Page` of tables and
figures; nothing is computed here but where ink goes.
"""

from .page import Figure, Page, Section
from .panel import Axis, Series, linear, listed, panel, placed
from .table import Entry, Table, count, digits, named, number, rate
from .terminal import lines
from .writing import write

__all__ = [
    "Axis",
    "Entry",
    "Figure",
    "Page",
    "Section",
    "Series",
    "Table",
    "count",
    "digits",
    "linear",
    "lines",
    "listed",
    "named",
    "number",
    "panel",
    "placed",
    "rate",
    "write",
]
