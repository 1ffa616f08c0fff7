"""What decisions are worth at known outcomes, context by context, and in sum."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import Array
from ..guarantees.groups import Rows
from ..tables import html_table
from .by_group import exact_interval, table_by_group

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Decisions against outcomes, context by context, and in sum.

    Attributes
    ----------
    status : strings of shape (n,)
    decided : shape (n,), whether there was a decision to act on
    violated : shape (n,), whether a constraint was broken or the cost was more than
        certified, or a decision that exists could not be computed; False where there
        is none
    certified : shape (n,), worst case of the objective; nan without a decision
    realised : shape (n,), objective at the outcome
    regret : shape (n,), how much worse that is than with the outcome known in advance
    level : confidence of the interval
    groups : names of groups of contexts, each with its rows
    alpha : violation level that was promised, or None
    """

    status: npt.NDArray[np.str_]
    decided: npt.NDArray[np.bool_]
    violated: npt.NDArray[np.bool_]
    certified: Array
    realised: Array
    regret: Array
    level: float = 0.95
    groups: tuple[tuple[Hashable, Rows], ...] = ()
    alpha: float | None = None

    @property
    def violation(self) -> float:
        """Share of contexts with a violation."""
        return float(np.mean(self.violated))

    @property
    def share_decided(self) -> float:
        """Share of contexts with a decision to act on."""
        return float(np.mean(self.decided))

    @property
    def interval(self) -> tuple[float, float]:
        """Exact (Clopper-Pearson) interval of the violation probability."""
        hits, n = int(np.sum(self.violated)), len(self.violated)
        return exact_interval(hits, n, self.level)

    def by_group(self) -> pd.DataFrame:
        """Violations in each of the groups that `evaluate` was given.

        Returns
        -------
        DataFrame
            One row a group: `contexts` in it and how many were `decided`, the share
            with a `violation` and its exact interval, `low` to `high`; the `alpha`
            that was promised; `p`, the probability that chance alone gives so many
            violations where they have at most this probability, adjusted for the
            number of groups (Holm); and whether the group is `above` alpha: p is at
            most 0.05. If no group is, any is called so with probability at most 0.05.
            No rows where `evaluate` was given no groups.
        """
        return table_by_group({"policy": self}).droplevel("policy")

    def to_pandas(self) -> pd.Series:
        """The sums, by name."""
        import pandas as pd

        low, high = self.interval
        return pd.Series(
            {
                "contexts": len(self.violated),
                "decided": int(self.decided.sum()),
                "violation": self.violation,
                "violation low": low,
                "violation high": high,
                "certified": mean_of(self.certified),
                "realised": mean_of(self.realised),
                "regret": mean_of(self.regret),
            }
        )

    def at_a_glance(self, fresh: bool = True) -> dict[str, float]:
        """A row of a frontier: what is certified, realised, and kept.

        Parameters
        ----------
        fresh : whether the outcomes had no part in the policy; if they had, nothing is
            said of violations, nor of regret
        """
        row = {"certified": mean_of(self.certified), "realised": mean_of(self.realised)}
        if fresh:
            low, high = self.interval
            row |= {"regret": mean_of(self.regret), "violation": self.violation}
            row |= {"low": low, "high": high}
        return row | {"decided": self.share_decided}

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(f'{n} {v}' for n, v in self._facts())})"

    def _repr_html_(self) -> str:
        return html_table("Evaluation", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        low, high = self.interval
        # A rule certifies nothing and has no regret: what is nan is not mentioned.
        means = {
            "certified": mean_of(self.certified),
            "realised": mean_of(self.realised),
            "regret": mean_of(self.regret),
        }
        return [
            ("contexts", f"{len(self.violated)}"),
            ("violation", f"{self.violation:.4g} [{low:.4g}, {high:.4g}]"),
            ("decided", f"{self.share_decided:.1%}"),
            *((name, f"{m:.4g}") for name, m in means.items() if np.isfinite(m)),
        ]


def mean_of(values: Array) -> float:
    """Mean of the finite values; nan without any."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")
