"""Judges with a fault: each lets a wrong decision pass, or counts wrongly, and is seen.

Every test holds the judge against a decision by hand, then puts a fault in and sees
that the same check fails: were the fault to creep in, the first half would fail.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.conic.solver import Clarabel
from sublevel.robust.judge import (
    materiality,
    ruler,
    set_oracles,
    statuses,
    written_rows,
)
from sublevel.robust.judge.ruler import Ruler
from sublevel.robust.judge.tape import Tape
from sublevel.robust.judge.written_rows import WrittenRows
from sublevel.robust.solve import chunk

Box, Ellipsoid = sl.sets.Box, sl.sets.Ellipsoid


def portfolio():
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    region = Ellipsoid([3.0, 2.0, 2.5], radius=0.5)
    return sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: region}), w


def passes(problem, values, **options):
    return problem.audit(values, **options).passed


# -- certain rows ----------------------------------------------------------------------


class Greedy:
    """Invests 1.5 where the certain constraint says 1, and promises what that gives."""

    def solve(self, data):
        solved = Clarabel(effort=2).solve(data)
        return replace(solved, x=1.5 * solved.x, objective=1.5 * solved.objective)


def invested(monkeypatch):
    monkeypatch.setattr(chunk, "_again", lambda first: (Greedy(),))
    problem, w = portfolio()
    decisions = problem.compile(engine="dual", solver=Greedy()).decide()
    return decisions.status[0], decisions.value(w).sum()


def test_certain_rows_are_audited(monkeypatch):
    status, total = invested(monkeypatch)
    assert status == "audit_failed"
    without = lambda self, extremes, leaves: uncertain_only(extremes, leaves)  # noqa: E731
    monkeypatch.setattr(Ruler, "_compared", without)
    monkeypatch.setattr(Ruler, "_mended", lambda self, relative, *_: relative)
    status, total = invested(monkeypatch)
    assert status == "optimal"
    assert total == pytest.approx(1.5, rel=1e-5)


def uncertain_only(extremes, leaves):
    nothing = np.zeros((len(leaves), 0))
    return (
        np.hstack([nothing, *(each.value for each in extremes)]),
        np.hstack([nothing, *(each.size for each in extremes)]),
    )


def test_declared_bounds_and_whole_numbers_are_kept():
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x", bounds=[0, 3])
    z = cp.Variable(name="z", integer=True)
    region = Box([1.0], [2.0])
    problem = sl.RobustProblem(cp.Minimize(x + z), [x + z >= y], {y: region})
    judge = problem.prepared().ruler
    tidy = judge.tidied(np.array([[3.0 + 1e-9, 1.0 - 1e-9]]))
    np.testing.assert_array_equal(tidy, [[3.0, 1.0]])


# -- several sets ----------------------------------------------------------------------


def curves():
    a, b = sl.Uncertain(2, name="a"), sl.Uncertain(2, name="b")
    x = cp.Variable(2, name="x")
    A, B = Ellipsoid([1.0, 2.0], radius=0.5), Box([0.5, -1], [1.5, 1.0])
    limits = [cp.sum(x) == 1, cp.abs(x) <= 2, cp.exp(a @ x) + cp.square(b @ x) <= 9]
    problem = sl.RobustProblem(cp.Maximize(x[0]), limits, {a: A, b: B})

    def worst(v):
        return np.exp(A.support(v)) + max(B.support(v), B.support(-v)) ** 2

    return problem, x, worst


def test_outcomes_of_several_sets_are_joined(monkeypatch):
    problem, x, worst = curves()
    best = problem.solve().value(x)[0]
    right, wrong = np.array([best, 1 - best]), np.array([1.1 * best, 1 - 1.1 * best])
    assert worst(right) <= 9 * (1 + 1e-6)
    assert worst(wrong) > 10
    assert passes(problem, {x: right})
    audit = problem.audit({x: wrong})
    assert not audit.passed
    assert audit.violations[0] == pytest.approx(worst(wrong) - 9, rel=1e-6)
    # Each set's outcome by itself, the other one at its middle.
    monkeypatch.setattr(WrittenRows, "_by_sums", lambda self, held: None)
    monkeypatch.setattr(WrittenRows, "_joined", apart)
    understated = problem.audit({x: wrong}).violations[0]
    assert understated < 0.95 * (worst(wrong) - 9)


def apart(self, held, candidates):
    middles = [oracle.worst_case(np.zeros((1, oracle.dim))) for oracle in held.oracles]
    return [dict(enumerate(middles)) | joint for joint in candidates]


def test_many_places_are_joined_by_climbing(monkeypatch):
    """More combinations than are tried: rows are climbed key by key."""
    problem, x, worst = curves()
    wrong = np.array([1.5, -0.5])
    expected = problem.audit({x: wrong}).violations[0]
    monkeypatch.setattr(written_rows, "MOST_JOINED", 1)
    climbed = problem.audit({x: wrong}).violations[0]
    assert climbed == pytest.approx(expected, rel=1e-9)
    assert expected == pytest.approx(worst(wrong) - 9, rel=1e-6)


@pytest.mark.parametrize("kind", ["budget", "polytope", "box"])
def test_sets_at_one_slope_have_each_their_own_support(kind):
    """Where two sets are taken for one the audit says so."""
    a, b = sl.Uncertain(2, name="a"), sl.Uncertain(2, name="b")
    x = cp.Variable(2, name="x")
    rows = np.vstack([np.eye(2), -np.eye(2)])
    A, B = {
        "budget": (
            sl.sets.Budget([0.5, 0.5], [0.5, 0.5], 2),
            sl.sets.Budget([2.5, 2.5], [2.5, 2.5], 2),
        ),
        "polytope": (
            sl.sets.Polytope(rows, [1.0, 1, 0, 0]),
            sl.sets.Polytope(rows, [5.0, 5, 0, 0]),
        ),
        "box": (Box([0.0, 0], [1.0, 1]), Box([0.0, 0], [5.0, 5])),
    }[kind]
    limits = [a @ x + b @ x <= 6, x >= 0, x <= 3]
    problem = sl.RobustProblem(cp.Maximize(cp.sum(x)), limits, {a: A, b: B})
    decision = problem.solve()
    assert decision.status == "optimal"
    assert decision.objective == pytest.approx(1.0, rel=1e-6)
    # With one support for both, twice that of the first set, 3 in all seems possible.
    merged = np.array([1.5, 1.5])
    audit = problem.audit({x: merged})
    assert not audit.passed
    support = A.support(merged) + B.support(merged)
    assert audit.violations[0] == pytest.approx(support - 6, rel=1e-6)


# -- sizes -----------------------------------------------------------------------------


def switched(M, boolean):
    d, s = sl.Uncertain(name="d"), cp.Variable(name="s")
    z = cp.Variable(name="z", boolean=boolean)
    limits = [d - s <= M * (1 - z), s - 20 <= M * (1 - z), z <= 1, z >= 1]
    region = Box([8.0], [12.0])
    return sl.RobustProblem(cp.Minimize(s), limits, {d: region}), s, z


SWITCHES = [
    *((M, True) for M in (1e2, 1e4, 1e5, 1e6, 1e7)),
    *((M, False) for M in (1e2, 1e4, 1e5, 1e6)),
]


@pytest.mark.parametrize(("M", "boolean"), SWITCHES)
def test_a_big_m_is_not_a_size(M, boolean):
    problem, s, z = switched(M, boolean)
    assert passes(problem, {s: 12.0, z: 1.0})
    assert not passes(problem, {s: 11.9, z: 1.0})
    # Certain rows are a matter of solving, with all digits of a continuous switch.
    assert not passes(problem, {s: 20.1 if boolean else 20.1 + 3e-6 * M, z: 1.0})


def test_gross_sizes_would_excuse_it(monkeypatch):
    monkeypatch.setattr(materiality, "RESOLUTION", 1e-5)
    monkeypatch.setattr(ruler, "RESOLUTION", 1e-5)
    problem, s, z = switched(1e6, False)
    assert passes(problem, {s: 11.0, z: 1.0})
    # Whole numbers are exact: nothing of M is left, whatever is forgiven.
    problem, s, z = switched(1e6, True)
    assert not passes(problem, {s: 11.9, z: 1.0})
    plain = lambda self, leaves, floor, whole=False: rough(self, leaves)  # noqa: E731
    monkeypatch.setattr(Tape, "gross", plain)
    assert passes(problem, {s: 11.0, z: 1.0})


def rough(tape, leaves):
    """A size as large as M for every row."""
    return np.full((len(leaves), int(np.prod(tape.shape, dtype=int))), 1e6)


@pytest.mark.parametrize("power", range(-8, 9, 4))
def test_rows_of_a_vector_have_each_their_own_size(power):
    unit = 10.0**power
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, name="x")
    limits = [cp.multiply(y, x) <= unit * np.array([1e6, 1.0])]
    region = Box([1.0, 1.0], [2.0, 2.0])
    problem = sl.RobustProblem(cp.Maximize(cp.sum(x)), limits, {y: region})
    audit = problem.audit({x: unit * np.array([1.0, 4.0])})
    assert not audit.passed
    assert audit.slack == pytest.approx((0.0, 7 * unit))
    assert passes(problem, {x: unit * np.array([5e5, 0.5])})
    assert not passes(problem, {x: unit * np.array([5e5, 0.5001])})


# -- violations ------------------------------------------------------------------------


def newsvendor():
    y, x = sl.Uncertain(name="y"), cp.Variable(name="x")
    cost = x + 4 * cp.maximum(y - x, 0.2 * (x - y))
    region = Box([4.0], [6.0])
    return sl.RobustProblem(cp.Minimize(cost), [x >= 0], {y: region}), x


def test_violations_are_counted_from_the_written_expression(monkeypatch):
    """A rewritten row bounds the cost from above: held against it nothing is broken."""
    problem, x = newsvendor()
    policy = problem.compile()
    outcomes = np.linspace(1.0, 9.0, 41)

    decision = policy.decide()
    bought, promised = float(decision.value(x)[0]), float(decision.objective[0])

    def violated():
        judge = problem.prepared().ruler
        happened = [
            judge.realise(
                ["optimal"],
                np.array([[bought]]),
                np.zeros((1, 0)),
                np.array([promised]),
                [np.array([[6.0]])],
                [np.array([[y]])],
                np.zeros(0),
            ).violated[0]
            for y in outcomes
        ]
        cost = bought + 4 * np.maximum(outcomes - bought, 0.2 * (bought - outcomes))
        return np.array(happened), cost > promised * (1 + 1e-6)

    counted, by_hand = violated()
    np.testing.assert_array_equal(counted, by_hand)
    assert 0 < by_hand.sum() < len(by_hand)
    # The value of the rewritten row: what the decision was certified at.
    rewritten = lambda self, leaves: (np.full((1, 1), promised),) * 2  # noqa: E731
    monkeypatch.setattr(WrittenRows, "at", rewritten)
    counted, by_hand = violated()
    assert not counted.any()
    assert by_hand.any()


def early():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) + 3
    Y = X - 1.5 + 0.8 * rng.normal(size=X.shape)
    sets = sl.LossSet(lambda X: X).calibrate(X, X + 0.1, alpha=0.3)
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    policy = problem.compile(engine=sl.robust.Cuts(max_rounds=1))
    return policy, X, Y, w


def test_decisions_that_stopped_early_are_decided(monkeypatch):
    policy, X, Y, w = early()
    decisions = policy.decide(X)
    assert (decisions.status == "stopped_early").all()
    happened = policy.evaluate(X, Y)
    realised = np.sum(Y * decisions.value(w), axis=1)
    by_hand = realised < decisions.objective - 1e-6
    np.testing.assert_array_equal(happened.violated, by_hand)
    assert by_hand.any()
    assert float(happened.to_pandas()["decided"]) == len(X)
    monkeypatch.setattr(statuses, "DECIDED", ("optimal", "fallback"))
    assert not policy.evaluate(X, Y).violated.any()


def test_decided_has_one_definition():
    assert statuses.is_decided(statuses.DECIDED).all()
    others = ["infeasible", "unbounded", "out_of_rounds", "lost", *statuses.FAILED]
    assert not statuses.is_decided(others).any()
    assert statuses.has_failed(statuses.FAILED).all()


# -- worst outcomes --------------------------------------------------------------------

REGIONS = {
    "box": Box([1.0, -2.0], [2.0, 3.0]),
    "narrow box far away": Box([1e6, 1e6], [1e6 + 1, 1e6 + 2]),
    "ellipsoid": Ellipsoid([1.0, -1.0], np.array([[2.0, 0.5], [0.0, 1.0]]), 1.5),
    "l1": sl.sets.L1Ball([1.0, 2.0], 0.5),
    "budget": sl.sets.Budget([1.0, 2.0], [0.5, 1.0], 1),
    "polytope": sl.sets.Polytope(
        np.vstack([np.eye(2), -np.eye(2)]), [1e-6, 2e-6, 0.0, 0.0]
    ),
    "kl": sl.sets.KLBall([0.3, 0.7], 0.1),
    "finite": sl.sets.Finite([[1.0, 2.0], [3.0, 1.0], [2.0, 2.5]]),
    "both": Box([0.0, 0.0], [1.0, 1.0]) & Ellipsoid([0.5, 0.5], radius=0.6),
    "either": Box([0.0, 0.0], [1.0, 1.0]) | Ellipsoid([3.0, 3.0], radius=0.6),
}


def outwards(outcome, opposite):
    return outcome + 1e-3 * (outcome - opposite)


def inwards(outcome, opposite):
    return outcome - 1e-3 * (outcome - opposite)


def halfway(outcome, opposite):
    return (outcome + opposite) / 2


def opposed(outcome, opposite):
    return opposite


@pytest.mark.parametrize("fault", [outwards, inwards, halfway, opposed])
@pytest.mark.parametrize("name", REGIONS)
def test_outcomes_off_the_boundary_are_not_believed(monkeypatch, name, fault):
    region = REGIONS[name]
    kind, right = type(region), type(region).maximiser
    directions = np.array([[1.0, 0.3], [-0.5, 1.0], [1e-7, -1e-7], [2e6, 1e6]])
    oracle = set_oracles.FixedOracle(region)
    assert np.isfinite(oracle.worst_case(directions)).all()

    def wrong(self, direction):
        if self is not region:
            return right(self, direction)
        return fault(right(self, direction), right(self, -direction))

    monkeypatch.setattr(kind, "maximiser", wrong)
    assert np.isnan(oracle.worst_case(directions)).all()


LOSSES = ["squared", "absolute", "gaussian", "huber", "poisson", "gamma"]


@pytest.mark.parametrize("fault", [outwards, inwards, halfway, opposed])
@pytest.mark.parametrize("loss", LOSSES)
def test_outcomes_of_batches_off_the_boundary_are_not_believed(
    monkeypatch, loss, fault
):
    rng = np.random.default_rng(0)
    X = rng.uniform(2, 4, (40, 2))
    spread = np.array([0.3, 0.5])
    model = lambda X: (X, np.tile(spread, (len(X), 1)))  # noqa: E731
    kind = sl.losses.get(loss)
    if loss != "gaussian":
        model = lambda X: X  # noqa: E731
    Y = np.abs(X + spread * rng.normal(size=X.shape))
    batch = sl.LossSet(model, kind).calibrate(X, Y, alpha=0.2).predict_set(X[:6])
    oracle = set_oracles.BatchOracle(batch, np.zeros(2, dtype=bool))
    directions = rng.normal(size=(6, 2))
    right = oracle.worst_case(directions)
    assert np.isfinite(right).all()
    batches = type(batch.parts[0])
    honest = batches.worst_case

    def wrong(self, directions):
        return fault(honest(self, directions), honest(self, -directions))

    monkeypatch.setattr(batches, "worst_case", wrong)
    assert np.isnan(oracle.worst_case(directions)).all()


@pytest.mark.parametrize("tiny", [1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
@pytest.mark.parametrize("weight", [0.0, 1e-12, 0.5])
@pytest.mark.parametrize("turned", [False, True])
def test_an_entry_that_hardly_varies_says_nothing_about_the_others(
    monkeypatch, tiny, weight, turned
):
    """As cash beside stocks: its rounding is more than its spread."""
    factor = np.diag([tiny, 1.0, 1.0])
    if turned:
        factor[2] = [0.2 * tiny, 0.6, 0.8]
    shape = {"factor": factor[None]} if turned else {"scale": np.diag(factor)[None]}
    at = sl.Prediction(np.array([[2.0, 3.0, 4.0]]), **shape)
    batch = sl.LossSet(lambda X: at, "gaussian").predict_set(np.zeros((1, 1)), budget=2)
    direction = np.array([[weight, -1.0, 0.3]])
    oracles = {
        "batch": set_oracles.BatchOracle(batch, np.zeros(3, dtype=bool)),
        "set": set_oracles.FixedOracle(batch[0]),
        "ellipsoid": set_oracles.FixedOracle(
            Ellipsoid([2.0, 3.0, 4.0], factor, np.sqrt(2.0))
        ),
    }
    reach = np.sqrt(2.0) * np.linalg.norm(factor.T @ direction[0])
    for name, oracle in oracles.items():
        (outcome,) = oracle.worst_case(direction)
        worst = direction[0] @ (outcome - [2.0, 3.0, 4.0])
        assert worst == pytest.approx(reach, rel=1e-6), name
    batches = type(batch.parts[0])
    honest = batches.worst_case

    def wrong(self, directions):
        return halfway(honest(self, directions), honest(self, -directions)) + 1e-3

    monkeypatch.setattr(batches, "worst_case", wrong)
    assert np.isnan(oracles["batch"].worst_case(direction)).all()


def test_what_is_inside_does_not_depend_on_a_neighbour_that_hardly_varies():
    """Outcomes at the very edge of what rounding forgives, of an ordinary set."""
    means, spreads = np.array([1e3, 0.0]), np.array([1.0, 1.0])
    edges = np.sqrt(2.0) + np.linspace(0, 2e-11, 400)
    Y = np.column_stack([np.full(400, 1e3), edges])
    location = np.tile(means, (401, 1))
    scale = np.vstack([np.tile(spreads, (400, 1)), [[1e-12, 1.0]]])
    own = sl.LossSet(lambda X: sl.Prediction(location[X], scale=scale[X]), "gaussian")
    rows = np.arange(400)
    alone = own.predict_set(rows, budget=2.0).contains(Y, tol=0.0)
    beside = own.predict_set(np.arange(401), budget=2.0)
    beside = beside.contains(np.vstack([Y, means]), tol=0.0)[:400]
    assert 0 < alone.sum() < 400
    np.testing.assert_array_equal(alone, beside)


def test_what_is_not_believed_does_not_pass(monkeypatch):
    problem, w = portfolio()
    assert problem.solve().status == "optimal"
    right = Ellipsoid.maximiser
    inner = lambda self, d: 0.5 * (right(self, d) + right(self, -d))  # noqa: E731
    monkeypatch.setattr(Ellipsoid, "maximiser", inner)
    assert not passes(problem, {w: np.array([1.0, 0.0, 0.0])})
    assert problem.compile(engine="dual").decide().status[0] == "audit_failed"
    # Were it believed, the nominal value would pass for the worst case.
    monkeypatch.setattr(set_oracles, "_lies_on", lambda *_: True)
    audit = problem.audit({w: np.array([1.0, 0.0, 0.0])})
    assert audit.passed
    assert audit.objective == pytest.approx(3.0)
