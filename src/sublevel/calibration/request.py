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
    is_plain : whether one level for all is read off by counting, marginally or with
        delta; everything else, a class derived from these included, is asked itself
    delta : confidence deficit of a plain promise, where it has one
    order : how many points may lie above the level, for tests and for sizes
    wording : what is promised of what
    """

    owner: str
    alpha: float
    guarantee: Guarantee
    method: str
    grid: npt.ArrayLike | None
    given_decided: bool
    is_plain: bool
    delta: float | None
    order: Marginal | PAC
    wording: Wording


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
    # Equality of dataclasses is also one of classes.
    plain = promise == Marginal() or (
        isinstance(promise, PAC) and promise == PAC(promise.delta)
    )
    if not plain and (isinstance(promise, CrossFitting) or takes_components(promise)):
        # Decisions have one score each, by the model as it is.
        raise InvalidParameter(
            f"{owner}(guarantee=...) must calibrate on one score for each outcome set "
            f"aside, got {promise!r}. Give it to LossSet.calibrate, or use Marginal, "
            "PAC, Mondrian or Weighted."
        )
    tested = method == "learn-then-test" or given_decided
    if method == "risk" and promise != Marginal():
        raise InvalidParameter(
            f"{owner}(method='risk') controls an expectation, on average over "
            f"calibrations, and takes no delta and no other guarantee, got {promise!r}."
        )
    if tested and not plain:
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
    deficit = DELTA if tested else None
    if isinstance(promise, PAC):
        deficit = promise.delta
    order = Marginal() if deficit is None else PAC(deficit)
    asked = (owner, alpha, promise, method, grid, given_decided)
    return Request(*asked, plain, deficit, order, wording)
