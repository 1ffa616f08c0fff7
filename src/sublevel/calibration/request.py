"""What can be asked of a calibration of decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from ..checks import briefly, require_bool, require_level
from ..errors import InvalidParameter
from ..guarantees import PAC, Guarantee, Marginal, OrderStatistic, get

METHODS = ("envelope", "learn-then-test", "risk")
#: Confidence deficit of tests in sequence where none is given.
DELTA = 0.05


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of a calibration.

    Attributes
    ----------
    owner : who complains
    alpha : violation level
    guarantee : what is made of envelope scores
    method : "envelope", "learn-then-test" or "risk"
    grid : levels to try, or None
    given_decided : whether the promise is about decisions that are taken
    """

    owner: str
    alpha: float
    guarantee: Guarantee
    method: str = "envelope"
    grid: npt.ArrayLike | None = None
    given_decided: bool = False

    @property
    def delta(self) -> float | None:
        """Confidence deficit, where the promise has one."""
        if isinstance(self.guarantee, PAC):
            return self.guarantee.delta
        tested = self.method == "learn-then-test" or self.given_decided
        return DELTA if tested else None

    @property
    def order(self) -> OrderStatistic:
        """How many points may lie above the level, for tests and for sizes."""
        return Marginal() if self.delta is None else PAC(self.delta)


def read_request(
    owner: str,
    alpha: float,
    guarantee: str | Guarantee,
    delta: float | None = None,
    method: str = "envelope",
    grid: npt.ArrayLike | None = None,
    given_decided: bool = False,
    fallback: bool = False,
) -> Request:
    """A request that makes sense, or one sentence why it does not."""
    require_level(owner, alpha=alpha)
    if not (isinstance(method, str) and method in METHODS):
        raise InvalidParameter(
            f"{owner}(method=...) must be one of {METHODS}, got {briefly(method)}."
        )
    require_bool(owner, given_decided=given_decided)
    promise = get(guarantee)
    if delta is not None:
        require_level(owner, delta=delta)
        if not isinstance(promise, Marginal):
            raise InvalidParameter(
                f"{owner}(delta=...) is short for guarantee=PAC(delta), and must not "
                f"come with another guarantee, got {promise!r}."
            )
        promise = PAC(delta)
    plain = isinstance(promise, Marginal | PAC)
    if method == "risk" and not isinstance(promise, Marginal):
        raise InvalidParameter(
            f"{owner}(method='risk') controls an expectation, on average over "
            f"calibrations, and takes no delta and no other guarantee, got {promise!r}."
        )
    if (method == "learn-then-test" or given_decided) and not plain:
        what = "given_decided=True" if given_decided else "method='learn-then-test'"
        raise InvalidParameter(
            f"{owner}({what}) tests levels one after another with confidence 1 - delta, "
            f"and goes with guarantee=PAC(delta) only, got {promise!r}."
        )
    if given_decided and method != "envelope":
        raise InvalidParameter(
            f"{owner}(given_decided=True) has a method of its own, and takes no "
            f"method={method!r}."
        )
    if fallback and not plain:
        raise InvalidParameter(
            f"{owner}(fallback=...) goes with 'marginal' and 'pac' only: the other "
            f"promises are of robust decisions, got {promise!r}."
        )
    return Request(owner, alpha, promise, method, grid, given_decided)
