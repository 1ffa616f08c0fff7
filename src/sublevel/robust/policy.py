"""Policy: a robust problem compiled once, that decides for any number of contexts."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import isinf
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ..calibration.band import Band, band_certificate
from ..calibration.certificates import given_certificate, with_sentence
from ..calibration.frontier import ALPHAS, as_alphas, draw_lines
from ..calibration.request import read_request
from ..checks import Array, is_number, require_bool, require_level
from ..conic.choice import Choice
from ..conic.solver import Solver
from ..errors import CertificateVoid, InfiniteBudget, InvalidParameter
from ..evaluation.by_group import read_groups, table_by_group, warn_of_groups
from ..evaluation.evaluation import Evaluation
from ..guarantees import Calibrated, Calibration, Certificate, Guarantee
from ..guarantees.groups import Groups
from ..guarantees.in_time import with_times
from ..loss_set.marks import Hashes, count_seen
from ..losses import Loss
from ..predictions import Table, index_of
from ..progress import Bar
from ..rules.behaviour import Decide, Violates
from ..sets import UncertaintySet
from ..tables import html_table, number_in_short
from .calibration_points import WAVE, PolicyPoints, level_units
from .certified_cost import CertifiedCost, certify
from .clairvoyant import clairvoyant
from .contexts import Contexts, ContextSets, contexts_to_decide, require_compiled
from .deciding import Sets, decide_chunks, decide_each, require_chunk
from .decisions import DecisionArrays, Decisions, Promise, in_short
from .evaluating import evaluation_of
from .explaining.background import PolicyBackground
from .explaining.of_policy import looked_at
from .explaining.policy_explanation import PolicyExplanation
from .fallback import as_fallback, exceptions, fall_back
from .files.layout import to_layout
from .files.policy_file import write_file
from .judge.ruler import IN_WORDS
from .keys import UncertainKey, promise_of
from .labelled import Outcome, fold_marks, label, outcomes_of_key
from .policy_steps import PolicySteps
from .probes import Probes, Riders, probe, some_of
from .recognition import Recognition, recognise
from .solve.cuts.cuts import Cuts
from .solve.engine import Engine
from .solve.mixed.integers import Integers
from .sources import AtLevel
from .workers import decide_lazily

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from .problem import RobustProblem


@dataclass(frozen=True, eq=False)
class Settled:
    """What a calibration came to.

    Attributes
    ----------
    keys : the uncertain keys, with the sources it settled on
    budgets : for each key with a LossSet its budget; of those that differ between
        contexts a typical one
    fallback : what is done where there is no decision, or None
    certificate : what is promised of decisions
    recognition : what decisions depended on; None where nothing is promised
    marks : for each key marks of the rows that were used
    scores : losses of the outcomes that were used; None where several sets have them
    """

    keys: tuple[UncertainKey, ...]
    budgets: tuple[float, ...]
    fallback: Array | None
    certificate: Certificate
    recognition: Recognition | None = None
    marks: Sequence[Hashes | None] = ()
    scores: Array | None = None


@dataclass(frozen=True, eq=False)
class Looked:
    """What a look at the frontier leaves, to choose a level from.

    Attributes
    ----------
    band : what may be promised, at every level at once
    points : the policy at the calibration points
    recognition, marks : as for `Settled`, as they were when it was looked at
    """

    band: Band
    points: PolicyPoints
    recognition: Recognition
    marks: Sequence[Hashes | None]


class Policy:
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

    budget_: float | tuple[float, ...]
    radius_: float | None
    certificate_: Certificate
    band_: Band

    def __init__(
        self,
        problem: RobustProblem,
        engine: str | Cuts | Integers,
        solver: str | Solver | None,
    ) -> None:
        self.problem = problem
        self.engine = engine
        self.solver = solver
        self._engine = Engine(
            problem.prepared, problem.has_products, problem.keys, engine, solver
        )
        self._losses = tuple(key.losses for key in problem.keys)
        self._settled: Settled | None = None
        self._looked: Looked | None = None
        self._keys = problem.keys
        self._fallback: Array | None = None
        self._riding: Probes | None = None
        self._seen: Any = None
        self._chosen_by: tuple[tuple[int, Hashes | None], ...] = ()

    @property
    def one_by_one(self) -> str | None:
        """Why contexts cannot share one compiled program, or None if they do.

        Solved one by one they are decided just as exactly, only slower.
        """
        return self._engine.one_by_one

    @property
    def choice(self) -> Choice | None:
        """What solves the contexts of the compiled program, and why.

        None where there is no such program, or none yet: where the first predictions
        tell its size.

        Examples
        --------
        >>> import cvxpy as cp, sublevel as sl
        >>> y, x = sl.Uncertain(2, name="y"), cp.Variable(2, nonneg=True)
        >>> sets = {y: sl.sets.Ellipsoid([1.0, 2.0], [1.0, 1.0])}
        >>> problem = sl.RobustProblem(cp.Maximize(y @ x), [cp.sum(x) == 1], sets)
        >>> problem.compile().choice.name
        'closed form'
        """
        return self._engine.choice

    @property
    def compiled_losses(self) -> tuple[tuple[Loss, ...] | None, ...]:
        """For each key the losses it was compiled for, or None for a set value."""
        return self._losses

    @property
    def keys(self) -> tuple[UncertainKey, ...]:
        """The uncertain keys, with the sources the policy decides by."""
        return self._keys

    @property
    def has_fallback(self) -> bool:
        """Whether something is done where there is no robust decision."""
        return self._fallback is not None

    # -- deciding -------------------------------------------------------------------

    def decide(
        self,
        X: Contexts | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        chunk: int | None = None,
        trusted: bool = False,
    ) -> Decisions:
        """The decision at every row of X.

        A context that fails is a status, "invalid_prediction" where the model cannot
        predict. Only if no context can be predicted is that an error.

        Parameters
        ----------
        X : covariates of n contexts; None where every set is a value. Predictions do
            as well: a Prediction, or a dict from names of parameters to Predictions.
        n_jobs : int, optional
            Workers, as in joblib: threads by default, or the backend that
            `joblib.parallel_config` names ("loky", "dask"). Contexts that are solved
            one by one are solved in this process.
        progress : bool, default False
            Show a bar.
        chunk : int, optional
            Contexts that go to a worker together; by default as many as share the
            work well and fit in memory.
        trusted : bool, default False
            Predictions come without a certificate, as nothing tells whose they are.
            True vouches that they are those of the model that was calibrated.
        """
        if chunk is not None:
            require_chunk("Policy.decide", chunk)
        owner = "Policy.decide"
        require_bool(owner, trusted=trusted, progress=progress)
        sets = contexts_to_decide(owner, self._keys, self._losses, X, self._riding)
        with Bar(sets.rows) if progress else nullcontext() as bar:
            arrays, scenarios = self.decide_sets(sets, n_jobs, chunk, bar)
        if X is not None and not sets.foreign and self._settled is None:
            self._seen = some_of(sets.X)
        return self._decisions(arrays, sets, scenarios, trusted, index_of(X))

    def decide_lazily(self, X: dd.DataFrame) -> dd.DataFrame:
        """The decisions at the rows of a Dask DataFrame, when they are asked for.

        Each part of the table is decided on the worker that holds it: models predict
        there, and nothing passes through this process. Memory is bounded by a part on
        each worker, and a part that is lost with its worker is decided again. Each
        row is what `decide` makes of it, as a row of `to_pandas`; but a row that one
        compiled program cannot decide is not handed to cutting planes.

        What is promised is `certificate_`, as long as the policy decides as it was
        calibrated to: that is asked when this is called, and a warning says if not.

        Parameters
        ----------
        X : covariates of the contexts, with the columns of the calibration

        Returns
        -------
        dask.dataframe.DataFrame
            One row a context, with its label: status, objective, gap, variables, worst
            outcomes.
        """
        owner = "Policy.decide_lazily"
        task = self._engine.task(
            self._keys, ContextSets(self._keys, self._losses, None).first
        )
        if task is None:
            raise InvalidParameter(
                f"{owner}() needs a compiled program, and {self.one_by_one}. Say "
                "decide(X), which solves contexts one by one."
            )
        self._is_void()
        rule = task, self._keys, self._losses, self._fallback, self._probes()
        return decide_lazily(owner, X, *rule)

    def decide_one(self, X: Contexts | None = None) -> Decisions:
        """The decision at one context; what a status would hide is an error."""
        owner = "Policy.decide"
        sets = contexts_to_decide(owner, self._keys, self._losses, X, self._riding)
        task = self._engine.task(self._keys, sets.first)
        if task is not None:
            return self.decide(X)
        batches = sets.at(np.arange(sets.rows))
        regions = [
            key.source if batch is None else batch[0]
            for key, batch in zip(self._keys, batches, strict=True)
        ]
        arrays, scenarios = self._engine.solve_one(self._keys, regions)
        return self._decisions(arrays, sets, (scenarios,), False, index_of(X))

    def _decisions(
        self,
        arrays: DecisionArrays,
        sets: ContextSets,
        scenarios: tuple[Mapping[Any, Array], ...],
        trusted: bool,
        index: Any,
    ) -> Decisions:
        """Decisions with what is promised of them, and the fallback."""
        return Decisions(
            fall_back(arrays, self._fallback),
            self.problem.prepared().layout,
            self._promise(sets, trusted),
            index,
            tuple(k.name for k in self._keys if _is_own_oracle(k)),
            scenarios,
            PolicyBackground(copy.copy(self), sets, self._scores()),
        )

    def _scores(self) -> Array | None:
        """Losses of the calibration's outcomes, where there is one set only."""
        return None if self._settled is None else self._settled.scores

    def decide_sets(
        self,
        sets: Sets,
        n_jobs: int | None = None,
        chunk: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[DecisionArrays, tuple[Mapping[Any, Array], ...]]:
        """Decisions over sets before any fallback, and what cutting planes used."""
        engine, keys = self._engine, sets.keys
        task = engine.task(keys, sets.first)
        if task is None:
            return decide_each(
                lambda regions: engine.decide_one(keys, regions),
                self.problem.prepared().layout,
                sets,
                bar,
            )
        arrays = decide_chunks(
            task,
            sets,
            chunk,
            n_jobs,
            bar,
            lambda regions: engine.rescue(keys, regions),
        )
        return arrays, ()

    def _promise(self, sets: ContextSets, trusted: bool) -> Promise:
        """What is promised of decisions: of all, or by name of each key's sets.

        Nothing, with a warning, if the decision rule is not the one calibrated.
        """
        if sets.foreign and not trusted:
            return None
        if self._settled is None:
            promise = promise_of(self._keys)
            return _vouched(promise) if sets.foreign else promise
        if self._is_void(sets.riders):
            return None
        certificate = self._settled.certificate
        return _vouched(certificate) if sets.foreign else certificate

    def _is_void(self, riders: Riders | None = None) -> bool:
        """Whether the decision rule is not the one calibrated; then with a warning."""
        settled = self._settled
        if settled is None or settled.recognition is None:
            return False
        changed = settled.recognition.changed(*self._rule(), riders)
        if changed is not None:
            warnings.warn(
                f"The policy's certificate is void: {changed} since it was calibrated. "
                "Calibrate it again; data that vary from context to context belong to "
                "X.",
                CertificateVoid,
                stacklevel=4,
            )
        return changed is not None

    def _rule(self) -> tuple[Any, Any, tuple[UncertainKey, ...]]:
        """What decisions depend on: how they are found, parameters, and sources."""
        ordinary = [
            (p.name(), None if p.value is None else np.array(p.value, dtype=float))
            for p in self.problem.prepared().model.ordinary
        ]
        return (self.engine, self.solver), ordinary, self.problem.keys

    # -- calibrating ----------------------------------------------------------------

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
            Show a bar for each level, or each wave of them, that is looked at.
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
        points = self._points(X, Y, owner, fallback, n_jobs, progress)
        search = points.search(request.grid, owner, request.given_decided, alpha)
        calibration = search.calibrate(request, X)
        points.warn_of_failures(owner)
        recognised = self._recognised(X, Y)
        settled = self._at_level(points, calibration, *recognised)
        vars(self).update(self._as_settled(settled))
        certificate = self.certificate_
        if isinf(certificate.budget):
            warnings.warn(certificate.note, InfiniteBudget, stacklevel=2)
        return self

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
        given = self.problem.keys
        names = [key.name for key in given if key.predicted is not None]
        budgets = _budgets(budget, names)
        recognition = None
        if certificate is None:
            certificate = given_certificate(tuple(budgets.values()))
        elif self._settled is not None:
            recognition = self._settled.recognition
        keys = []
        for key in given:
            source = key.predicted
            if source is None:
                keys.append(key)
                continue
            level = Calibration(budgets[key.name], certificate)
            keys.append(key.with_source(AtLevel(source, 1.0, level, certificate)))
        every = tuple(budgets[name] for name in names)
        return self._settling(
            Settled(tuple(keys), every, self._fallback, certificate, recognition)
        )

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
        keys = self.problem.keys
        self._refuse_chosen_on(keys, X, Y, owner)
        # Level 1 is a budget of 1 where there is only one set to calibrate.
        alone = len(keys) == 1 and keys[0].predicted is not None
        units = (1.0,) if alone else level_units(keys)
        if len(keys) > 1:
            self._refuse_same_fold(keys, X, Y, owner)
        if not (fallback is None or isinstance(fallback, np.ndarray)):
            layout = self.problem.prepared().layout
            fallback = as_fallback(layout.variables, fallback)
        labelled = label(keys, X, Y, owner, unseen=True)
        for key, losses, batch in zip(
            keys, self._losses, labelled.batches, strict=True
        ):
            if losses is not None and batch is not None:
                require_compiled(key, losses, batch)
        wave = WAVE if self._engine.one_by_one is None else 1
        return PolicyPoints(self, labelled, units, fallback, n_jobs, wave, progress, X)

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

    def _refuse_chosen_on(
        self, keys: tuple[UncertainKey, ...], X: Table, Y: Outcome, owner: str
    ) -> None:
        """A rule that was chosen by these rows looks better on them than it is."""
        for number, marks in self._chosen_by:
            given = outcomes_of_key(Y, keys[number], keys, owner)
            seen = count_seen(marks, X, given)
            if seen is not None and seen[0]:
                raise InvalidParameter(
                    f"{owner}(X, Y) must use other rows than the policy was chosen by, "
                    f"got {seen[0]} of {seen[1]} of them: what is promised would be "
                    "too rosy. Hold some rows back, or say sl.choose(..., delta=0.05)."
                )

    def _refuse_same_fold(
        self, keys: tuple[UncertainKey, ...], X: Table, Y: Outcome, owner: str
    ) -> None:
        """Units read off the same rows would void what is read off them here."""
        calibrated = [key for key in keys if key.predicted is not None]
        if len(calibrated) < 2:
            return
        for key in calibrated:
            assert key.predicted is not None
            given = outcomes_of_key(Y, key, keys, owner)
            seen = count_seen(key.predicted.calibration_marks, X, given)
            if seen is not None and seen[0]:
                raise InvalidParameter(
                    f"{owner}(X, Y) must use other rows than the LossSet for "
                    f"{key.name!r} was calibrated on, got {seen[0]} of {seen[1]} of "
                    "them: several LossSets are scaled together by their budgets, "
                    "which must not come from the same data. Split the data in two."
                )

    def _recognised(
        self, X: Table, Y: Outcome
    ) -> tuple[Recognition, Sequence[Hashes | None]]:
        """By what a calibration on these rows is known again, and its rows."""
        marks = fold_marks(self.problem.keys, X, Y, "Policy.calibrate")
        return recognise(*self._rule(), X), marks

    def _at_level(
        self,
        points: PolicyPoints,
        calibration: Calibrated,
        recognition: Recognition,
        marks: Sequence[Hashes | None],
    ) -> Settled:
        """The sets at calibrated levels, under a certificate."""
        certificate = with_sentence(calibration.certificate, IN_WORDS)
        certificate = with_times(certificate, points.X)
        prepared = self.problem.prepared()
        broken = exceptions(
            prepared.ruler,
            prepared.layout.variables,
            points.fallback,
            prepared.ordinary(),
        )
        if broken:
            certificate = with_sentence(
                certificate,
                f"The fallback, as declared, breaks {'; '.join(broken)}: that is not "
                "counted.",
            )
        keys, budgets = [], []
        for key, unit in zip(self.problem.keys, points.units, strict=True):
            source = key.predicted
            if source is None:
                keys.append(key)
                continue
            sets = AtLevel(source, unit, calibration, certificate)
            keys.append(key.with_source(sets))
            typical = certificate.budget
            budgets.append(typical if isinf(typical) else unit * typical)
        return Settled(
            tuple(keys),
            tuple(budgets),
            points.fallback,
            certificate,
            recognition,
            marks,
            points.scores if len(budgets) == 1 else None,
        )

    def _settling(self, settled: Settled) -> Policy:
        """The same policy, as settled."""
        other = copy.copy(self)
        vars(other).update(self._as_settled(settled))
        return other

    def _as_settled(self, settled: Settled) -> dict[str, object]:
        """What a policy that decides as settled has."""
        budgets, recognition = settled.budgets, settled.recognition
        losses = [parts for parts in self._losses if parts is not None]
        single = len(budgets) == 1 and len(losses[0]) == 1
        return {
            "_settled": settled,
            "_keys": settled.keys,
            "_fallback": settled.fallback,
            "_riding": None if recognition is None else recognition.probes,
            "certificate_": settled.certificate,
            "budget_": budgets[0] if len(budgets) == 1 else budgets,
            "radius_": losses[0][0].radius(budgets[0]) if single else None,
        }

    # -- looking back -----------------------------------------------------------------

    @property
    def promised_alpha(self) -> float | None:
        """The violation level that is promised; None if nothing is.

        Where sets were calibrated, each on its own, it is the sum of their levels.
        """
        levels = [
            None if each is None or each.heuristic else each.alpha
            for each in self._certificates()
        ]
        given = [level for level in levels if level is not None]
        return min(1.0, sum(given)) if len(given) == len(levels) > 0 else None

    @property
    def promises_groups(self) -> bool:
        """Whether that is promised in each of some groups of contexts."""
        return all(bool(each and each.groups) for each in self._certificates())

    def _certificates(self) -> list[Certificate | None]:
        """What is promised of decisions, or else of the sets of each key."""
        if self._settled is not None:
            return [self._settled.certificate]
        return [key.certificate for key in self._keys]

    def evaluate(
        self,
        X: Table,
        Y: Outcome,
        n_jobs: int | None = None,
        groups: Groups | None = None,
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
        groups : as for `Mondrian`, optional
            Groups of contexts to look at: `by_group()` of what is returned. One that
            violates more often than promised is warned of.
        """
        owner = "Policy.evaluate"
        labelled = label(self.problem.keys, X, Y, owner)
        named = read_groups(owner, groups, X, len(labelled))
        best = clairvoyant(self.problem, labelled.outcomes, n_jobs)
        seen = evaluation_of(self, X, labelled.outcomes, best, n_jobs)
        seen = replace(seen, groups=named, alpha=self.promised_alpha)
        if groups is not None:
            able = ["policy"] if self.promises_groups else []
            warn_of_groups(owner, table_by_group({"policy": seen}), able)
        return seen

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
        return PolicyExplanation(self._how(), self._promised(), sense, looked)

    def _how(self) -> tuple[str, ...]:
        """How contexts are decided, a sentence each."""
        if self.one_by_one is None:
            together = "Contexts share one compiled program, and are decided in chunks."
            choice = self.choice
            return (together,) if choice is None else (together, f"Solver: {choice}.")
        return (f"Contexts are decided one by one, as {self.one_by_one}.",)

    def _promised(self) -> str:
        if self._settled is not None:
            budgets = np.atleast_1d(self.budget_).tolist()
            shown = ", ".join(f"{budget:.4g}" for budget in budgets)
            return f"Promise: {in_short(self.certificate_)}; budget {shown}."
        promise = promise_of(self._keys)
        if promise is None:
            return "Nothing is promised: call Policy.calibrate(X, Y, alpha)."
        return f"Of the sets is promised: {in_short(promise)}; of decisions no more."

    def refuse_calibration_rows(self, X: Table, Y: Outcome, owner: str) -> None:
        """Raise InvalidParameter if these rows chose the policy's own budget."""
        marks = () if self._settled is None else self._settled.marks
        keys = self.problem.keys
        for key, before in zip(keys, marks, strict=False):
            seen = count_seen(before, X, outcomes_of_key(Y, key, keys, owner))
            if seen is not None and seen[0]:
                raise InvalidParameter(
                    f"{owner}(X, Y) must use other rows than the policy was calibrated "
                    f"on, got {seen[0]} of {seen[1]} of them: what is promised would "
                    "be too rosy. Hold some rows back."
                )

    def recognition(self, X: Table) -> Recognition:
        """What the policy's decisions depend on, with contexts to tell it by."""
        return recognise(*self._rule(), X)

    def changed_since(self, recognition: Recognition) -> str | None:
        """What is no longer as it was, in words; None if all is."""
        return recognition.changed(*self._rule())

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
            Show a bar for each wave of levels that is looked at.

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
        import pandas as pd

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
        lines, band = draw_lines(search, points.scores, wanted, delta)
        points.warn_of_failures(owner)
        self._looked = None
        if band is not None:
            self._looked, self.band_ = Looked(band, points, *recognised), band
        given = (X_cal, Y_cal) if X_test is None else (X_test, Y_test)
        labelled = label(self.problem.keys, *given, owner)  # type: ignore[arg-type]
        best = np.full(len(labelled), np.nan)
        if X_test is not None:
            best = clairvoyant(self.problem, labelled.outcomes, n_jobs)
        rows = []
        for line in lines:
            policy = self.at(points.budgets(line.level))
            seen = evaluation_of(policy, given[0], labelled.outcomes, best, n_jobs)
            row = {"calibration": line.calibration, "alpha": line.alpha}
            row |= {"bound": line.bound, "budget": policy.budget_}
            row |= {"radius": policy.radius_}
            rows.append(row | seen.at_a_glance(fresh=X_test is not None))
        return pd.DataFrame(rows)

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
        owner, looked = "Policy.at_alpha", self._looked
        if looked is None:
            raise InvalidParameter(
                f"{owner}(alpha) must follow a look at the frontier, with a delta, got "
                "none. Call frontier(X_cal, Y_cal, delta=0.05) first, or calibrate at "
                "a level that is fixed."
            )
        band, points = looked.band, looked.points
        band.require_within(owner, alpha)
        certificate = band_certificate(band, alpha, owner, points.has_fallback)
        if isinf(certificate.budget):
            warnings.warn(certificate.note, InfiniteBudget, stacklevel=2)
        calibration = Calibration(certificate.budget, certificate)
        settled = self._at_level(points, calibration, looked.recognition, looked.marks)
        return self._settling(settled)

    # -- keeping ----------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy to a file that `sl.load_policy` reads: arrays and JSON.

        Models are not written (that would need pickle); `load_policy` takes them, or
        the loaded policy takes predictions. A model is recognised by what it predicts
        at a few contexts of the calibration, or of the last `decide`, which are in the
        file; another one gets no certificate. Ordinary parameters keep the values they
        have now.
        """
        sets = ContextSets(self._keys, self._losses, None)
        task = self._engine.task(self._keys, sets.first, guess=True)
        if task is None:
            raise InvalidParameter(
                f"Policy.save() needs a compiled program, and {self.one_by_one}. Save "
                "the model's code and its LossSets instead."
            )
        void = self._is_void()
        probes = None if void else self._probes()
        write_file(
            path,
            *to_layout(task, self._keys, self._losses, self._fallback, probes, void),
        )

    def _probes(self) -> Probes | None:
        """Contexts by which a file knows the models again: of the calibration, or else
        of the last decisions.
        """
        if self._settled is not None:
            return self._riding
        try:
            return None if self._seen is None else probe(self._keys, self._seen)
        except Exception:
            # Some of the contexts cannot be predicted.
            return None

    def __repr__(self) -> str:
        return f"Policy({'; '.join(f'{n} {v}' for n, v in self._facts())})"

    def _repr_html_(self) -> str:
        return html_table("Policy", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        how = (
            "compiled"
            if self.one_by_one is None
            else f"one by one, as {self.one_by_one}"
        )
        facts = [
            ("uncertain", ", ".join(key.name for key in self._keys)),
            ("contexts", how),
        ]
        if self._settled is not None:
            facts.append(("budget", number_in_short(self.budget_)))
            facts.append(("promise", in_short(self.certificate_)))
        else:
            facts.append(("promise", in_short(promise_of(self._keys))))
        return facts


def _is_own_oracle(key: UncertainKey) -> bool:
    return key.predicted is None and not isinstance(key.source, UncertaintySet)


def _vouched(promise: Promise) -> Promise:
    """The promise, with what the caller vouches for among its assumptions."""
    vouched = (
        "The predictions are those of the model that was calibrated, as vouched for."
    )
    if isinstance(promise, Certificate):
        return with_sentence(promise, vouched)
    if isinstance(promise, dict):
        return {k: c and with_sentence(c, vouched) for k, c in promise.items()}
    return None


def _budgets(budget: Any, names: list[str]) -> dict[str, float]:
    budgets = budget if isinstance(budget, dict) else dict.fromkeys(names, budget)
    fits = isinstance(budget, dict) or len(names) == 1
    numbers = all(_is_number(value) for value in budgets.values())
    if not (fits and numbers and set(budgets) == set(names)):
        raise InvalidParameter(
            f"Policy.at(budget) must be a number where one LossSet is used, or a dict "
            f"with a number for each of {names}, got {budget!r}."
        )
    return {name: float(value) for name, value in budgets.items()}


def _is_number(value: object) -> bool:
    return is_number(value) and value == value
