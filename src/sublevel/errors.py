"""Every exception and warning of the library.

A message says who complains (the owner), what was given, the rule, and the way out:
``Owner(argument=...) must be <rule>, got <value>. <Way out>.``
"""

from typing import TYPE_CHECKING, Any


class SublevelError(Exception):
    """Root of every error this library raises on purpose."""


class InvalidParameter(SublevelError, ValueError):
    """The caller passed something the rule named in the message forbids."""


class UnseenClass(InvalidParameter):
    """A label was given that the classifier has never seen."""


class EmptySet(SublevelError, ValueError):
    """No outcome satisfies all the conditions of the set."""


class Unbounded(SublevelError, ValueError):
    """The worst case is infinite in the direction asked for."""


class SolverFailed(SublevelError, RuntimeError):
    """A solver stopped without an answer; the message has its name and status."""


class MissingExtra(SublevelError, ImportError):
    """An optional dependency is needed; the message has the install command."""


class InfiniteBudget(UserWarning):
    """The calibration sample is too small for a finite budget at the level asked."""


class RowsSeenBefore(UserWarning):
    """Some calibration rows were trained on, so that too much is promised."""


class SolvesFailed(UserWarning):
    """Some decisions could not be computed; the message says what was made of it."""


class CoarseLevels(UserWarning):
    """The levels looked at are far apart; the message says what would be finer."""


class CertificateVoid(UserWarning):
    """What was calibrated is no longer what decides; the message says what changed."""


class GroupsAbove(UserWarning):
    """Some groups of contexts violate more often than alpha; the message names them."""


class NoErrors(UserWarning):
    """A model makes no errors to learn from; the message says what is made of that."""


class OneByOne(UserWarning):
    """Contexts go to a solver one by one; the message says what that costs."""


class NotRobustifiable(SublevelError, ValueError):
    """A constraint cannot be made robust exactly; the message says why."""


class OutsideDomain(NotRobustifiable):
    """A set has outcomes at which a function in the model is not defined."""


class CannotWrite(SublevelError, OSError):
    """A folder takes no files; the message says why, and what is kept."""


class CellsFailed(SublevelError, RuntimeError):
    """Parts of an experiment failed; the message names them."""


if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError

    class NotCalibrated(SublevelError, NotFittedError):  # type: ignore[misc]
        """A set was asked for before its budget was calibrated."""
else:

    def __getattr__(name: str) -> Any:
        """`NotCalibrated` is one of scikit-learn's errors too: made when asked for."""
        if name != "NotCalibrated":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from sklearn.exceptions import NotFittedError

        class NotCalibrated(SublevelError, NotFittedError):
            """A set was asked for before its budget was calibrated."""

        NotCalibrated.__qualname__ = name
        return globals().setdefault(name, NotCalibrated)

    def __dir__() -> list[str]:
        return sorted({*globals(), "NotCalibrated"})
