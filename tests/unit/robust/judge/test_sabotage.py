"""Solvers that go wrong in every way: no wrong decision is called optimal.

A decision is wrong if it is not robust, or worth less than it says; formulas that share
nothing with the library tell. That a robust decision with an honest value is the best
one is the solver's word.
"""

from dataclasses import dataclass, field, replace

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic.solver import Clarabel, Solutions
from sublevel.robust.judge import ruler
from sublevel.robust.solve import chunk

N, DIM = 8, 3
#: Relative error from which on a decision is wrong.
WRONG = 1e-5
SPREAD = np.array([0.2, 0.4, 0.6])


class Panic(BaseException):
    """As a compiled solver raises it."""


@dataclass
class Wrongdoer:
    """Solves honestly, then spoils what it says.

    Attributes
    ----------
    spoil : from honest solutions and the data to what is said
    recorded : solutions to be given in place of those asked for; None to record
    """

    spoil: object
    recorded: list = field(default_factory=list)
    recording: bool = False

    def solve(self, data):
        solutions = Clarabel(effort=2).solve(data)
        if self.recording:
            self.recorded.append(solutions)
        return self.spoil(self, solutions, data)


def scaled(factor):
    return lambda me, s, data: replace(
        s, x=factor * s.x, objective=factor * s.objective
    )


def moved(rows):
    """Solutions of other contexts: everything they say is consistent."""
    return lambda me, s, data: replace(
        s, x=rows(s.x), objective=rows(s.objective), status=rows(s.status)
    )


def one_entry(size, entry):
    def spoil(me, s, data):
        x = s.x.copy()
        k = np.argsort(-np.abs(np.nan_to_num(x)), axis=1)[:, entry]
        x[np.arange(len(x)), k] *= 1 + size
        return replace(s, x=x)

    return spoil


def promising(change):
    return lambda me, s, data: replace(s, objective=change(s.objective))


def noisy(size):
    def spoil(me, s, data):
        rng = np.random.default_rng(0)
        return replace(s, x=s.x * (1 + size * rng.normal(size=s.x.shape)))

    return spoil


def claimed(me, s, data):
    """Every context has a solution, and if there is none it is that of another."""
    good = np.flatnonzero(s.status == 0)[0]
    lost = s.status != 0
    x, objective = s.x.copy(), s.objective.copy()
    x[lost], objective[lost] = s.x[good], s.objective[good]
    return Solutions(np.zeros_like(s.status), x, objective, s.bound)


def spoilt_with(value):
    def spoil(me, s, data):
        x = s.x.copy()
        x[::2, 0] = value
        return replace(s, x=x)

    return spoil


def raising(error):
    def spoil(me, s, data):
        raise error

    return spoil


def replayed(me, s, data):
    """The solutions of an earlier call: those without protection."""
    return s if me.recording else me.recorded[0]


def overwriting(me, s, data):
    """Writes over its input, and answers to what is left of it."""
    data.A.values[:] *= 0.5
    data.b.values[:] *= 0.5
    data.q.values[:] *= 0.5
    return Clarabel().solve(data)


HARMFUL = {
    "wrong sign": scaled(-1.0),
    "more of it": scaled(1.05),
    "one and a half": scaled(1.5),
    "contexts swapped": moved(lambda v: v[::-1]),
    "previous context": moved(lambda v: np.roll(v, 1, axis=0)),
    "first for all": moved(lambda v: np.repeat(v[:1], len(v), axis=0)),
    "no protection": replayed,
    "zeros, valued as before": lambda me, s, data: replace(s, x=0 * s.x),
    "one entry off by 1e-3": one_entry(1e-3, 0),
    "one entry off by 1e-4": one_entry(1e-4, 0),
    "second entry off by -1e-3": one_entry(-1e-3, 1),
    "noise of 1e-3": noisy(1e-3),
    "single precision of thousandths": lambda me, s, data: replace(
        s, x=np.round(s.x, 3)
    ),
    "input written over": overwriting,
}
HARMLESS = {
    "less of it": scaled(0.9),
    "promises 1e-3 more": promising(lambda v: v * (1 + 1e-3)),
    "promises a constant more": promising(lambda v: v + 0.5),
    "promises less": promising(lambda v: v - 0.5),
    "noise of 1e-6": noisy(1e-6),
    "wrong bound": lambda me, s, data: replace(s, bound=-7 * s.objective),
    "bound of another shape": lambda me, s, data: replace(s, bound=np.zeros((2, 2))),
    "nan": spoilt_with(np.nan),
    "inf": spoilt_with(np.inf),
    "optimal where there is none": claimed,
    "a column less": lambda me, s, data: replace(s, x=s.x[:, 1:]),
    "a context less": moved(lambda v: v[1:]),
    "one context for all": lambda me, s, data: replace(s, x=s.x[0]),
    "words": lambda me, s, data: replace(s, x=np.full(s.x.shape, "1.0x")),
    "complex numbers": lambda me, s, data: replace(s, x=s.x + 1j),
    "objects": lambda me, s, data: replace(s, x=np.full(s.x.shape, object())),
    "unknown status": lambda me, s, data: replace(s, status=s.status + 17),
    "negative status": lambda me, s, data: replace(s, status=s.status - 4),
    "nothing": lambda me, s, data: None,
    "exception": raising(RuntimeError("no")),
    "panic": raising(Panic("no")),
    "zeros, valued as such": lambda me, s, data: replace(
        s, x=0 * s.x, objective=0 * s.objective
    ),
}
#: What may be robust, and worth what it says, and not the best.
SUBOPTIMAL = (
    "contexts swapped",
    "previous context",
    "first for all",
    "less of it",
    "zeros, valued as such",
)


