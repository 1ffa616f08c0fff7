"""A policy calibrated again and again, on the latest rows with outcomes."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from ..calibration.certificates import decision_certificate, given_certificate
from ..calibration.request import read_request
from ..checks import Array, is_whole
from ..errors import CertificateVoid, InvalidParameter
from ..folds import times_of
from ..guarantees import Certificate
from ..guarantees.in_time import with_times
from ..predictions import Table, count_rows
from ..robust.contexts import Contexts
from ..robust.decisions import Decisions
from ..robust.labelled import Outcome
from ..robust.policy import Policy
from ..robust.problem import RobustProblem
from .again import of_latest
from .levels import (
    PROBES,
    at_level,
    probes_from,
    probes_to,
    require_policy,
    score_rows,
)
from .recent import Recent, require_rows
from .state import count_from, numbers_from, numbers_to, read_state, write_state
from .window import latest, require_window

if TYPE_CHECKING:
    import pandas as pd


class SlidingPolicy:
    """Decides at the level that the latest rows with outcomes support.

    What `Policy.calibrate` would choose on these rows; each row is scored once, when
    its outcome comes in. The promise assumes that a new row is exchangeable with the
    rows of the window, not with older ones. It is one for all contexts, of alpha and
    delta as given here, however the policy itself was calibrated: groups and weights of
    its own are not kept.

    Parameters
    ----------
    policy : Policy, with its fallback, if it was calibrated with one
    X, Y : rows with outcomes to begin with
    alpha : float in (0, 1), the violation level
    delta : float in (0, 1), optional
        Confidence deficit, as for `Policy.calibrate`.
    window : int, optional
        How many of the latest rows count; as many as there are to begin with by
        default.
    every : int, default 1
        The level is read anew after so many rows.
    grid : as for `Policy.calibrate`

    Attributes
    ----------
    policy : as given
    budget_, certificate_ : the level, and what it promises

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> Y = X + rng.normal(size=(300, 1)) * np.repeat([1.0, 3.0], 150)[:, None]
    >>> demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    >>> sets = sl.LossSet(lambda X: X, loss="absolute")
    >>> met = [stock >= demand]
    >>> problem = sl.RobustProblem(cp.Minimize(stock), met, {demand: sets})
    >>> live = sl.drift.SlidingPolicy(problem.compile(), X[:100], Y[:100], alpha=0.1)
    >>> before = live.budget_
    >>> live.update(X[100:], Y[100:])
    SlidingPolicy(alpha 0.1, budget 3.92, the latest 100 rows)
    >>> bool(live.budget_ > 2 * before)
    True
    """

    def __init__(
        self,
        policy: Policy,
        X: Table,
        Y: Outcome,
        alpha: float = 0.1,
        delta: float | None = None,
        window: int | None = None,
        every: int = 1,
        grid: npt.ArrayLike | None = None,
    ) -> None:
        owner = "SlidingPolicy"
        require_policy(owner, policy)
        self._request = read_request(owner, alpha, "marginal", delta, grid=grid)
        if not is_whole(every, least=1):
            raise InvalidParameter(
                f"{owner}(every=...) must be a whole number of at least 1, got "
                f"{every!r}."
            )
        self.policy, self.every = policy, every
        self.window = require_window(owner, window) or count_rows(X)
        self._scores = latest(score_rows(policy, X, Y, grid, alpha), self.window)
        self._times = _latest_times(None, X, self.window)
        self._probes = Recent().add(X, Y, PROBES)
        self._recognition = policy.recognition(X)
        self._since = 0
        self._settle()

    @property
    def problem(self) -> RobustProblem:
        """The policy's."""
        return self.policy.problem

    @property
    def scores(self) -> Array:
        """Envelope scores of the rows in the window, as they came, shape (n,)."""
        return self._scores.copy()

    def _settle(self) -> None:
        """Read the level off the window, and what it promises."""
        request, size = self._request, len(self._scores)
        rank = request.order.rank(size, request.alpha)
        level = np.inf if rank is None else float(np.sort(self._scores)[rank - 1])
        acts = self.policy.has_fallback
        abstains = acts or bool(np.isinf(self._scores).any())
        certificate = decision_certificate(level, request, size, acts, abstains)
        certificate = of_latest(certificate, size)
        if self._times is not None:
            import pandas as pd

            certificate = with_times(certificate, pd.DataFrame(index=self._times))
        self.budget_, self.certificate_ = level, certificate

    def decide(self, X: Contexts, n_jobs: int | None = None) -> Decisions:
        """The decision at every row of X, at the level of the moment.

        Without a certificate, and with a warning, if the rule is not the one that was
        scored: model, problem or solver.
        """
        promise: Certificate = self.certificate_
        changed = self.policy.changed_since(self._recognition)
        if changed is not None:
            warnings.warn(
                f"The policy's certificate is void: {changed} since it was scored. "
                "Make a SlidingPolicy anew.",
                CertificateVoid,
                stacklevel=2,
            )
            promise = given_certificate((self.budget_,))
        return at_level(self.policy, self.budget_, promise).decide(X, n_jobs=n_jobs)

    def update(self, X: Table, Y: Outcome, decisions: Decisions | None = None) -> Self:
        """Take in rows with their outcomes, the latest last.

        Parameters
        ----------
        X, Y : contexts and their outcomes
        decisions : not needed; accepted so that all that follow drift are called alike
        """
        del decisions
        require_rows("SlidingPolicy.update", X, Y, self._probes)
        asked = self._request
        scores = score_rows(self.policy, X, Y, asked.grid, asked.alpha, self.budget_)
        self._scores = latest(np.append(self._scores, scores), self.window)
        self._times = _latest_times(self._times, X, self.window)
        self._probes = self._probes.add(X, Y, PROBES)
        self._since += len(scores)
        if self._since >= self.every:
            self._since = 0
            self._settle()
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write scores and settings to a file of JSON; not the policy."""
        grid = self._request.grid
        times = self._times
        write_state(
            path,
            "SlidingPolicy",
            {
                "alpha": self._request.alpha,
                "delta": self._request.delta,
                "grid": None if grid is None else np.asarray(grid, float).tolist(),
                "window": self.window,
                "every": self.every,
                "since": self._since,
                "budget": numbers_to(np.array([self.budget_])),
                "certificate": self.certificate_.to_dict(),
                "scores": numbers_to(self._scores),
                "times": None if times is None else [t.isoformat() for t in times],
                "zone": None if times is None or times.tz is None else str(times.tz),
                "probes": probes_to(self._probes, self.policy),
            },
        )

    @classmethod
    def load(cls, path: str | PathLike[str], policy: Policy) -> SlidingPolicy:
        """Go on from where `save` left, with the same policy.

        The policy is made as it was, by its problem; that it is the same is seen by
        the scores of the latest rows.
        """
        owner = "SlidingPolicy.load"
        require_policy(owner, policy)
        state = read_state(path, "SlidingPolicy")
        other = cls.__new__(cls)
        other.policy, other.every = policy, count_from(state["every"])
        other.window, other._since = count_from(state["window"]), state["since"]
        other._request = read_request(
            owner, state["alpha"], "marginal", state["delta"], grid=state["grid"]
        )
        other._scores = numbers_from(state["scores"])
        other._times = _read_times(state["times"], state["zone"])
        other._probes = probes_from(state["probes"], policy, owner)
        other._recognition = policy.recognition(other._probes.X)
        other.budget_ = float(numbers_from(state["budget"])[0])
        other.certificate_ = Certificate.from_dict(state["certificate"])
        return other

    def __repr__(self) -> str:
        return (
            f"SlidingPolicy(alpha {self._request.alpha:g}, budget {self.budget_:.4g}, "
            f"the latest {len(self._scores)} rows)"
        )


def _latest_times(
    before: pd.DatetimeIndex | None, X: Table, window: int
) -> pd.DatetimeIndex | None:
    """Times of the rows in the window; None where not all have one."""
    times = times_of(X)
    if times is None:
        return None
    import pandas as pd

    every = times if before is None else before.append(times)
    return pd.DatetimeIndex(every[-window:])


def _read_times(times: list[str] | None, zone: str | None) -> pd.DatetimeIndex | None:
    if times is None:
        return None
    import pandas as pd

    index = pd.DatetimeIndex(pd.to_datetime(times, utc=zone is not None))
    return index if zone is None else index.tz_convert(zone)
