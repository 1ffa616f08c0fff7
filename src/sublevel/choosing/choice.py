"""What candidates came to, and the one that was chosen."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..calibration.levels import levels_around
from ..checks import Array, is_whole
from ..errors import InvalidParameter
from ..evaluation import Evaluation
from ..intervals import t_interval
from ..tables import html_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: What candidates can be compared by.
CRITERIA = ("certified", "realised")
#: What solvers resolve of costs, relative to their size: a smaller difference is a tie.
RESOLVED = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """Candidates on the same contexts, and the best of them.

    Attributes
    ----------
    best : name of the candidate that was chosen; of several that tie, the first given
    policy : the candidate itself: not calibrated, to be calibrated on other rows; or,
        where `delta` says so, calibrated and certified
    evaluations : dict from names to Evaluation values, out of fold, at alpha
        Regret is nan where all folds share one search.
    compared : dict from names to arrays of shape (n,)
        Costs of each context that were compared, to be made small.
    alpha : float, the violation level they were calibrated to
    by : "certified" or "realised"
    sense : 1.0 where costs are minimised, -1.0 where rewards are maximised
    delta : float or None
        Where all candidates were certified together, the confidence deficit they share.
    expected : dict from names to pairs of budgets, or to None
        Between which the level of other rows is expected: those of folds at violation
        levels near alpha.
    """

    best: str
    policy: Any
    evaluations: dict[str, Evaluation]
    compared: dict[str, Array]
    alpha: float
    by: str
    sense: float
    delta: float | None = None
    expected: dict[str, tuple[float, float] | None] = field(default_factory=dict)

    def grid(self, name: str | None = None, steps: int = 60) -> Array | None:
        """Budgets for `Policy.calibrate(grid=...)`: fine where the answer is expected.

        A level is rounded up to one of a grid, of 5 % steps by default. The rows of the
        choice tell where steps should be smaller, which is fair: they are not those of
        the calibration. It looks at more levels, and takes longer.

        Parameters
        ----------
        name : of a candidate; the best one by default
        steps : int, at least 1: how many where the answer is expected

        Returns
        -------
        array of shape (k,), ascending, or None
            None is the default grid: where the candidate has several LossSets, or the
            promise is no order statistic.
        """
        if self.delta is not None:
            raise InvalidParameter(
                "Choice.grid() must be for other rows than those of the choice, got a "
                f"choice with delta={self.delta:g}, whose policy is calibrated already."
            )
        if not is_whole(steps, 1):
            raise InvalidParameter(
                "Choice.grid(steps=...) must be a whole number of at least 1, got "
                f"{steps!r}."
            )
        name = self.best if name is None else name
        if name not in self.evaluations:
            raise InvalidParameter(
                f"Choice.grid(name=...) must be one of {sorted(self.evaluations)}, got "
                f"{name!r}."
            )
        pair = self.expected.get(name)
        return None if pair is None else levels_around(*pair, steps)

    def to_pandas(self) -> pd.DataFrame:
        """One row a candidate, the best first.

        `certified` and `realised` are means over the contexts decided, at alpha;
        `score` is what was compared: the mean over all contexts, and over levels
        around alpha, where a context without a decision counts as the worst that any
        candidate had anywhere. `behind` is how much worse than
        the best, `low` to `high` its 95 % interval, context by context. Where it is
        below a millionth of the costs themselves, the two tie: solvers resolve no more.
        """
        import pandas as pd

        scores = self.scores()
        rows = {}
        # One that ties with the best may be ahead of it by what rounding left.
        for name in sorted(
            scores, key=lambda each: (each != self.best, self.sense * scores[each])
        ):
            sums = self.evaluations[name].to_pandas()
            gaps = self._behind(name)
            low, high = (0.0, 0.0) if name == self.best else t_interval(gaps, 0.95)
            rows[name] = {
                "certified": sums["certified"],
                "realised": sums["realised"],
                "violation": sums["violation"],
                "decided": self.evaluations[name].share_decided,
                "score": scores[name],
                "behind": float(gaps.mean()),
                "low": low,
                "high": high,
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("candidate")

    def scores(self) -> dict[str, float]:
        """What was compared, by name."""
        return {n: self.sense * float(c.mean()) for n, c in self.compared.items()}

    @property
    def sentence(self) -> str:
        """The choice in words."""
        table = self.to_pandas()
        count = len(table)
        start = f"{self.best!r} is the only candidate"
        if count > 1:
            second = table.iloc[1]
            start = (
                f"{self.best!r} is the best of {count} by {self.by} objective at alpha "
                f"{self.alpha:g}: {table['score'].iloc[0]:.4g}, and "
                f"{second['score']:.4g} for {table.index[1]!r} "
                f"({self._verdict(table.index[1], second)})"
            )
        if self.delta is None:
            return f"{start}. Calibrate it on other rows: the choice is then free."
        return (
            f"{start}. All {count} were certified together with confidence "
            f"{1 - self.delta:g}, so that it may be used as it is."
        )

    def to_dict(self) -> dict[str, Any]:
        """The choice and its table as plain data, for JSON."""
        rows = self.to_pandas().to_dict(orient="index")
        plain = {
            str(name): {
                key: float(v) if np.isfinite(v) else None for key, v in row.items()
            }
            for name, row in rows.items()
        }
        return {
            "best": self.best,
            "alpha": self.alpha,
            "by": self.by,
            "delta": self.delta,
            "sentence": self.sentence,
            "candidates": plain,
        }

    def to_json(self) -> str:
        """The same as a string."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """How far each candidate is behind the best, with intervals."""
        from ..plots import plot_choice

        return plot_choice(self, ax=ax)

    def __repr__(self) -> str:
        table = self.to_pandas().to_string(float_format="{:.4g}".format)
        return f"Choice: {self.sentence}\n{table}"

    def _repr_html_(self) -> str:
        each = [(name, f"{e}") for name, e in self.evaluations.items()]
        return html_table(f"Choice: {self.sentence}", each)

    def _behind(self, name: str) -> Array:
        """Excess cost over the best, context by context."""
        return self.compared[name] - self.compared[self.best]

    def _verdict(self, name: str, row: pd.Series) -> str:
        """How a candidate compares with the best, in words."""
        least = resolution(self.compared[name], self.compared[self.best])
        if abs(row["behind"]) <= least:
            return "a tie: solvers resolve no difference so small"
        return "clearly" if row["low"] > least else "within the noise"


def resolution(*costs: Array) -> float:
    """The least difference between mean costs that is more than rounding.

    Examples
    --------
    >>> resolution(np.array([2.0, -2.0]), np.array([1.0, 1.0]))
    2e-06
    """
    return RESOLVED * max(float(np.abs(each).mean()) for each in costs)


def least_of(columns: dict[str, Array]) -> str:
    """The candidate that costs least; the first of those that tie with it."""
    least = min(columns.values(), key=lambda costs: float(costs.mean()))
    return next(
        name
        for name, costs in columns.items()
        if costs.mean() <= least.mean() + resolution(costs, least)
    )


def costs_of(
    evaluations: dict[str, Evaluation], by: str, sense: float
) -> dict[str, Array]:
    """Costs to be made small, shape (n,) each: worst of all where nothing was decided.

    Whoever leaves hard contexts undecided would look cheap otherwise.
    """
    columns = {
        name: sense * (each.certified if by == "certified" else each.realised)
        for name, each in evaluations.items()
    }
    every = np.concatenate(list(columns.values()))
    finite = every[np.isfinite(every)]
    worst = float(finite.max()) if finite.size else np.inf
    return {
        name: np.where(np.isfinite(costs), costs, worst)
        for name, costs in columns.items()
    }