@dataclass
class Given:
    """A model, with formulas for what a decision is worth in the worst case."""

    problem: object
    X: object
    radius: float
    variable: object

    def worst(self, values, sign):
        spread = np.linalg.norm(SPREAD * values, axis=1)
        return np.sum(self.X * values, axis=1) + sign * self.radius * spread


def sets():
    rng = np.random.default_rng(0)
    X = rng.uniform(2, 4, (60, DIM))
    Y = X + SPREAD * rng.normal(size=X.shape)
    model = sl.LossSet(lambda X: (X, np.tile(SPREAD, (len(X), 1))), "gaussian")
    return model.calibrate(X, Y, alpha=0.2), rng.uniform(2, 4, (N, DIM))


class Returns(Given):
    """The worst-case return of a portfolio."""

    @classmethod
    def made(cls):
        model, X = sets()
        r, w = sl.Uncertain(DIM, name="r"), cp.Variable(DIM, nonneg=True, name="w")
        problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: model})
        return cls(problem, X, model.radius_, w)

    def wrong(self, values, objective):
        broken = np.abs(values.sum(axis=1) - 1) > WRONG
        broken |= (values < -WRONG).any(axis=1)
        return broken | (objective > self.worst(values, -1) * (1 + WRONG))


class Loads(Given):
    """A worst-case load within its limit; not every context has such a decision."""

    GAINS = np.array([1.0, 2.0, 1.5])

    @classmethod
    def made(cls):
        model, X = sets()
        X[2] *= 3
        r, x = sl.Uncertain(DIM, name="r"), cp.Variable(DIM, name="x")
        limits = [r @ x <= 4, x >= 0.05, x <= 3, cp.sum(x) >= 0.5]
        problem = sl.RobustProblem(cp.Maximize(cls.GAINS @ x), limits, {r: model})
        return cls(problem, X, model.radius_, x)

    def wrong(self, values, objective):
        broken = self.worst(values, 1) > 4 * (1 + WRONG)
        broken |= (values < 0.05 * (1 - WRONG)).any(axis=1)
        broken |= (values > 3 * (1 + WRONG)).any(axis=1)
        broken |= values.sum(axis=1) < 0.5 * (1 - WRONG)
        return broken | (objective > values @ self.GAINS * (1 + WRONG))


MODELS = {"returns": Returns, "loads": Loads}


def decided(given, kind, monkeypatch, helped):
    """Decisions by a solver that goes wrong; without help there is no other."""
    wrongdoer = Wrongdoer((HARMFUL | HARMLESS)[kind])
    engine = "auto" if helped else "dual"
    policy = given.problem.compile(engine=engine, solver=wrongdoer)
    wrongdoer.recording = True
    policy.at(1e-9).decide(given.X)
    wrongdoer.recording = False
    if not helped:
        monkeypatch.setattr(chunk, "_again", lambda first: (wrongdoer,))
    return policy.decide(given.X)


def wrong_ones(given, decisions):
    values = decisions.value(given.variable)
    optimal = decisions.status == "optimal"
    with np.errstate(invalid="ignore"):
        return optimal & given.wrong(values, decisions.objective)


@pytest.mark.parametrize("helped", [False, True])
@pytest.mark.parametrize("kind", [*HARMFUL, *HARMLESS])
@pytest.mark.parametrize("name", MODELS)
def test_no_wrong_decision_is_called_optimal(monkeypatch, name, kind, helped):
    given = MODELS[name].made()
    decisions = decided(given, kind, monkeypatch, helped)
    assert not wrong_ones(given, decisions).any()
    if helped and kind != "input written over":
        # What is not believed is solved for again, from what was handed over.
        best = given.problem.compile().decide(given.X)
        found = decisions.status == "optimal"
        np.testing.assert_array_equal(found, best.status == "optimal")
        if kind not in SUBOPTIMAL:
            np.testing.assert_allclose(
                decisions.objective[found], best.objective[found], rtol=1e-4
            )


@pytest.mark.parametrize("kind", HARMFUL)
def test_without_the_judge_they_are(monkeypatch, kind):
    """The sabotage is real: were every decision to pass, wrong ones would."""
    monkeypatch.setattr(ruler.Judgement, "passed", property(everything))
    monkeypatch.setattr(ruler.Judgement, "clean", property(everything))
    wrong = [
        wrong_ones(given, decided(given, kind, monkeypatch, helped=False)).any()
        for given in (model.made() for model in MODELS.values())
    ]
    assert any(wrong)


def everything(judgement):
    return np.ones(len(judgement.objective), dtype=bool)


@pytest.mark.parametrize("name", MODELS)
def test_an_honest_solver_is_believed(name):
    given = MODELS[name].made()
    honest = Wrongdoer(lambda me, s, data: s)
    decisions = given.problem.compile(solver=honest).decide(given.X)
    expected = given.problem.compile().decide(given.X)
    np.testing.assert_array_equal(decisions.status, expected.status)
    assert (decisions.status == "optimal").sum() >= N - 1
    np.testing.assert_allclose(decisions.objective, expected.objective, rtol=1e-6)
    assert not wrong_ones(given, decisions).any()
