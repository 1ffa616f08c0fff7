"""Several policies on the same test data: one table, and differences with intervals.

What a policy certifies, what its decisions turn out to cost, how often they break their
promise, and how large its sets are, all on the same contexts and outcomes. Costs vary
far more between contexts than between policies, so policies are compared context by
context: the interval is that of the paired differences.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import cvxpy as cp
import numpy as np

from ..checks import Array, require_bool, require_level
from ..errors import InvalidParameter
from ..intervals import bootstrap_interval, mean_interval, t_interval
from ..loss_set import Batch, SetSource
from ..loss_set.scorer import mean_width
from ..losses import Loss, Squared
from ..predictions import Table, can, count_rows
from ..progress import Bar
from ..sets import UncertaintySet
from ..tables import html_table
from .by_group import LabelsOrGroups, read_groups, table_by_group, warn_of_groups
from .evaluation import Evaluation

if TYPE_CHECKING:
    import pandas as pd

#: How the interval of a paired difference is computed.
METHODS = ("bootstrap-t", "t", "bootstrap")


#: Outcomes, or those of several uncertain parameters by name.
Outcome: TypeAlias = "Table | Mapping[Any, Any]"


class Decider(Protocol):
    """What decides, and is evaluated: a policy, a baseline, or a rule."""

    def decide(self, X: Any, /) -> Any: ...
    def evaluate(self, X: Any, Y: Any, /, n_jobs: int | None = None) -> Evaluation: ...


@runtime_checkable
class HasProblem(Protocol):
    """A decider with a CVXPY model, whose objective says which way is better."""

    @property
    def problem(self) -> Any: ...


class SetKey(Protocol):
    """An uncertain parameter, and what gives its sets."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> Any: ...


@runtime_checkable
class HasKeys(Protocol):
    """A decider whose sets can be looked at."""

    @property
    def keys(self) -> Sequence[SetKey]: ...


@runtime_checkable
class HasSense(Protocol):
    """A decider without one: 1.0 where its costs are minimised, -1.0 for rewards."""

    @property
    def sense(self) -> float: ...


