"""Programs of many scenarios, copied from one, against the model written out."""

import time

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.baselines import NearestWeights, WeightedSample
from sublevel.baselines.scenario_model import ScenarioModel
from sublevel.baselines.scenario_program import ScenarioProgram
from sublevel.baselines.weights import Sample
from sublevel.conic.program import Uncompilable
from sublevel.robust.judge.judgement import TOLERANCE
from sublevel.robust.judge.scenario_rows import scenario_ruler
from sublevel.robust.judge.set_oracles import FixedOracle

COUNT, ROWS = 7, 4


def outcome(m=3, nonneg=False):
    return sl.Uncertain(m, name="y", nonneg=nonneg)


def over(y, goal, constraints):
    return sl.RobustProblem(goal, constraints, {y: sl.sets.Box([0.5] * 3, [2.0] * 3)})


def shop():
    y, x = outcome(), cp.Variable(3, nonneg=True, name="x")
    cost = cp.sum(4 * cp.pos(y - x) + cp.pos(x - y)) + cp.sum_squares(x) / 5
    return over(y, cp.Minimize(cost), [cp.sum(x) <= 3.5])


def profit():
    y, x = outcome(), cp.Variable(3, name="x")
    gain = 3 * cp.sum(cp.minimum(y, x)) - cp.norm(x)
    return over(y, cp.Maximize(gain), [x >= 0, x <= 2])


def curved():
    y, x = outcome(), cp.Variable(3, nonneg=True, name="x")
    cost = cp.exp(y @ x - 2) + cp.quad_over_lin(x - 1, 2.0)
    return over(y, cp.Minimize(cost), [cp.norm(x) <= 3])


def limits():
    """A linear cost at the mean; cones that hold at every scenario."""
    y, x = outcome(nonneg=True), cp.Variable(3, nonneg=True, name="x")
    kept = [y @ x >= 2, cp.norm(cp.multiply(y, x)) <= 4, cp.square(y[0] - x[0]) <= 2]
    return over(y, cp.Minimize(y @ x + cp.sum_squares(x)), kept)


def certain_cost():
    y, x = outcome(), cp.Variable(3, name="x")
    return over(y, cp.Minimize(cp.sum(x)), [x >= y, cp.max(y) <= x[0] + x[1]])


def structured():
    y, S = outcome(), cp.Variable((2, 2), PSD=True, name="S")
    cost = cp.maximum(y[0] - S[0, 0], y[1] - S[1, 1]) + cp.abs(S[0, 1] - y[2])
    return over(y, cp.Minimize(cost), [cp.trace(S) <= 2])


def with_parameters():
    y, x = outcome(), cp.Variable(3, nonneg=True, name="x")
    price = cp.Parameter(3, name="price", value=[1.0, 2.0, 0.5])
    factor = cp.Parameter(name="factor", nonneg=True, value=2.0)
    cost = price @ x + 5 * cp.max(factor * y - x)
    return over(y, cp.Minimize(cost), [cp.sum(x) <= 9])


#: Constraints differ between the ways to keep them where there are uncertain ones.
MODELS = {
    "shop": (shop, "every"),
    "profit": (profit, "every"),
    "curved": (curved, "every"),
    "certain_cost-every": (certain_cost, "every"),
    "certain_cost-mean": (certain_cost, "mean"),
    "structured": (structured, "every"),
    "with_parameters": (with_parameters, "mean"),
}


def drawn(count=COUNT, rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(count), rows)
    outcomes = rng.uniform(0.6, 1.9, (rows, count, 3))
    # A scenario without weight is one of the others again.
    weights[0, 1] += weights[0, 0]
    weights[0, 0], outcomes[0, 0] = 0.0, outcomes[0, 1]
    return Sample(weights, outcomes)


@pytest.mark.parametrize("name", MODELS)
def test_copies_decide_as_the_model_written_out(name):
    make, mode = MODELS[name]
    problem, sample = make(), drawn(count=4)
    program = ScenarioProgram(problem, 4, mode)
    arrays = program.decide(sample, None, None)
    model = ScenarioModel(problem, 4, mode)
    plain = model.over_points().compile().decide(model.table(sample))
    assert (arrays.status == "optimal").all()
    assert (plain.status == "optimal").all()
    assert arrays.objective == pytest.approx(plain.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "make, mode", [(shop, "every"), (limits, "every"), (limits, "mean")]
)
def test_copies_decide_as_cvxpy(make, mode):
    """Each context as one problem of numbers, which shares no code."""
    problem, sample = make(), drawn(seed=1)
    arrays = ScenarioProgram(problem, COUNT, mode).decide(sample, None, None)
    ((y,),) = problem.uncertainty
    for i in range(ROWS):
        weights, outcomes = sample.weights[i], sample.outcomes[i]

        def at(part, value, y=y):
            return part.tree_copy({id(y): cp.Constant(value)})

        goal = problem.objective.args[0]
        cost = sum(w * at(goal, v) for w, v in zip(weights, outcomes, strict=True))
        kept = []
        for constraint in problem.constraints:
            if not any(p is y for p in constraint.parameters()):
                kept.append(constraint)
            elif mode == "every":
                kept += [at(constraint, v) for v in outcomes]
            else:
                left = constraint.args[0] - constraint.args[1]
                pairs = zip(weights, outcomes, strict=True)
                kept.append(sum(w * at(left, v) for w, v in pairs) <= 0)
        direct = cp.Problem(type(problem.objective)(cost), kept)
        direct.solve(solver=cp.CLARABEL)
        assert arrays.objective[i] == pytest.approx(direct.value, rel=1e-6, abs=1e-6)


