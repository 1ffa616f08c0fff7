"""Rule: anyone's decision rule at a level that was calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..calibration.band import Band, band_certificate, search_band
from ..calibration.certificates import given_certificate
from ..calibration.frontier import ALPHAS, as_alphas, draw_lines
from ..calibration.wording import Wording
from ..checks import briefly, is_number, require_level
from ..errors import InfiniteBudget, InvalidParameter
from ..evaluation.by_group import LabelsOrGroups
from ..evaluation.evaluation import Evaluation
from ..guarantees import Calibrated, Calibration, Certificate
from ..guarantees.in_time import with_times
from ..parallel import count_workers, each
from ..tables import html_table
from .behaviour import Action, Behaviour
from .decisions import RuleDecisions
from .evaluating import evaluate_decisions, promised
from .points import RulePoints
from .rows import Rows, count, row_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """A decision rule of any kind, at its certified level; made by `calibrate_rule`.

    Attributes
    ----------
    behaviour : how it decides, what counts as a violation, and the fallback
    calibration : its level at any context
    points : the rule at its calibration points
    wording : what is promised of what
    cost : function of a decision and its outcome, or None
    sense : 1.0 where costs are minimised, -1.0 where rewards are maximised

    Examples
    --------
    >>> import numpy as np, sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> forecast = rng.uniform(5, 10, size=200)
    >>> demand = forecast + rng.normal(size=200)
    >>> rule = sl.calibrate_rule(
    ...     decide=lambda forecast, margin: forecast + margin,
    ...     violates=lambda stock, demand: demand > stock,
    ...     X=forecast,
    ...     Y=demand,
    ...     alpha=0.1,
    ...     levels=np.linspace(0, 4, 41),
    ... )
    >>> rule
    Rule(level 1.3; promise alpha 0.1; points 200)
    >>> [round(stock, 1) for stock in rule([5.0, 6.0])]
    [6.3, 7.3]
    """

    behaviour: Behaviour
    calibration: Calibrated
    points: RulePoints
    wording: Wording
    cost: Callable[[Any, Any], float] | None = None
    sense: float = 1.0

    @property
    def level_(self) -> float | dict[Hashable, float]:
        """The certified level, or one for each group; inf where there is none."""
        level = self.calibration.budget
        return float(level) if is_number(level) else dict(level)  # type: ignore[arg-type]

    @property
    def certificate_(self) -> Certificate:
        """What is promised of decisions."""
        return self.calibration.certificate

    def __call__(self, X: Rows, n_jobs: int | None = None) -> RuleDecisions:
        """The decision at every row of X, as `decide`."""
        return self.decide(X, n_jobs)

    def decide(self, X: Any, n_jobs: int | None = None) -> RuleDecisions:
        """The decision at every row of X, at the level certified there.

        A context at which the rule takes no decision, or fails, is a status.

        Parameters
        ----------
        X : n contexts: rows of an array or a DataFrame, or a list of anything
        n_jobs : workers, as in joblib: threads by default
        """
        n = count(X)
        levels = np.asarray(self.calibration.at(X, n), dtype=float)

        def job(k: int) -> tuple[Callable[..., Action], tuple[Any, float]]:
            return self.behaviour.act, (row_of(X, k), float(levels[k]))

        actions = tuple(each(job, n, count_workers(n_jobs)))
        return RuleDecisions(actions, levels, self.certificate_)

    def at(self, level: float) -> Rule:
        """The same rule at a given level; nothing is promised of its decisions."""
        if not (is_number(level) and level == level):
            raise InvalidParameter(
                f"Rule.at(level) must be a number, got {briefly(level)}."
            )
        certificate = given_certificate((float(level),), self.wording, "Rule.at")
        return replace(self, calibration=Calibration(float(level), certificate))

    @property
    def promised_alpha(self) -> float | None:
        """The violation level that is promised; None if nothing is."""
        return promised(self.certificate_)

    @property
    def promises_groups(self) -> bool:
        """Whether that is promised in each of some groups of contexts."""
        return bool(self.certificate_.groups)

    def evaluate(
        self,
        X: Rows,
        Y: Rows,
        n_jobs: int | None = None,
        groups: LabelsOrGroups | None = None,
    ) -> Evaluation:
        """What the rule's decisions are worth at outcomes that had no part in it.

        Violations, with an exact interval, and the cost realised, where the rule has a
        `cost`. It certifies no cost, and nothing is known of the best one: those are
        nan.

        Parameters
        ----------
        X, Y : n contexts and their outcomes
        n_jobs : workers for the decisions
        groups : as for `Mondrian`, optional
            Groups of contexts to look at: `by_group()` of what is returned. One that
            violates more often than promised is warned of.
        """
        owner = "Rule.evaluate"
        self.behaviour.require_pairs(owner, X, Y)
        decisions = self.decide(X, n_jobs)
        given = (self.behaviour, decisions, X, Y, self.cost, groups)
        return evaluate_decisions(owner, *given)

    def frontier(
        self,
        X_test: Any = None,
        Y_test: Any = None,
        alphas: npt.ArrayLike = ALPHAS,
        n_jobs: int | None = None,
        *,
        delta: float | None = 0.05,
    ) -> pd.DataFrame:
        """What each violation level costs: the rule at the level certified for it.

        From the calibration data it already has. All levels are certified at once, so
        that you may look, choose an alpha by what you see, and have it certified:
        `at_alpha(0.07)` is the rule at that level. Levels below the rule's own may ask
        for decisions that were not computed yet, within the limits of the calibration.

        Parameters
        ----------
        X_test, Y_test : other data, to look at each level; without them the table has
            levels only
        alphas : violation levels, each strictly between 0 and 1
        n_jobs : workers for the decisions on test data
        delta : float in (0, 1), or None
            Confidence deficit of all levels together. None calibrates each level on
            its own, on average over calibrations: levels are lower, and none of them
            may be chosen by looking.

        Returns
        -------
        DataFrame
            One row a violation level: `alpha`, `bound` (how often the rule violates at
            most, with confidence 1 - delta for all rows at once), `level` (inf where
            it cannot be certified), and on test data the means `certified`, `realised`
            and `regret` (nan where a rule has none), `violation` and its exact 95 %
            interval, `low` to `high`, and the share `decided`.
        """
        import pandas as pd

        owner = "Rule.frontier"
        wanted = as_alphas(owner, alphas)
        if delta is not None:
            require_level(owner, delta=delta)
        lines, _ = draw_lines(self.points.search(), None, wanted, delta)
        rows = []
        for line in lines:
            row = {"alpha": line.alpha, "bound": line.bound, "level": line.level}
            if X_test is not None:
                seen = self.at(line.level).evaluate(X_test, Y_test, n_jobs)
                row |= seen.at_a_glance()
            rows.append(row)
        return pd.DataFrame(rows)

    def band(self, alphas: npt.ArrayLike = ALPHAS, delta: float = 0.05) -> Band:
        """How often the rule violates at most, at every level at once.

        Parameters
        ----------
        alphas, delta : as for `frontier`; fixed before looking
        """
        wanted = as_alphas("Rule.band", alphas)
        require_level("Rule.band", delta=delta)
        return search_band(self.points.search(), wanted[-1], delta)

    def at_alpha(
        self, alpha: float, alphas: npt.ArrayLike = ALPHAS, delta: float = 0.05
    ) -> Rule:
        """The rule at the lowest level that keeps alpha, chosen from the frontier.

        The bounds of a frontier hold for every level at once, so alpha may be chosen
        by looking at them, at costs, or at anything else.

        Parameters
        ----------
        alpha : float, at most the largest of `alphas`
        alphas, delta : as for `frontier`; fixed before looking

        Returns
        -------
        Rule
            Another one, with its `certificate_`: alpha with confidence 1 - delta.
        """
        owner, band = "Rule.at_alpha", self.band(alphas, delta)
        band.require_within(owner, alpha)
        acts, words = self.points.has_fallback, self.wording
        certificate = band_certificate(band, alpha, owner, acts, words)
        certificate = with_times(certificate, self.points.X)
        if isinf(certificate.budget):
            warnings.warn(certificate.note, InfiniteBudget, stacklevel=2)
        return replace(self, calibration=Calibration(certificate.budget, certificate))

    def __repr__(self) -> str:
        return f"Rule({'; '.join(f'{n} {v}' for n, v in self._facts())})"

    def _repr_html_(self) -> str:
        return html_table("Rule", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        promise, level = self.certificate_, self.level_
        sure = (
            ""
            if promise.confidence is None
            else f" with confidence {promise.confidence:g}"
        )
        shown = f"{level:.6g}" if isinstance(level, float) else f"{level}"
        return [
            ("level", shown),
            ("promise", f"alpha {promise.alpha:g}{sure}"),
            ("points", f"{promise.sample_size}"),
        ]
