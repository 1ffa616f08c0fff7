"""CompiledPolicy: what decides, and what is promised of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import nullcontext
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import Array, require_bool
from ..conic.choice import Choice
from ..conic.solver import Solver
from ..errors import InvalidParameter
from ..guarantees import Certificate
from ..losses import Loss
from ..predictions import Table, index_of
from ..progress import Bar
from ..sets import UncertaintySet
from ..sets.mixed import has_labels
from ..tables import html_table
from .contexts import Contexts, ContextSets, contexts_to_decide
from .deciding import Sets, decide_sets, require_chunk
from .decision_rule import DecisionRule
from .decisions import DecisionArrays, Decisions, Promise
from .explaining.background import PolicyBackground
from .fallback import fall_back
from .files.layout import to_layout
from .files.policy_file import write_file
from .keys import UncertainKey, promise_of
from .probes import Probes, Riders, probe_if_possible, some_of
from .promises import (
    certificates_of,
    is_void,
    promise_facts,
    promised_alpha,
    vouched,
)
from .recognition import Recognition, recognise
from .settled import Settled
from .solve.cuts.cuts import Cuts
from .solve.engine import Engine
from .solve.mixed.integers import Integers
from .workers import decide_lazily

if TYPE_CHECKING:
    import dask.dataframe as dd

    from .problem import RobustProblem


class CompiledPolicy:
    """A robust problem compiled once, that decides for any number of contexts.

    `Policy` adds how it is calibrated, looked at and explained.

    Attributes
    ----------
    problem : the RobustProblem it was made from
    engine, solver : as given to `RobustProblem.compile`
    """

    budget_: float | tuple[float, ...]
    radius_: float | None
    certificate_: Certificate

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
        self._keys = problem.keys
        self._fallback: Array | None = None
        self._riding: Probes | None = None
        self._seen: Any = None

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

    @property
    def promised_alpha(self) -> float | None:
        """The violation level that is promised; None if nothing is.

        Where sets were calibrated, each on its own, it is the sum of their levels.
        """
        return promised_alpha(certificates_of(self._settled, self._keys))

    @property
    def promises_groups(self) -> bool:
        """Whether that is promised in each of some groups of contexts."""
        every = certificates_of(self._settled, self._keys)
        return all(bool(each and each.groups) for each in every)

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

    def decide_sets(
        self,
        sets: Sets,
        n_jobs: int | None = None,
        chunk: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[DecisionArrays, tuple[Mapping[Any, Array], ...]]:
        """Decisions over sets before any fallback, and what cutting planes used."""
        layout = self.problem.prepared().layout
        return decide_sets(self._engine, layout, sets, n_jobs, chunk, bar)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy to a file that `sl.load_policy` reads: arrays and JSON.

        Models are not written (that would need pickle); `load_policy` takes them, or
        the loaded policy takes predictions. A model is recognised by what it predicts
        at a few contexts of the calibration, or of the last `decide`, which are in the
        file; another one gets no certificate. Groups of a `Mondrian` are written where
        they are columns of X; functions are given to `load_policy` again, and
        recognised alike. Ordinary parameters keep the values they have now.
        """
        sets = ContextSets(self._keys, self._losses, None)
        task = self._engine.task(self._keys, sets.first, guess=True)
        if task is None:
            raise InvalidParameter(
                f"Policy.save() needs a compiled program, and {self.one_by_one}. Save "
                "the model's code and its LossSets instead."
            )
        if any(has_labels(loss) for losses in self._losses for loss in losses or ()):
            raise InvalidParameter(
                "Policy.save() must have sets of numbers alone, got labels beside "
                "them, whose names no file holds. Save the model's code and its "
                "LossSets instead."
            )
        void = self._is_void()
        probes = None if void else self._probes()
        write_file(
            path,
            *to_layout(task, self._keys, self._losses, self._fallback, probes, void),
        )

    def recognition(self, X: Table) -> Recognition:
        """What the policy's decisions depend on, with contexts to tell it by."""
        return recognise(self._rule(), X)

    def changed_since(self, recognition: Recognition) -> str | None:
        """What is no longer as it was, in words; None if all is."""
        return recognition.changed(self._rule())

    def _decisions(
        self,
        arrays: DecisionArrays,
        sets: ContextSets,
        scenarios: tuple[Mapping[Any, Array], ...],
        trusted: bool,
        index: object,
    ) -> Decisions:
        """Decisions with what is promised of them, and the fallback."""
        scores = None if self._settled is None else self._settled.scores
        return Decisions(
            fall_back(arrays, self._fallback),
            self.problem.prepared().layout,
            self._promise(sets, trusted),
            index,
            tuple(k.name for k in self._keys if _is_own_oracle(k)),
            scenarios,
            PolicyBackground(copy.copy(self), sets, scores),
        )

    def _promise(self, sets: ContextSets, trusted: bool) -> Promise:
        """What is promised of decisions: of all, or by name of each key's sets.

        Nothing, with a warning, if the decision rule is not the one calibrated.
        """
        if sets.foreign and not trusted:
            return None
        if self._settled is None:
            promise = promise_of(self._keys)
            return vouched(promise) if sets.foreign else promise
        if self._is_void(sets.riders):
            return None
        certificate = self._settled.certificate
        return vouched(certificate) if sets.foreign else certificate

    def _is_void(self, riders: Riders | None = None) -> bool:
        """Whether the decision rule is not the one calibrated; then with a warning."""
        recognition = None if self._settled is None else self._settled.recognition
        if recognition is None:
            return False
        return is_void(recognition, self._rule(), riders)

    def _rule(self) -> DecisionRule:
        """What decisions depend on: how they are made, parameters, and sources."""
        ordinary = [
            (p.name(), None if p.value is None else np.array(p.value, dtype=float))
            for p in self.problem.prepared().model.ordinary
        ]
        return DecisionRule((self.engine, self.solver), ordinary, self.problem.keys)

    def _settle(self, settled: Settled) -> None:
        """Decide as settled from here on."""
        recognition = settled.recognition
        self._settled = settled
        self._keys, self._fallback = settled.keys, settled.fallback
        self._riding = None if recognition is None else recognition.probes
        self.certificate_, self.budget_ = settled.certificate, settled.budget
        self.radius_ = settled.radius(self._losses)

    def _probes(self) -> Probes | None:
        """Contexts by which a file knows the models again: of the calibration, or else
        of the last decisions.
        """
        if self._settled is not None:
            return self._riding
        return probe_if_possible(self._keys, self._seen)

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
        return facts + promise_facts(self._settled, self._keys)


def _is_own_oracle(key: UncertainKey) -> bool:
    return key.predicted is None and not isinstance(key.source, UncertaintySet)
