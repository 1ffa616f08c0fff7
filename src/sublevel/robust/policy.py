"""Policy: calibrates what a robust problem decides, looks at it, explains it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isinf
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ..calibration.band import Band
from ..calibration.frontier import ALPHAS, as_alphas, draw_lines
from ..calibration.request import Request, read_request
from ..caller import warn_caller
from ..checks import Array, require_bool, require_level
from ..conic.solver import Solver
from ..errors import InfiniteBudget, InvalidParameter
from ..evaluation.by_group import LabelsOrGroups
from ..evaluation.evaluation import Evaluation
from ..guarantees import Certificate, Guarantee
from ..loss_set.marks import Hashes
from ..predictions import Table
from ..rules.behaviour import Decide, Violates
from .calibration_points import PolicyPoints, level_units, points_of
from .certified_cost import CertifiedCost, certify
from .compiled_policy import CompiledPolicy
from .explaining.of_policy import how_decided, looked_at
from .explaining.policy_explanation import PolicyExplanation
from .frontier import Looked, NotLookedAt, frontier_table, require_looked
from .labelled import Outcome, fold_marks
from .policy_evaluation import evaluate_policy
from .policy_steps import PolicySteps
from .promises import promise_in_words
from .recognition import Recognition, recognise
from .settled import Settled, settled_at_budget, settled_at_level
from .solve.cuts.cuts import Cuts
from .solve.mixed.integers import Integers
from .used_rows import Used, refuse_calibrated_on, refuse_chosen_by

if TYPE_CHECKING:
    import pandas as pd

    from .problem import RobustProblem


class Policy(CompiledPolicy):
    """From covariates to audited robust decisions; made by `RobustProblem.compile`.

    `calibrate` changes the policy itself and returns it; `at` and `at_alpha` return
    another one.

    Attributes
    ----------
    problem : the RobustProblem it was made from
    engine, solver : as given to `compile`
    budget_, radius_, certificate_ : after `calibrate`: the loss level (one for each
        LossSet, if there are several), its norm radius where the loss is a norm, and
        what is promised of decisions
    band_ : after `frontier`: how often decisions violate at most, at every level at
        once

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, sublevel as sl
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> Y = X + 0.1 * rng.normal(size=(300, 3))
    >>> sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    >>> sets = sets.calibrate(X[100:200], Y[100:200], alpha=0.1)
    >>> r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    >>> problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    >>> decisions = problem.compile().decide(X[200:])
    >>> decisions, decisions.value(w).shape
    (Decisions(100 contexts: 100 optimal), (100, 3))
    """

    def __init__(
        self,
        problem: RobustProblem,
        engine: str | Cuts | Integers,
        solver: str | Solver | None,
    ) -> None:
        super().__init__(problem, engine, solver)
        self._looked: Looked | None = None
        self._band: Band | None = None
        self._chosen_by: tuple[Used, ...] = ()

    @property
    def band_(self) -> Band:
        """What may be promised at each level; there after `frontier`."""
        if self._band is None:
            raise NotLookedAt(
                "Policy.band_ must follow a look at the frontier, with a delta, got "
                "none. Call frontier(X_cal, Y_cal, delta=0.05) first."
            )
        return self._band

    def calibrate(
        self,
        X: Table,
        Y: Outcome,
        alpha: float = 0.1,
        delta: float | None = None,
        *,
        guarantee: str | Guarantee = "marginal",
        grid: npt.ArrayLike | None = None,
        method: str = "envelope",
        fallback: Mapping[Any, npt.ArrayLike] | None = None,
        given_decided: bool = False,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Self:
        """Choose the budget so that *decisions* violate with probability <= alpha.

        A violation is a broken uncertain constraint, or an objective worse than
        certified, by more than the audited slack and the solver's resolution. The
        budget is never larger, up to one step of the grid, than the one at which
        outcomes leave their sets with probability alpha, and usually much smaller. The
        promise holds for this decision rule and population only: if the model predicts
        something else, or an ordinary parameter is changed, decisions come without a
        certificate. Data that vary from context to context belong to X.

        Parameters
        ----------
        X, Y : contexts and outcomes that played no part in training or choosing
            anything; Y is a dict by name where several parameters are uncertain
        alpha : float in (0, 1), the violation level
        delta : float in (0, 1), optional
            Confidence deficit, short for guarantee=PAC(delta): promise alpha for this
            calibration with confidence 1 - delta. Otherwise on average over
            calibrations.
        guarantee : "marginal", "pac", or an object of `sl.guarantees` or of your own
            As for `LossSet.calibrate`: Mondrian(groups) promises alpha in every group,
            Weighted(density_ratio) for contexts that have shifted. All but the first
            two go without a fallback.
        grid : array of budgets to try, optional
            Must not depend on X and Y. By default all powers of 1.05, with more levels
            among the losses of training data where contexts are decided one by one;
            and for labels every level there is. Of several LossSets: factors of the
            budgets they were calibrated to, on other data.
        method : "envelope", "learn-then-test" or "risk"
            Learn-then-Test needs delta (0.05 if not given). "risk" bounds the expected
            size of the worst miss, relative and capped at 1, in place of a probability.
        fallback : dict from variables to values, optional
            What is done where no robust decision exists. Without one such contexts
            have no decision and count as kept. The fallback counts as it turns out;
            without a grid also at budgets so large that it is all that is left.
        given_decided : bool, default False
            Promise alpha among the decisions that are taken, with confidence 1 - delta
            (0.05 if not given), rather than among all contexts. Without a grid the
            first tenth of the rows chooses one, and is not counted.
        n_jobs : int, optional
            Workers for the solves.
        progress : bool, default False
            Show a bar of the whole search. How many decisions it will take is
            forecast from those so far, so its end moves.
        """
        owner = "Policy.calibrate"
        require_bool(owner, progress=progress)
        request = read_request(
            owner,
            alpha,
            guarantee,
            delta,
            method,
            grid,
            given_decided,
            fallback is not None,
        )
        return self._calibrate(X, Y, request, fallback, n_jobs, progress)

    def calibrated_again(self, X: Table, Y: Outcome, n_jobs: int | None = None) -> Self:
        """Another policy, calibrated on other rows as this one was on its own.

        The promise is of the same kind: alpha, delta, guarantee, grid, method and
        fallback are those that `calibrate` was given, or those of `at_alpha`. This
        policy is left as it is.

        Parameters
        ----------
        X, Y, n_jobs : as for `calibrate`
        """
        request = self.request
        if request is None:
            raise InvalidParameter(
                "Policy.calibrated_again() must follow Policy.calibrate or at_alpha, "
                "got a policy whose level was given, or that has none. Call "
                "calibrate(X, Y, alpha)."
            )
        again = copy.copy(self)
        return again._calibrate(X, Y, request, self._fallback, n_jobs)

    @property
    def request(self) -> Request | None:
        """What `calibrate` was asked for; None where the level was given."""
        return None if self._settled is None else self._settled.request

    def envelope_scores(
        self,
        X: Table,
        Y: Outcome,
        grid: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
        floor: float | Callable[[Array], float] = -np.inf,
    ) -> Array:
        """The least budget from which on decisions do not violate, shape (n,).

        At every larger budget of the grid the decision at the context does not violate
        once its outcome is known. A fixed function of context and outcome: scores that
        any of `sl.guarantees` can calibrate. In units of `calibrate`'s grid; inf where
        the policy's fallback may violate at any budget.

        Parameters
        ----------
        X, Y, grid, n_jobs : as for `calibrate`
        floor : float, or a function of the scores so far, optional
            No level below it is looked at, which saves solves. Scores that would be
            lower are then too high, which errs on the safe side.
        """
        owner = "Policy.envelope_scores"
        points = self._points(X, Y, owner, self._fallback, n_jobs)
        search = points.search(grid, owner)

        def enough(envelope: Array, level: float) -> bool:
            lowest = floor(envelope) if callable(floor) else floor
            return level <= lowest or bool((envelope > level).all())

        return search.envelope(enough)

    def at(
        self,
        budget: float | Mapping[str, float],
        certificate: Certificate | None = None,
    ) -> Policy:
        """The same policy at a given budget; nothing is promised of its decisions.

        Parameters
        ----------
        budget : float, or dict by name where several parameters have LossSets
            inf asks for decisions that cannot violate, of which there are none but
            the fallback's; the least loss and below for no protection.
        certificate : Certificate, optional
            What is promised all the same, by whoever chose the budget. It is void, as
            that of `calibrate`, if the rule is not the one the policy was calibrated
            with.
        """
        recognition = None if self._settled is None else self._settled.recognition
        keys, fallback = self.problem.keys, self._fallback
        return self._settling(
            settled_at_budget(keys, budget, certificate, recognition, fallback)
        )

    def under(self, certificate: Certificate) -> Self:
        """The same policy at the same levels, under another certificate.

        Parameters
        ----------
        certificate : what is promised, by whoever can answer for it
        """
        if self._settled is None:
            raise InvalidParameter(
                "Policy.under(certificate) must have levels to speak of, got a policy "
                "without any. Call calibrate, or at(budget, certificate)."
            )
        return self._settling(replace(self._settled, certificate=certificate))

    def as_rule(self) -> tuple[Decide, Violates]:
        """The policy as two functions, those that `sl.calibrate_rule` calls.

        Calibrated as any other rule is, it gets the level that `calibrate` gives it on
        the same grid, if the top of the grid is no less than the loss of any outcome.
        Under a lower top the policy may be given the budget of its sets, the rule only
        a level of the grid.

        Useful where the policy is a part of something larger: a rolling loop
        (`sl.run_episode`), a fallback of one's own, a simulator. Where contexts are
        decided one by one, calls share a CVXPY model: several workers must then be
        processes, `joblib.parallel_config(backend="loky")`.

        Returns
        -------
        decide : function of (x, level)
            A `PolicyStep`, the decision at one context, a row of X; None if there is
            none. Of several LossSets the level is a factor of the budgets they were
            calibrated to.
        violates : function of (step, y)
            The largest miss of a promise at an outcome, a row of Y, relative: above 0
            it is a violation.
        """
        steps = PolicySteps(self, level_units(self.problem.keys))
        return steps.decide, steps.violates

    def chosen_on(self, X: Table, Y: Outcome) -> Policy:
        """The same policy, which refuses to be calibrated on the rows it was chosen by.

        `sl.choose` returns its winner so. Say it yourself where you chose by hand.

        Parameters
        ----------
        X, Y : contexts and outcomes by which this policy was preferred to others
        """
        chosen = copy.copy(self)
        marks = fold_marks(self.problem.keys, X, Y, "Policy.chosen_on")
        chosen._chosen_by = (*self._chosen_by, *enumerate(marks))
        return chosen

    def evaluate(
        self,
        X: Table,
        Y: Outcome,
        n_jobs: int | None = None,
        groups: LabelsOrGroups | None = None,
        progress: bool = False,
        regret: bool = True,
    ) -> Evaluation:
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
        groups : as for `Mondrian`, or an array of labels, one a row; optional
            Groups of contexts to look at: `by_group()` of what is returned. One that
            violates more often than promised is warned of.
        progress : bool, default False
            Whether to show bars on a terminal or in a notebook: of outcomes decided
            in hindsight, for the regret, and of contexts.
        regret : bool, default True
            Whether to solve for someone who knows the outcome; without it regret is
            nan.
        """
        return evaluate_policy(self, X, Y, n_jobs, groups, progress, regret)

    def certify(
        self,
        X: Table,
        Y: Outcome,
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

    def explain(
        self,
        X: Table | None = None,
        Y: Outcome | None = None,
        n_jobs: int | None = None,
    ) -> PolicyExplanation:
        """How the policy decides, what it promises, and what more would buy.

        A description, not a promise: any contexts with outcomes will do, those of the
        calibration among them.

        Parameters
        ----------
        X, Y : contexts and outcomes, optional
            With them: which constraints bind, how many outcomes the sets hold, and
            what half or twice the alpha, or endless data, would make of the worst case
            on average.
        n_jobs : workers for the solves
        """
        sense = self.problem.prepared().model.sense
        looked = None
        if X is not None and Y is not None:
            points = self._points(X, Y, "Policy.explain", self._fallback, n_jobs)
            settled = self._settled
            alpha = None if settled is None else settled.certificate.alpha
            level = None if settled is None else settled.certificate.budget
            looked = looked_at(self, points, alpha, level)
        promise = promise_in_words(self._settled, self._keys)
        return PolicyExplanation(how_decided(self), promise, sense, looked)

    def refuse_calibration_rows(self, X: Table, Y: Outcome, owner: str) -> None:
        """Raise InvalidParameter if these rows chose the policy's own budget."""
        marks = () if self._settled is None else self._settled.marks
        refuse_calibrated_on(marks, self.problem.keys, X, Y, owner)

    def frontier(
        self,
        X_cal: Table,
        Y_cal: Outcome,
        X_test: Table | None = None,
        Y_test: Outcome | None = None,
        alphas: npt.ArrayLike = ALPHAS,
        grid: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
        *,
        delta: float | None = 0.05,
        progress: bool = False,
    ) -> pd.DataFrame:
        """What each violation level costs: this decision rule at many levels.

        One search gives every level, with confidence 1 - delta for all of them at
        once. So you may look, choose an alpha by what you see, and have it certified:
        `at_alpha(0.07)` is the policy at that level. `band_` is the whole band.

        Calibrates decisions, and beside them the sets, on the same data, and looks at
        both. The decisions of the policy itself stay as they are.

        Parameters
        ----------
        X_cal, Y_cal : as for `calibrate`; independent points
        X_test, Y_test : as for `evaluate`, other data; without them decisions are
            looked at on the calibration data, and violations are not
        alphas : violation levels, each strictly between 0 and 1
            Any level up to the largest may be chosen afterwards, so give it before
            looking.
        grid : as for `calibrate`
        n_jobs : workers for the solves
        delta : float in (0, 1), or None
            Confidence deficit of all levels together. None calibrates each level as
            `calibrate` does on its own, on average over calibrations: levels are
            lower, and none of them may be chosen by looking.
        progress : bool, default False
            Show a bar of the whole search, as `calibrate` does.

        Returns
        -------
        DataFrame
            One row a level and calibration: `calibration` ("decisions" or "sets"),
            `alpha`, `bound` (how often it violates at most, with confidence 1 - delta
            for all decisions, or all sets, at once), `budget`, `radius`, means of what
            is `certified` and `realised`, and the share of contexts `decided`. With
            test data `regret`, and `violation` with its exact 95 % interval, `low` to
            `high`. The budget is inf where a level cannot be certified. A fallback is
            no matter for sets: where one acts, "sets" may violate more than alpha.
        """
        owner = "Policy.frontier"
        wanted = as_alphas(owner, alphas)
        if (X_test is None) != (Y_test is None):
            raise InvalidParameter(
                f"{owner}(X_test, Y_test) must be given together, got one of them."
            )
        if delta is not None:
            require_level(owner, delta=delta)
        require_bool(owner, progress=progress)
        points = self._points(X_cal, Y_cal, owner, self._fallback, n_jobs, progress)
        search = points.search(grid, owner)
        recognised = self._recognised(X_cal, Y_cal)
        with points.shown(max(wanted)):
            lines, band = draw_lines(search, points.scores, wanted, delta)
        points.warn_of_failures(owner)
        self._looked = None
        if band is not None:
            self._looked = Looked(band, points, *recognised, grid)
            self._band = band
        if X_test is None or Y_test is None:
            return frontier_table(self, lines, points, X_cal, Y_cal, False, n_jobs)
        return frontier_table(self, lines, points, X_test, Y_test, True, n_jobs)

    def at_alpha(self, alpha: float) -> Policy:
        """The policy at the lowest level that keeps alpha, chosen from the frontier.

        Call `frontier` first. Its bounds hold for every level at once, so alpha may be
        chosen by looking at them, at costs, or at anything else.

        Parameters
        ----------
        alpha : float, at most the largest of the frontier's `alphas`

        Returns
        -------
        Policy
            Another one, with its `certificate_`: alpha with confidence 1 - delta.
        """
        owner = "Policy.at_alpha"
        looked = require_looked(owner, self._looked)
        calibration = looked.calibration(owner, alpha)
        if isinf(calibration.budget):
            warnings.warn(calibration.certificate.note, InfiniteBudget, stacklevel=2)
        seen = looked.points, calibration, looked.recognition, looked.marks
        request = looked.request(owner, alpha)
        return self._settling(settled_at_level(self.problem, *seen, request))

    def _calibrate(
        self,
        X: Table,
        Y: Outcome,
        request: Request,
        fallback: Mapping[Any, npt.ArrayLike] | Array | None,
        n_jobs: int | None,
        progress: bool = False,
    ) -> Self:
        """Settle on the level that a request comes to on these rows."""
        owner, alpha = request.owner, request.alpha
        points = self._points(X, Y, owner, fallback, n_jobs, progress)
        search = points.search(request.grid, owner, request.given_decided, alpha)
        with points.shown(alpha):
            calibration = search.calibrate(request, X)
        points.warn_of_failures(owner)
        seen = points, calibration, *self._recognised(X, Y), request
        self._settle(settled_at_level(self.problem, *seen))
        certificate = self.certificate_
        if isinf(certificate.budget):
            warn_caller(certificate.note, InfiniteBudget)
        return self

    def _points(
        self,
        X: Table,
        Y: Outcome,
        owner: str,
        fallback: Mapping[Any, npt.ArrayLike] | Array | None,
        n_jobs: int | None,
        progress: bool = False,
    ) -> PolicyPoints:
        """The policy before any calibration, at contexts with their outcomes."""
        refuse_chosen_by(self._chosen_by, self.problem.keys, X, Y, owner)
        return points_of(self, X, Y, owner, fallback, n_jobs, progress)

    def _recognised(
        self, X: Table, Y: Outcome
    ) -> tuple[Recognition, Sequence[Hashes | None]]:
        """By what a calibration on these rows is known again, and its rows."""
        marks = fold_marks(self.problem.keys, X, Y, "Policy.calibrate")
        return recognise(self._rule(), X), marks

    def _settling(self, settled: Settled) -> Self:
        """The same policy, as settled."""
        other = copy.copy(self)
        other._settle(settled)
        return other
