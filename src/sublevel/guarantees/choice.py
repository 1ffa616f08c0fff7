"""From the name of a guarantee to the guarantee."""

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import cast

from ..checks import briefly
from ..errors import InvalidParameter
from ..predictions import can
from .calibration import Guarantee
from .marginal import Marginal
from .pac import PAC

_BY_NAME: dict[str, Callable[[], Guarantee]] = {"marginal": Marginal, "pac": PAC}


def get(guarantee: object) -> Guarantee:
    """The guarantee meant by a name, or the object itself if it can calibrate.

    Parameters
    ----------
    guarantee : str or object
        "marginal", "pac", or any object with a `calibrate` method.

    Examples
    --------
    >>> from sublevel.guarantees import PAC, get
    >>> get("marginal")
    Marginal()
    >>> get(PAC(delta=0.01))
    PAC(delta=0.01, candidates=1)
    """
    if isinstance(guarantee, str) and guarantee in _BY_NAME:
        return _BY_NAME[guarantee]()
    if isinstance(guarantee, type) and can(guarantee, "calibrate"):
        raise InvalidParameter(
            f"guarantee must be an object, got the class {guarantee.__name__}. Say "
            f"{_call(guarantee)}."
        )
    if can(guarantee, "calibrate"):
        return cast(Guarantee, guarantee)
    choices = " or ".join(f'"{name}"' for name in _BY_NAME)
    raise InvalidParameter(
        f"guarantee must be {choices}, or an object with a calibrate method such as "
        f"sublevel.guarantees.PAC(delta=0.01), got {briefly(guarantee)}."
    )


def _call(guarantee: type) -> str:
    """How an object of this class is made: PAC(), Mondrian(groups=...)."""
    needed = [
        f"{each.name}=..."
        for each in (fields(guarantee) if is_dataclass(guarantee) else ())
        if each.default is MISSING and each.default_factory is MISSING
    ]
    return f"{guarantee.__name__}({', '.join(needed)})"
