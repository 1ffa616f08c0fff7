"""What every baseline says to data it cannot use."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import sublevel as sl
from sublevel.baselines import (
    Bounds,
    Clairvoyant,
    ClassicalEllipsoid,
    ConformalEllipsoid,
    ForestWeights,
    KernelWeights,
    NearestEllipsoid,
    NearestWeights,
    PhiDivergence,
    PredictThenCalibrateBox,
    PredictThenCalibrateEllipsoid,
    TrueLaw,
    TrueMoments,
    TwoStage,
    WeightedSample,
)
from sublevel.errors import InvalidParameter, UnseenClass

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(size=(60, 3))
LEARNERS = [
    ClassicalEllipsoid(),
    ClassicalEllipsoid(spread="full"),
    NearestEllipsoid(20),
    PredictThenCalibrateBox(LinearRegression()),
    PredictThenCalibrateEllipsoid(LinearRegression()),
    ConformalEllipsoid(LinearRegression()),
    TwoStage(),
    NearestWeights(5),
    KernelWeights(),
    ForestWeights(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda s: type(s).__name__)
def test_outcomes_are_checked(learner):
    gap = Y.copy()
    gap[3, 1] = np.nan
    with pytest.raises(InvalidParameter, match="NaN in row 3"):
        clone(learner).fit(X, gap)
    with pytest.raises(InvalidParameter, match=r"shape \(n,\) or \(n, m\)"):
        clone(learner).fit(X, Y[:, :, None])
    with pytest.raises(InvalidParameter, match="as many rows, at least one, got 5"):
        clone(learner).fit(X[:5], Y)
    with pytest.raises(InvalidParameter, match="got 0 and 0"):
        clone(learner).fit(X[:0], Y[:0])


#: These look at covariates; a missing or a strange one must not pass in silence.
LOOK = [s for s in LEARNERS if not isinstance(s, ClassicalEllipsoid)]


@pytest.mark.parametrize("learner", LOOK, ids=lambda s: type(s).__name__)
def test_contexts_are_checked(learner):
    fitted = clone(learner).fit(X, Y)
    ask = fitted.sample if hasattr(fitted, "sample") else fitted.predict_set
    # scikit-learn's own message, or ours, which is a ValueError as well.
    with pytest.raises(ValueError, match=r"expecting 2 features|of shape \(60, 2\)"):
        ask(X[:, :1])
    if not isinstance(learner, ForestWeights):
        with pytest.raises(ValueError, match=r"NaN|finite"):
            ask(np.full((60, 2), np.nan))


@pytest.mark.parametrize(
    "source, way_out",
    [
        (ClassicalEllipsoid(spread="full"), "Use spread='diagonal'"),
        (ConformalEllipsoid(LinearRegression()), "Drop columns or add rows"),
    ],
)
def test_a_degenerate_covariance_is_refused(source, way_out):
    twice = np.column_stack([Y[:, 0], 1e-6 * Y[:, 0], Y[:, 1]])
    with pytest.raises(InvalidParameter, match=f"rank 2 for 3 components. {way_out}"):
        clone(source).fit(X, twice)
    # Small units alone are no dependence.
    assert clone(source).fit(X, Y * [1.0, 1e-4, 1e4]).budget_ > 0
    with pytest.raises(InvalidParameter, match="for 3 components"):
        clone(source).fit(X[:3], Y[:3])


@pytest.mark.parametrize(
    "source",
    [NearestEllipsoid(20), PredictThenCalibrateEllipsoid(LinearRegression())],
    ids=lambda s: type(s).__name__,
)
def test_dependent_components_get_a_thin_ellipsoid_that_holds_them(source):
    line = np.column_stack([Y[:, 0], Y[:, 0], Y[:, 1]])
    batch = clone(source).fit(X, line).predict_set(X)
    across = batch.support([1.0, -1.0, 0.0]) + batch.support([-1.0, 1.0, 0.0])
    along = batch.support([1.0, 1.0, 0.0]) + batch.support([-1.0, -1.0, 0.0])
    assert (across > 0).all()
    assert (across < 0.05 * along).all()
    assert batch.contains(line).mean() > 0.7


def test_a_class_never_seen_is_named():
    labels = ["a", "b"] * 30
    sets = PhiDivergence().fit(X, labels)
    p, x = sl.Uncertain(2, name="p"), cp.Variable(2, nonneg=True)
    problem = sl.RobustProblem(cp.Minimize(p @ x), [cp.sum(x) == 1], {p: sets})
    with pytest.raises(UnseenClass, match="'c' in row 1"):
        problem.compile().evaluate(X[:2], ["a", "c"])
    sample = WeightedSample(problem, NearestWeights(5).fit(X, labels))
    with pytest.raises(UnseenClass, match="'c' in row 1"):
        sample.evaluate(X[:2], ["a", "c"])


def test_a_truth_that_cannot_be_is_refused():
    with pytest.raises(InvalidParameter, match="must return standard deviations"):
        TrueMoments(lambda X: X, lambda X: 0 * X).predict_set(X)
    with pytest.raises(InvalidParameter, match=r"Moments\(mean=...\) must be finite"):
        TrueMoments(lambda X: np.nan * X, np.ones_like).predict_set(X)
    law = TrueLaw(lambda X, k, rng: np.full((len(X), k, 1), np.nan))
    with pytest.raises(InvalidParameter, match="must return finite outcomes"):
        law.sample(X)


def test_the_clairvoyant_must_see_a_whole_outcome():
    box = sl.sets.Box(-np.ones(3), np.ones(3))
    y, x = sl.Uncertain(3, name="y"), cp.Variable(3, nonneg=True)
    problem = sl.RobustProblem(cp.Minimize(y @ x), [cp.sum(x) == 1], {y: box})
    with pytest.raises(InvalidParameter, match="must be finite"):
        Clairvoyant(problem).decide([[np.nan, 1.0, 1.0]])
    with pytest.raises(InvalidParameter, match=r"shape \(1, 3\), got shape \(1, 2\)"):
        Clairvoyant(problem).decide([[1.0, 1.0]])


def test_a_constant_column_is_found_whatever_its_rounding():
    for value in (0.1, 1 / 3, 7.3):
        flat = np.column_stack([Y[:, 0], np.full(60, value)])
        with pytest.raises(InvalidParameter, match="constant column 1"):
            ClassicalEllipsoid().fit(X, flat)


@pytest.mark.parametrize("name", ["outcome", "covariates", "coefficients"])
def test_bounds_that_the_data_break(name):
    asserted = {"outcome": 9.0, "covariates": 9.0, "coefficients": 9.0}
    TwoStage(bounds=Bounds(**asserted)).fit(X, Y)
    with pytest.raises(InvalidParameter, match=rf"Bounds\({name}=0.01\) must hold"):
        TwoStage(bounds=Bounds(**{**asserted, name: 0.01})).fit(X, Y)


def test_one_neighbour_is_hardly_more_than_a_point():
    batch = NearestEllipsoid(1).fit(X, Y).predict_set(X[:3])
    np.testing.assert_allclose(batch[0].bounds(), [Y[0], Y[0]], atol=0.01)


def test_scenarios_never_seen_are_named_as_an_assumption():
    found = PhiDivergence().fit(X, RNG.integers(0, 3, 60))
    assert any("can happen is among them" in a for a in found.certificate_.assumptions)


def test_only_policies_are_evaluated():
    with pytest.raises(InvalidParameter, match="must be a policy, got LossSet"):
        sl.evaluate({"a": sl.LossSet(LinearRegression())}, X, Y)
