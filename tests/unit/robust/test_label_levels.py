"""Labels and whole numbers: levels that do not lose to the plain set."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

import sublevel as sl
from sublevel.calibration.levels import Everywhere, Geometric, Refined, Signed, refine
from sublevel.robust.calibration_points import PolicyPoints, points_of

CLASSES = np.array(["high", "low", "middle"])


def three(rng, n):
    X = rng.normal(size=(n, 2))
    odds = np.column_stack([X[:, 0], -X[:, 0], X[:, 1]]) + rng.gumbel(size=(n, 3))
    return X, CLASSES[odds.argmax(axis=1)]


class RowByRow(LogisticRegression):
    """Asked about one row at a time: the last bit of a product depends on its size."""

    def predict_proba(self, X):
        return np.vstack([super(RowByRow, self).predict_proba(row[None]) for row in X])


def cover(sets, width):
    """A place for every label of the set: the decision is the set itself."""
    y, s = sl.Uncertain(width, name="y"), cp.Variable(width, name="s")
    prices = np.arange(1.0, width + 1)
    problem = sl.RobustProblem(cp.Minimize(prices @ s), [s >= y], {y: sets})
    return problem.compile()


def one_column(seed, n=30, model=LogisticRegression):
    rng = np.random.default_rng(seed)
    sets = sl.LossSet(model(), "cross_entropy").fit(*three(rng, 100))
    return cover(sets, 3), sets, *three(rng, n)


def two_columns(seed, n=12):
    rng = np.random.default_rng(seed)

    def draw(n):
        X = rng.normal(size=(n, 2))
        return X, (X + rng.logistic(size=(n, 2)) > 0) * 1

    model = MultiOutputClassifier(LogisticRegression())
    sets = sl.LossSet(model, "cross_entropy").fit(*draw(100))
    return cover(sets, 4), sets, *draw(n)


def plain_budget(sets, X, Y, alpha):
    return sl.LossSet(sets.model_, "cross_entropy").calibrate(X, Y, alpha).budget_


def test_decisions_about_labels_do_not_lose_to_the_plain_set():
    lost = 0
    for seed in range(4):
        policy, sets, X, Y = one_column(seed)
        plain = plain_budget(sets, X, Y, 0.1)
        policy.calibrate(X, Y, 0.1)
        # Here the decision is the set: one is as good as the other.
        np.testing.assert_allclose(policy.budget_, plain, rtol=1e-12)
        powers = 1.05 ** np.arange(-20.0, 60.0)
        lost += policy.calibrate(X, Y, 0.1, grid=powers).budget_ > 1.002 * plain
    assert lost >= 3  # a grid does


@pytest.mark.parametrize("world", [one_column, two_columns])
def test_scores_are_those_of_all_levels(world):
    policy, sets, X, Y = world(4, n=8)
    scores = policy.envelope_scores(X, Y)
    decide, violates = policy.as_rule()
    costs = sets.scores(np.repeat(X, 9, axis=0), _every(world, len(X)))
    for row, (x, y) in enumerate(zip(X, Y, strict=True)):
        atoms = np.sort(costs[9 * row : 9 * row + 9])
        # Just at each change, and anywhere in between: the last level that violates.
        tries = np.concatenate([atoms, (atoms[1:] + atoms[:-1]) / 2])
        bad = [t for t in np.unique(tries) if violates(decide(x, t), y) > 0]
        after = atoms[atoms > max(bad)].min() if bad else -np.inf
        assert scores[row] == pytest.approx(after, rel=1e-9) or not bad
    own = sets.scores(X, Y)
    assert (scores <= own * (1 + 1e-12)).all()


def _every(world, n):
    """Nine outcomes a context, among them all there are."""
    if world is one_column:
        return np.tile(np.repeat(CLASSES, 3), n)
    four = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    return np.tile(np.concatenate([four, four, four[:1]]), (n, 1))


def test_a_score_owes_nothing_to_the_other_points():
    policy, _, X, Y = one_column(5, n=16, model=RowByRow)
    together = policy.envelope_scores(X, Y)
    alone = [policy.envelope_scores(X[[k]], Y[[k]])[0] for k in range(16)]
    # A point that never violates has the least level that was looked at.
    ever = together > together.min()
    assert ever.sum() > 4
    np.testing.assert_array_equal(together[ever], np.array(alone)[ever])


def test_every_set_of_a_context_is_decided_once():
    policy, _, X, Y = one_column(6)
    solves = []
    inner = PolicyPoints._take

    def counted(self, levels, rows):
        solves.extend(rows.tolist())
        return inner(self, levels, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PolicyPoints, "_take", counted)
        policy.envelope_scores(X, Y)
    assert np.bincount(solves).max() <= 3
    assert len(solves) < 2 * len(X)


# ---- whole numbers -------------------------------------------------------------------


@pytest.mark.parametrize("inner", [Geometric(), Signed()])
def test_a_refined_grid_is_both_grids(inner):
    rng = np.random.default_rng(7)
    scores, other = rng.gamma(2.0, size=50), rng.gamma(2.0, size=200)
    grid = refine(inner, other, 0.1)
    plain = list(inner.downwards(scores))
    inside = [v for v in grid.more if plain[-1] < v < plain[0]]
    assert list(grid.downwards(scores)) == sorted({*plain, *inside}, reverse=True)
    assert len(inside) > 10
    for value in rng.uniform(0.5, 8.0, size=50):
        every = [*grid.more, inner.up(value)]
        assert grid.up(value) == min(v for v in every if v >= value)


def test_where_nothing_is_refined():
    assert refine(Geometric(), None, 0.1) == Geometric()
    assert refine(Geometric(), np.array([np.inf]), 0.1) == Geometric()


def test_the_grid_of_whole_numbers_comes_from_training_data():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 1))
    Y = X[:, 0] + rng.normal(size=400)
    sets = sl.LossSet(LinearRegression()).fit(X[:300], Y[:300])
    y, s = sl.Uncertain(name="y"), cp.Variable(integer=True, name="s")
    bins = cp.Variable(name="bins")
    problem = sl.RobustProblem(
        cp.Minimize(3 * s + bins), [s / 4 + bins >= y, bins >= -y, bins <= 1], {y: sets}
    )
    policy = problem.compile()
    assert policy.one_by_one is not None
    grids = []
    for fold in (slice(300, 340), slice(340, 400)):
        points = points_of(policy, X[fold], Y[fold], "Policy.calibrate", None, None)
        grids.append(points.search(None, "Policy.calibrate", False, 0.1).levels)
    assert isinstance(grids[0], Refined)
    assert grids[0] == grids[1]
    assert min(grids[0].more) < np.quantile(sets.training_scores(), 0.9)
    assert not isinstance(grids[0], Everywhere)
    # Around the plain budget steps are small: what is lost to it is next to nothing.
    plain = np.quantile((Y - sets.predict(X))[300:] ** 2, 0.9)
    assert plain <= grids[0].up(plain) < 1.02 * plain


def test_a_model_fitted_elsewhere_remembers_nothing():
    assert sl.LossSet(lambda X: X).training_scores() is None
