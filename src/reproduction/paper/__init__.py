"""What the experiments showed, published numbers beside ours: a page and a digest."""

from .digest import digest
from .page import write

__all__ = ["digest", "write"]