@runtime_checkable
class Promises(Protocol):
    """A decider that promises something of violations."""

    @property
    def promised_alpha(self) -> float | None:
        """The violation level it promises, or None."""

    @property
    def promises_groups(self) -> bool:
        """Whether it promises that in each of some groups."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What each policy was worth on the same contexts and outcomes.

    Attributes
    ----------
    evaluations : dict from names to Evaluation values
    half_widths : dict from names to floats
        Mean half-width of the sets over random directions, in standard deviations of
        the outcome; nan for policies without sets.
    seconds : dict from names to floats, time to decide one context
    sense : 1.0 where costs are minimised, -1.0 where rewards are maximised
    """

    evaluations: dict[str, Evaluation]
    half_widths: dict[str, float]
    seconds: dict[str, float]
    sense: float

    def to_pandas(self) -> pd.DataFrame:
        """One row a policy.

        Means are over the contexts that a policy decided, `decided` of them; compare
        policies that decide different ones by `paired`, not by these.
        `certified` and `realised` are mean objectives, `regret` is measured against
        someone who knows the outcome, `violation` has its exact 95 % interval.
        """
        import pandas as pd

        rows = {
            name: {
                **evaluation.to_pandas().to_dict(),
                "half width": self.half_widths[name],
                "seconds": self.seconds[name],
            }
            for name, evaluation in self.evaluations.items()
        }
        table = pd.DataFrame.from_dict(rows, orient="index")
        whole = {"contexts": int, "decided": int}
        return table.astype(whole).rename_axis("policy")

    def by_group(self) -> pd.DataFrame:
        """Violations of each policy in each of the groups that `evaluate` was given.

        Returns
        -------
        DataFrame
            One row a policy and group, with the columns of `Evaluation.by_group`. All
            are looked at together: `p` is adjusted for their number.
        """
        return table_by_group(self.evaluations)

    def paired(
        self,
        reference: str | None = None,
        level: float = 0.95,
        method: str = "bootstrap-t",
        random_state: int = 0,
    ) -> pd.DataFrame:
        """How much more each policy costs than a reference, context by context.

        Parameters
        ----------
        reference : name of a policy, by default the first
        level : float in (0, 1), confidence of the intervals
        method : "bootstrap-t", "t" or "bootstrap"
            Student's interval of the mean difference, extended to that of the
            studentised bootstrap: it holds where differences are skewed, heavy-tailed
            or often zero, from 20 contexts on. An end is infinite where too few
            contexts differ to bound it. Or Student's alone, for differences near
            normal; or the percentiles of 9999 resamples of the contexts, for large
            samples.
        random_state : seed of the resamples of "bootstrap"

        Returns
        -------
        DataFrame
            One row each other policy: `contexts` both decided, mean `difference` of
            the realised objective (positive where the policy is worse than the
            reference, whether costs or rewards), and its interval, `low` to `high`.
        """
        import pandas as pd

        names = list(self.evaluations)
        reference = names[0] if reference is None else reference
        self._check(reference, level, method)
        rows = {}
        for name in names:
            if name == reference:
                continue
            gaps = self._differences(name, reference)
            if method == "bootstrap":
                low, high = bootstrap_interval(gaps, level, random_state)
            else:
                interval = t_interval if method == "t" else mean_interval
                low, high = interval(gaps, level)
            mean = float(gaps.mean()) if gaps.size else float("nan")
            rows[name] = {"contexts": gaps.size, "difference": mean}
            rows[name] |= {"low": low, "high": high}
        columns = ["contexts", "difference", "low", "high"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return table.rename_axis("policy")

    def _differences(self, name: str, reference: str) -> Array:
        """Excess cost over the reference where both decided."""
        mine, other = self.evaluations[name], self.evaluations[reference]
        gaps = self.sense * (mine.realised - other.realised)
        return np.asarray(gaps[np.isfinite(gaps)])

    def _check(self, reference: str, level: float, method: str) -> None:
        require_level("Comparison.paired", level=level)
        if reference not in self.evaluations:
            raise InvalidParameter(
                "Comparison.paired(reference=...) must be one of "
                f"{list(self.evaluations)}, got {reference!r}."
            )
        if method not in METHODS:
            raise InvalidParameter(
                f"Comparison.paired(method=...) must be one of {METHODS}, got "
                f"{method!r}."
            )

    def __repr__(self) -> str:
        table = self.to_pandas().to_string(float_format="{:.4g}".format)
        return f"Comparison of {len(self.evaluations)} policies\n{table}"

    def _repr_html_(self) -> str:
        each = [
            (name, f"{evaluation}") for name, evaluation in self.evaluations.items()
        ]
        return html_table(f"Comparison of {len(each)} policies", each)


def evaluate(
    policies: Mapping[str, Decider],
    X: Table,
    Y: Outcome,
    n_jobs: int | None = None,
    *,
    groups: LabelsOrGroups | None = None,
    alpha: float | None = None,
    progress: bool = False,
) -> Comparison:
    """Evaluate policies on the same test data.

    Parameters
    ----------
    policies : dict from names to policies
        Anything `RobustProblem.compile` returns, or of `sl.baselines`, all of one
        model; and rules of `sl.calibrate_rule`, whose `cost` is what is compared.
    X, Y : contexts and outcomes that played no part in training or calibration
    n_jobs : int, optional
        Workers for the solves.
    groups : as for `Mondrian`, or an array of labels, one a row; optional
        Groups of contexts to look at, which may overlap: `by_group()` of what is
        returned has the violations in each. One that violates more often than alpha,
        by more than chance explains, is warned of.
    alpha : float in (0, 1), optional
        Violation level to hold groups against; by default what each policy promises.
    progress : bool, default False
        Whether to show a bar of the policies, on a terminal or in a notebook.

    Examples
    --------
    >>> import sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> Y = X + 0.1 * rng.normal(size=(300, 2))
    >>> r, w = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True)
    >>> def policy(sets):
    ...     model = cp.Maximize(r @ w), [cp.sum(w) == 1]
    ...     return sl.RobustProblem(*model, {r: sets}).compile()
    >>> point = sl.baselines.PointPrediction(lambda X: X)
    >>> mean = sl.baselines.ClassicalEllipsoid(alpha=0.1).fit(X[:200], Y[:200])
    >>> comparison = evaluate(
    ...     {"point": policy(point), "mean": policy(mean)}, X[200:], Y[200:]
    ... )
    >>> comparison.to_pandas()[["contexts", "decided"]]
            contexts  decided
    policy
    point        100      100
    mean         100      100
    >>> bool(comparison.paired("point").loc["mean", "low"] > 0)
    True
    """
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidParameter(
            "evaluate(policies=...) must be a non-empty dict from names to policies, "
            f"got {type(policies).__name__}. Say policy.evaluate(X, Y) for one."
        )
    for name, policy in policies.items():
        if not can(policy, "evaluate"):
            raise InvalidParameter(
                f"evaluate(policies={{{name!r}: ...}}) must be a policy, got "
                f"{type(policy).__name__}. Give RobustProblem(...).compile()."
            )
    if alpha is not None:
        require_level("evaluate", alpha=alpha)
    require_bool("evaluate", progress=progress)
    evaluations, widths, seconds = {}, {}, {}
    with Bar(len(policies), "policies") if progress else nullcontext() as bar:
        for name, policy in policies.items():
            timed = _Timed(policy)
            seen = timed.evaluate(X, Y, n_jobs)
            named = read_groups("evaluate", groups, X, len(seen.status))
            held_to = _promised(policy) if alpha is None else alpha
            evaluations[name] = replace(seen, groups=named, alpha=held_to)
            seconds[name] = timed.seconds / len(seen.status)
            widths[name] = _half_width(policy, X, Y)
            if bar is not None:
                bar.advance(1)
    if groups is not None:
        able = [name for name, each in policies.items() if _promises_groups(each)]
        warn_of_groups("evaluate", table_by_group(evaluations), able)
    return Comparison(evaluations, widths, seconds, _sense(policies))


def _promised(policy: Decider) -> float | None:
    return policy.promised_alpha if isinstance(policy, Promises) else None


def _promises_groups(policy: Decider) -> bool:
    return isinstance(policy, Promises) and policy.promises_groups


def _sense(policies: Mapping[str, Decider]) -> float:
    senses = {_sense_of(policy) for policy in policies.values()}
    if len(senses) != 1:
        raise InvalidParameter(
            "evaluate(policies=...) must all minimise or all maximise, got both."
        )
    return senses.pop()


def _sense_of(policy: Decider) -> float:
    if isinstance(policy, HasProblem):
        return 1.0 if isinstance(policy.problem.objective, cp.Minimize) else -1.0
    if isinstance(policy, HasSense):
        return policy.sense
    raise InvalidParameter(
        "evaluate(policies=...) must each have a problem, or a sense, 1.0 where costs "
        f"are minimised and -1.0 for rewards, got {type(policy).__name__}."
    )


class _Timed:
    """A policy whose `evaluate` tells how long its `decide` took."""

    def __init__(self, policy: Decider) -> None:
        self.seconds = 0.0
        self._policy, self._inner = policy, copy.copy(policy)
        vars(self._inner)["decide"] = self._decide

    def evaluate(self, X: Table, Y: Outcome, n_jobs: int | None) -> Evaluation:
        return self._inner.evaluate(X, Y, n_jobs=n_jobs)

    def _decide(self, *given: Any, **more: Any) -> Any:
        start = perf_counter()
        decisions = self._policy.decide(*given, **more)
        self.seconds += perf_counter() - start
        return decisions


def _half_width(policy: Decider, X: Table, Y: Outcome) -> float:
    """Mean half-width of a policy's sets, averaged over its uncertain parameters."""
    if not isinstance(policy, HasKeys):
        return float("nan")
    widths = [
        _one_half_width(key.source, X, Y[key.name] if isinstance(Y, dict) else Y)
        for key in policy.keys
    ]
    return float(np.mean(widths))


def _one_half_width(source: UncertaintySet | SetSource, X: Table, Y: Any) -> float:
    if isinstance(source, UncertaintySet):
        sets = _Supports(Squared(), (source,))
        vectors = np.reshape(np.asarray(Y, dtype=float), (count_rows(Y), -1))
    else:
        batch = source.predict_set(X)
        vectors = batch.outcomes.encode(Y, "evaluate")
        sets = _Supports(batch.parts[0].loss, batch)
    return mean_width(sets, vectors)


@dataclass(frozen=True)
class _Supports:
    """Unions of folds, or set values, as `mean_width` asks for them."""

    loss: Loss
    sets: Sequence[UncertaintySet]

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, rows: slice) -> _Supports:
        return _Supports(self.loss, self.sets[rows])

    def support(self, direction: Array) -> Array:
        if isinstance(self.sets, Batch):
            return np.asarray(self.sets.support(direction))
        return np.array([region.support(direction) for region in self.sets])
