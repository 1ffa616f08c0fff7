"""Levels that are proved rather than looked at: the same answers, and none is wrong."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.losses.whitening import whitened
from sublevel.predictions import Prediction
from sublevel.robust import level_proofs, still_best
from sublevel.robust.calibration_points import points_of

GRID = np.geomspace(0.05, 200.0, 60)
HOURS = 6


def battery(loss="squared"):
    """Charge and discharge at uncertain prices: at large sets nothing is best."""
    price = sl.Uncertain(HOURS, name="price")
    state = cp.Variable(HOURS + 1, nonneg=True)
    into, out = cp.Variable(HOURS, nonneg=True), cp.Variable(HOURS, nonneg=True)
    wear = 0.1 * cp.sum_squares(state - 0.5) + 0.05 * cp.sum_squares(into + out)
    limits = [
        state[0] == 0.5,
        state[1:] == state[:-1] + 0.9 * into - out,
        state <= 1,
        into <= 0.5,
        out <= 0.4,
    ]
    sets = sl.LossSet(forecast, loss)
    return sl.RobustProblem(
        cp.Minimize(price @ (into - out) + wear), limits, {price: sets}
    )


def portfolio():
    """Returns on a simplex with a limit, and a price for concentration."""
    r, w = sl.Uncertain(HOURS, name="r"), cp.Variable(HOURS, nonneg=True)
    gain = r @ w - 0.1 * cp.sum_squares(w)
    limits = [cp.sum(w) <= 1, w <= 0.5]
    return sl.RobustProblem(cp.Maximize(gain), limits, {r: sl.LossSet(forecast)})


def covering():
    """Rows that must hold for every outcome, at least cost."""
    y, x = sl.Uncertain(HOURS, name="y"), cp.Variable(3, nonneg=True)
    weights = np.random.default_rng(5).uniform(0.2, 1.0, size=(2, HOURS))
    rows = [weights @ y <= np.ones((2, 3)) @ x, x <= 1000]
    costs = np.array([1.0, 2.0, 3.0])
    return sl.RobustProblem(cp.Minimize(costs @ x), rows, {y: sl.LossSet(forecast)})


def two_stage():
    """An order now, and one that answers to the demand."""
    demand = sl.Uncertain(HOURS, name="demand")
    order, more = cp.Variable(nonneg=True), sl.affine_rule(demand, ())
    total, cost = cp.Variable(), cp.Variable()
    rows = [order + more >= cp.sum(demand), more >= 0, cost >= order + 2 * more]
    rows += [total == cost, order <= 1000]
    return sl.RobustProblem(cp.Minimize(total), rows, {demand: sl.LossSet(forecast)})


def pieces():
    """The larger of an uncertain cost and a certain one: not affine in the outcome."""
    y, x = sl.Uncertain(HOURS, name="y"), cp.Variable(HOURS, nonneg=True)
    cost = cp.maximum(y @ x, cp.sum(x) - 1) + 0.1 * cp.sum_squares(x)
    limits = [x <= 1, cp.sum(x) >= 1]
    return sl.RobustProblem(cp.Minimize(cost), limits, {y: sl.LossSet(forecast)})


def forecast(X):
    return np.asarray(X)[:, :HOURS]


def draw(seed, n=70):
    rng = np.random.default_rng(seed)
    X = 2 + rng.normal(size=(n, HOURS))
    scale = rng.gamma(2.0, size=(n, 1))
    return X, X + scale * rng.normal(size=(n, HOURS))


def searched(policy, X, Y, beyond, proofs=True):
    """Envelope scores as far as needed, and how many decisions were computed."""
    points = points_of(policy, X, Y, "test", None, None)
    if not proofs:
        vars(points).update(proofs=None)
    scores = points.search(GRID, "test").largest(beyond)
    return np.sort(scores)[len(Y) - beyond - 1], points


def looked_at(points):
    """Whether decisions violate, by solving at every level: (levels, N)."""
    rows = np.arange(len(points.scores))
    levels = np.repeat(GRID, len(rows))
    miss = points._take(levels, np.tile(rows, len(GRID))).miss
    return (miss > 0).reshape(len(GRID), -1)


def by_definition(violated, scores, beyond):
    """The order statistic of the lowest levels from which on nothing is violated."""
    above = np.where(violated, np.arange(1, len(GRID) + 1)[:, None], 0).max(axis=0)
    envelope = np.append(GRID, np.inf)[above]
    envelope = np.where(scores > GRID[-1], scores, envelope)
    return np.sort(envelope)[len(scores) - beyond - 1]


PROBLEMS = {
    "battery": (battery, True),
    "portfolio": (portfolio, True),
    "covering": (covering, False),
    "two_stage": (two_stage, False),
    "pieces": (pieces, False),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_levels_are_those_of_looking_everywhere(name):
    pose, proves = PROBLEMS[name]
    X, Y = draw(1)
    policy = pose().compile()
    _, points = searched(policy, X, Y, 0)
    assert (points.proofs is not None) == proves
    violated = looked_at(points)
    for beyond in (0, 14):
        level, some = searched(policy, X, Y, beyond)
        assert level == by_definition(violated, some.scores, beyond)
        plain, every = searched(policy, X, Y, beyond, proofs=False)
        assert plain == level
        if proves and beyond:
            assert some.tally["solves"] < 0.9 * every.tally["solves"]


def wrong_claims(problem, X, Y, monkeypatch):
    """How many decisions are proved to be kept that are not, and how many in all."""
    claims = []
    asked = level_proofs.LevelProofs.kept

    def kept(self, levels, rows):
        proved = asked(self, levels, rows)
        claims.extend(zip(levels[proved].tolist(), rows[proved].tolist(), strict=True))
        return proved

    monkeypatch.setattr(level_proofs.LevelProofs, "kept", kept)
    _, points = searched(problem.compile(), X, Y, 14)
    if not claims:
        return 0, 0
    levels, rows = (np.array(each) for each in zip(*claims, strict=True))
    miss = points._take(levels, rows).miss
    return int(np.sum(miss > 0)), len(rows)


@pytest.mark.parametrize("loss", ["squared", sl.losses.NLL()])
@pytest.mark.parametrize("seed", [2, 3])
def test_no_proof_is_wrong(loss, seed, monkeypatch):
    problem = battery(loss) if loss == "squared" else with_spread(loss)
    wrong, count = wrong_claims(problem, *draw(seed), monkeypatch)
    assert count > 50
    assert wrong == 0


def with_spread(loss):
    """A battery whose prices are correlated, and more uncertain where they are high."""
    factor = np.linalg.cholesky(0.5 * np.eye(HOURS) + 0.5)

    def predict(X):
        mean = forecast(X)
        return Prediction(mean, factor=(0.5 + np.abs(mean))[:, :, None] * factor)

    problem = battery()
    ((key, _),) = problem.uncertainty.items()
    sets = sl.LossSet(predict, loss)
    return sl.RobustProblem(problem.objective, problem.constraints, {key: sets})


def test_a_wrong_proof_is_seen(monkeypatch):
    """A ball that is a little larger than it is makes proofs of what is not so."""
    honest = level_proofs.are_kept

    def broken(radius, square, above, below, has_below):
        return honest(1.3 * radius, square, above, below, has_below)

    monkeypatch.setattr(level_proofs, "are_kept", broken)
    wrong, _ = wrong_claims(battery(), *draw(2), monkeypatch)
    assert wrong > 0


def test_proofs_for_affine_costs_are_wrong_of_others(monkeypatch):
    """Why a maximum of pieces is not proved."""
    monkeypatch.setattr(level_proofs, "is_affine_cost", lambda model: True)
    X, Y = draw(2)
    wrong, _ = wrong_claims(pieces(), X - 3, Y - 3, monkeypatch)
    assert wrong > 0


def test_a_wrong_proof_moves_the_level(monkeypatch):
    X, Y = draw(1)
    level, _ = searched(battery().compile(), X, Y, 14)
    monkeypatch.setattr(
        level_proofs, "are_kept", lambda radius, *rest: np.ones(len(radius), bool)
    )
    assert searched(battery().compile(), X, Y, 14)[0] < level


def forgive_everything(monkeypatch):
    """Nothing is asked of decisions that are as good as one that stays the best."""
    monkeypatch.setattr(
        still_best,
        "noise",
        lambda _, leaves, *rest, **how: np.full((len(leaves), 1), np.inf),
    )


def beside_a_large_cost():
    """What is at stake is in the last digits of a cost that is certain."""
    y, x = sl.Uncertain(HOURS, name="y"), cp.Variable(HOURS, nonneg=True)
    t = cp.Variable(nonneg=True)
    limits = [t >= 1, x <= 1, cp.sum(x) <= 2 * t]
    return sl.RobustProblem(
        cp.Minimize(1e5 * t + y @ x + 0.1 * cp.sum_squares(x)),
        limits,
        {y: sl.LossSet(forecast)},
    )


@pytest.mark.parametrize("forgiving", [False, True])
def test_what_is_at_stake_beside_a_large_cost_is_looked_at(forgiving, monkeypatch):
    """A solver gives other decisions that are as good, and the judge sees them miss."""
    if forgiving:
        forgive_everything(monkeypatch)
    X, Y = draw(1, 30)
    wrong, _ = wrong_claims(beside_a_large_cost(), X - 1, Y - 1, monkeypatch)
    assert (wrong > 0) == forgiving


def resting(monkeypatch, times=1.0):
    """Claims of decisions that stay the best, and how many of them do not stay.

    With `times` what was left open between a decision and its bound is overstated, and
    nothing is asked of other decisions that are as good.
    """
    claims = []
    if times > 1:
        forgive_everything(monkeypatch)
    asked, learn = still_best.StillBest.kept, still_best.StillBest.learn

    def learned(self, rows, cuts, arrays):
        learn(self, rows, replace(cuts, gap=times * cuts.gap), arrays)

    def kept(self, radius, rows):
        proved = asked(self, radius, rows)
        cost = self._middle[rows] + radius * self._length[rows]
        given = zip(radius[proved], rows[proved], cost[proved], strict=True)
        claims.extend(given)
        return proved

    monkeypatch.setattr(still_best.StillBest, "kept", kept)
    monkeypatch.setattr(still_best.StillBest, "learn", learned)
    X, Y = draw(1)
    _, points = searched(battery().compile(), X, Y, 14)
    radius, rows, cost = (np.array(each) for each in zip(*claims, strict=True))
    rows = rows.astype(int)
    best = points.policy.problem.compile()
    gaps = []
    for level in np.unique(radius**2):
        here = radius**2 == level
        decisions = best.at(float(level)).decide(X[rows[here]])
        gaps += (cost[here] - decisions.objective).tolist()
    return np.array(gaps)


def test_what_stays_the_best_costs_no_more_than_a_solution(monkeypatch):
    gaps = resting(monkeypatch)
    assert len(gaps) > 20
    assert np.abs(gaps).max() < 1e-6


def test_what_does_not_stay_the_best_is_seen(monkeypatch):
    assert resting(monkeypatch, times=1e8).max() > 1e-3


@pytest.mark.parametrize(
    ("loss", "prediction"),
    [
        (sl.losses.Squared(), Prediction(np.ones((2, 2)))),
        (sl.losses.Mahalanobis([[2.0, 0.5], [0.5, 1.0]]), Prediction(np.ones((2, 2)))),
        (sl.losses.Gaussian(), Prediction(np.ones((2, 2)), scale=np.full((2, 2), 3.0))),
        (sl.losses.NLL(), Prediction(np.ones((2, 2)), scale=np.full((2, 2), 3.0))),
        (
            sl.losses.NLL(share=0.5),
            Prediction(np.ones((2, 2)), factor=np.tile([[2.0, 0], [1, 3]], (2, 1, 1))),
        ),
    ],
)
def test_whitened_residuals_have_the_loss_as_squared_length(loss, prediction):
    outcomes = np.array([[1.5, -2.0], [0.0, 4.0]])
    residual = whitened(loss, prediction, outcomes - 1)
    excess = loss.score(prediction, outcomes) - loss.floor(prediction)
    np.testing.assert_allclose(np.sum(residual**2, axis=1), excess, rtol=1e-9)


def test_every_row_is_whitened_by_its_own_spread():
    """Also in a wave that has as many rows as there are points, in another order."""
    X, Y = draw(1, 12)
    policy = with_spread(sl.losses.Gaussian()).compile()
    proofs = points_of(policy, X, Y, "test", None, None).proofs
    rows = np.random.default_rng(0).integers(12, size=12)
    each = [proofs._residual(rows[[k]], Y[rows[[k]]])[0] for k in range(12)]
    np.testing.assert_array_equal(proofs._residual(rows, Y[rows]), each)


def test_other_losses_are_not_whitened():
    at = Prediction(np.ones((1, 2)))
    assert whitened(sl.losses.Absolute(), at, np.ones((1, 2))) is None


class Unknown(sl.robust.Clarabel):
    """A solver of the user's own, whose dual values nobody has looked at."""


