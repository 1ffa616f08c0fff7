"""What can be asked of a calibration of decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from ..checks import briefly, require_bool, require_level
from ..errors import InvalidParameter
from ..guarantees import PAC, CrossFitting, Guarantee, Marginal, get
from ..guarantees.faces import takes_components
from .wording import DECISIONS, Wording

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
    wording : what is promised of what
    """

    owner: str
    alpha: float
    guarantee: Guarantee
    method: str = "envelope"
    grid: npt.ArrayLike | None = None
    given_decided: bool = False
    wording: Wording = DECISIONS

    @property
    def is_tested(self) -> bool:
        """Whether levels are tested one after another."""
        return self.method == "learn-then-test" or self.given_decided

    @property
    def is_plain(self) -> bool:
        """Whether one level for all is read off by counting, marginally or with delta.

        Everything else, a class derived from these included, is asked itself.
        """
        return _is_plain(self.guarantee)

    @property
    def delta(self) -> float | None:
        """Confidence deficit of a plain promise, where it has one."""
        if isinstance(self.guarantee, PAC):
            return self.guarantee.delta
        return DELTA if self.is_tested else None

    @property
    def order(self) -> Marginal | PAC:
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
    wording: Wording = DECISIONS,
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
        if promise != Marginal():
            raise InvalidParameter(
                f"{owner}(delta=...) is short for guarantee=PAC(delta), and must not "
                f"come with another guarantee, got {promise!r}."
            )
        promise = PAC(delta)
    _require_scores(owner, promise)
    plain = _is_plain(promise)
    if method == "risk" and promise != Marginal():
        raise InvalidParameter(
            f"{owner}(method='risk') controls an expectation, on average over "
            f"calibrations, and takes no delta and no other guarantee, got {promise!r}."
        )
    if (method == "learn-then-test" or given_decided) and not plain:
        what = "given_decided=True" if given_decided else "method='learn-then-test'"
        raise InvalidParameter(
            f"{owner}({what}) tests levels one after another with confidence "
            f"1 - delta, and goes with guarantee=PAC(delta) only, got {promise!r}."
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
    return Request(owner, alpha, promise, method, grid, given_decided, wording)


def _is_plain(promise: Guarantee) -> bool:
    # Equality of dataclasses is also one of classes.
    return promise == Marginal() or (
        isinstance(promise, PAC) and promise == PAC(promise.delta)
    )


def _require_scores(owner: str, promise: Guarantee) -> None:
    """Decisions have one score each, by the model as it is."""
    if isinstance(promise, CrossFitting) or takes_components(promise):
        raise InvalidParameter(
            f"{owner}(guarantee=...) must calibrate on one score for each outcome set "
            f"aside, got {promise!r}. Give it to LossSet.calibrate, or use Marginal, "
            "PAC, Mondrian or Weighted."
        )
