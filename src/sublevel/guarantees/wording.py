"""How a value is named in a message: short, whatever was passed."""

from typing import Any

_LONGEST = 60


def briefly(value: Any) -> str:
    """The value itself if that is short, else its type and size.

    Examples
    --------
    >>> import numpy as np
    >>> briefly(1.5), briefly(np.zeros((300, 2)))
    ('1.5', 'ndarray of shape (300, 2)')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {shape}"
    written = repr(value)
    if len(written) <= _LONGEST:
        return written
    size = f" of length {len(value)}" if hasattr(value, "__len__") else ""
    return f"{type(value).__name__}{size}"