def with_integers():
    problem = battery()
    switch = cp.Variable(boolean=True)
    return sl.RobustProblem(
        problem.objective, [*problem.constraints, switch == 1], problem.uncertainty
    )


def by_formula():
    r, w = sl.Uncertain(HOURS, name="r"), cp.Variable(HOURS, nonneg=True)
    sets = sl.LossSet(forecast)
    return sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})


def never_negative():
    """Outcomes are known to be positive: sets are balls that are cut off."""
    y, x = sl.Uncertain(HOURS, name="y", nonneg=True), cp.Variable(HOURS, nonneg=True)
    cost = y @ x + 0.1 * cp.sum_squares(x)
    sets = sl.LossSet(forecast)
    return sl.RobustProblem(cp.Minimize(cost), [cp.sum(x) == 1], {y: sets})


NOT_PROVED = {
    "another loss": lambda: battery("absolute").compile(),
    "uncertain rows": lambda: covering().compile(),
    "outcomes of one sign": lambda: never_negative().compile(),
    "a solver of one's own": lambda: battery().compile(solver=Unknown()),
    "a formula": lambda: by_formula().compile(),
    "integers": lambda: with_integers().compile(),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_nothing_is_proved_where_nothing_can_be(name):
    X, Y = draw(1, 20)
    policy = NOT_PROVED[name]()
    assert points_of(policy, np.abs(X), np.abs(Y), "test", None, None).proofs is None


def test_nothing_is_proved_beside_a_fallback():
    X, Y = draw(1, 20)
    policy = battery().compile()
    variables = policy.problem.prepared().layout.variables
    # The charge stays where it is, and nothing goes in or out.
    rest = {v.name: np.full(v.shape, 0.5 * (v.shape[0] > HOURS)) for v in variables}
    for fallback in (rest, None):
        points = points_of(policy, X, Y, "test", fallback, None)
        assert (points.proofs is None) == (fallback is not None)


def test_with_clarabel_and_without_a_name_there_are_proofs():
    X, Y = draw(1, 20)
    for solver in ("CLARABEL", None):
        some = points_of(battery().compile(solver=solver), X, Y, "test", None, None)
        assert some.proofs is not None
