"""What a policy is worth on new data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..calibrating.certified_cost import CertifiedCost, certify
from ..calibrating.evaluation import Evaluation, evaluate
from ..calibrating.frontier import ALPHAS, frontier

if TYPE_CHECKING:
    import pandas as pd


class Judged:
    """What a policy can do with outcomes once it is fixed."""

    problem: Any

    def evaluate(self, X: Any, Y: Any, n_jobs: int | None = None) -> Evaluation:
        """What the policy's decisions are worth at known outcomes.

        Violations with an exact interval, certified and realised objective, and regret
        against someone who knows the outcome. The objective is read as it is written:
        write a cost as an expression, `cp.pos(demand - stock)`, not as a variable of
        your own above it, whose value need not be the cost.

        Parameters
        ----------
        X, Y : n contexts and their outcomes; Y is a dict by name where several
            parameters are uncertain
        n_jobs : workers for the solves
        """
        return evaluate(self, X, Y, n_jobs)

    def certify(
        self,
        X: Any,
        Y: Any,
        alpha: float = 0.1,
        delta: float | None = None,
        n_jobs: int | None = None,
    ) -> CertifiedCost:
        """Bound what the decisions of this policy, as it is, will turn out to cost.

        The policy must have been fixed on other data: calibrated, say. Its decisions
        stay as they are; only what is said of them is tightened to what data support,
        up to 1 / (n + 1).

        Parameters
        ----------
        X, Y : contexts and outcomes that had no part in choosing the policy
        alpha : float in (0, 1), the probability with which the bound may fail
        delta : float in (0, 1), optional
            Confidence deficit; without it the promise is on average over samples.
        n_jobs : workers for the solves
        """
        return certify(self, X, Y, alpha, delta, n_jobs)

    def frontier(
        self,
        X_cal: Any,
        Y_cal: Any,
        X_test: Any,
        Y_test: Any,
        alphas: Any = ALPHAS,
        grid: Any = None,
        n_jobs: int | None = None,
    ) -> pd.DataFrame:
        """What each violation level costs: this decision rule at many levels.

        Calibrates decisions, and beside them the sets (`Marginal`), on the same data,
        and looks at both on test data. The policy itself stays as it is.

        Parameters
        ----------
        X_cal, Y_cal : as for `calibrate`
        X_test, Y_test : as for `evaluate`; other data
        alphas : violation levels, each strictly between 0 and 1
        grid : as for `calibrate`
        n_jobs : workers for the solves

        Returns
        -------
        DataFrame
            One row a level and calibration: `calibration` ("decisions" or "sets"),
            `alpha`, `budget`, `radius`, `certified`, `realised` and `regret` (means),
            `violation` and its exact 95 % interval, `low` to `high`. The budget is
            inf where a level cannot be certified. A fallback is no matter for sets:
            where one acts, "sets" may violate more than alpha.
        """
        data = (X_cal, Y_cal, X_test, Y_test)
        return frontier(self, data, alphas, grid, n_jobs)