def test_a_constraint_of_several_rows_holds_on_average_row_by_row():
    # The mean of (y_j - x_j)^2 at most 1 for each j: x_j <= mean + sqrt(1 - variance).
    y, x = outcome(), cp.Variable(3, name="x")
    kept = [cp.square(y - x) <= np.ones(3)]
    problem = over(y, cp.Maximize(cp.sum(x)), kept)
    sample = drawn(rows=1)
    arrays = ScenarioProgram(problem, COUNT, "mean").decide(sample, None, None)
    mean = sample.mean[0]
    variance = sample.weights[0] @ (sample.outcomes[0] - mean) ** 2
    assert arrays.values[0] == pytest.approx(mean + np.sqrt(1 - variance), abs=1e-5)


def test_parameters_that_change_are_followed():
    problem = with_parameters()
    scheme = NearestWeights(5).fit(np.arange(20.0)[:, None], drawn(20, 1).outcomes[0])
    policy, X = WeightedSample(problem, scheme), np.array([[4.0], [9.0]])
    first = policy.decide(X).objective
    parameters = {
        p.name(): p for p in problem.objective.parameters() if p.name() != "y"
    }
    for name, value in (("price", [2.0, 1.0, 1.0]), ("factor", 1.5)):
        parameters[name].value = value
        again = policy.decide(X).objective
        fresh = WeightedSample(problem, scheme).decide(X).objective
        assert again == pytest.approx(fresh, rel=1e-7)
        assert np.abs(again - first).min() > 0.01
        first = again


def judged(ruler, sample, values, promised):
    parts = [sample.outcomes.reshape(len(values), -1), sample.weights, sample.mean]
    points = [
        FixedOracle(sl.sets.Box(part[0], part[0]), np.zeros(part.shape[1], dtype=bool))
        for part in parts
    ]
    return ruler.judge(values, promised, np.zeros(0), points)


@pytest.mark.parametrize("scenario", range(COUNT))
def test_the_judge_sees_every_scenario(scenario):
    problem, sample = certain_cost(), drawn(rows=1)
    outcomes = sample.outcomes.copy()
    outcomes[0, scenario] = [2.0, 2.0, 2.0]  # it alone is worst
    sample = Sample(sample.weights, outcomes)
    ruler = scenario_ruler(problem.prepared().ruler, COUNT, averaged=False)
    good = judged(ruler, sample, np.full((1, 3), 2.0), np.array([6.0]))
    assert good.passed[0]
    assert good.slack.max() == 0.0
    bad = judged(ruler, sample, np.full((1, 3), 2.0 - 1e-4), np.array([6.0 - 3e-4]))
    assert not bad.passed[0]
    # Three rows a scenario, and one that compares the largest.
    missed = np.flatnonzero(bad.slack[0] > 0)
    assert missed.tolist() == [3 * scenario + k for k in range(3)]


def test_the_judge_adds_up_the_objective_by_weights():
    problem, sample = shop(), drawn(rows=1)
    ruler = scenario_ruler(problem.prepared().ruler, COUNT, averaged=False)
    x = np.array([1.0, 0.5, 1.2])
    short = np.maximum(sample.outcomes[0] - x, 0)
    over = np.maximum(x - sample.outcomes[0], 0)
    cost = sample.weights[0] @ (4 * short + over).sum(axis=1) + x @ x / 5
    verdict = judged(ruler, sample, x[None], np.array([cost]))
    assert verdict.objective[0] == pytest.approx(cost, rel=1e-12)
    assert verdict.passed[0]
    rosy = judged(ruler, sample, x[None], np.array([cost * (1 - 2 * TOLERANCE)]))
    assert not rosy.passed[0]


def test_a_size_is_that_of_its_own_scenario():
    """No scenario's miss is forgiven because another's numbers are large."""
    y, x = outcome(), cp.Variable(3, name="x")
    problem = over(y, cp.Minimize(cp.sum(x)), [y @ x >= y[0]])
    outcomes = np.full((1, 2, 3), 1.0)
    outcomes[0, 1] *= 1e6
    sample = Sample(np.full((1, 2), 0.5), outcomes)
    ruler = scenario_ruler(problem.prepared().ruler, 2, averaged=False)
    values = np.array([[1.0, 0.0, 0.0]]) * (1 - 1e-3)
    verdict = judged(ruler, sample, values, values.sum(axis=1))
    assert verdict.slack[0] == pytest.approx([1e-3, 1e3])
    assert not verdict.passed[0]


def test_whole_decisions_are_no_cone_program():
    y, z = outcome(), cp.Variable(3, boolean=True, name="z")
    problem = over(y, cp.Minimize(y @ z), [cp.sum(z) >= 2])
    with pytest.raises(Uncompilable, match="integer"):
        ScenarioProgram(problem, COUNT, "every")


def test_three_hundred_scenarios_compile_at_once():
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(size=(400, 2)), rng.uniform(0.6, 1.9, (400, 3))
    policy = WeightedSample(shop(), NearestWeights(300).fit(X, Y))
    start = time.process_time()
    decisions = policy.decide(X[:2])
    # Tenths of a second; a copy read by CVXPY for each scenario took a minute.
    assert time.process_time() - start < 3.0
    assert (decisions.status == "optimal").all()
