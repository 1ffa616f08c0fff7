"""Packages that are loaded when something of them is first used.

A saved policy decides with NumPy and a solver. CVXPY, which every loss and every set
can also be written in, takes longer to load than a thousand decisions. So modules on
the road of a saved policy say

    from ..deferred import cp

in place of ``import cvxpy as cp``. Nothing else changes: type checkers see the package,
and the first use of a name in it loads it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

__all__ = ["DeferredModule", "cp", "deferred_names", "is_expression", "sp", "special"]


class DeferredModule(ModuleType):
    """Stands for a module until something of it is asked for.

    Examples
    --------
    >>> fractions = DeferredModule("fractions")
    >>> fractions.Fraction(1, 2)
    Fraction(1, 2)
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def is_expression(value: object) -> TypeGuard[cp.Expression]:
    """Whether a value is an expression of CVXPY's: none is before CVXPY is loaded.

    Examples
    --------
    >>> is_expression(1.5), is_expression(cp.Variable(2))
    (False, True)
    """
    cvxpy = sys.modules.get("cvxpy")
    return cvxpy is not None and isinstance(value, cvxpy.Expression)


def deferred_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are looked up when used.

    Parameters
    ----------
    package : `__name__` of the package
    homes : public name -> module of the package that has it; "" for a module itself

    Examples
    --------
    >>> look_up, names = deferred_names("sublevel", {"Prediction": "predictions"})
    >>> look_up("Prediction").__name__, "Prediction" in names()
    ('Prediction', True)
    """

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}{whereabouts(name)}"
            )
        home = homes[name]
        if not home:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(f"{package}.{home}"), name)
        # The next time it is there.
        setattr(sys.modules[package], name, value)
        return value

    def whereabouts(name: str) -> str:
        """Where a name that was looked for one floor too high is; "" if nowhere."""
        floors = [] if name.startswith("_") else [n for n in homes if not homes[n]]
        for floor in floors:
            try:
                has_it = name in import_module(f"{package}.{floor}").__all__
            except (ImportError, AttributeError):  # an extra is missing; no list
                continue
            if has_it:
                return f". It is in {package}.{floor}."
        return ""

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return look_up, names


if TYPE_CHECKING:
    import cvxpy as cp
    import scipy.sparse as sp
    import scipy.special as special
else:
    cp = DeferredModule("cvxpy")
    sp = DeferredModule("scipy.sparse")
    special = DeferredModule("scipy.special")
