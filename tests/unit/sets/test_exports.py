"""Sets in CVXPY models: every shape of expression, and what each kind of set gives."""

import cvxpy as cp
import numpy as np
import pytest

from sublevel import losses, sets
from sublevel.errors import InvalidParameter
from sublevel.predictions import JointPrediction, LabelPrediction, Prediction

DISC = sets.Ellipsoid([0.0, 1.0], [1.0, 2.0], 1.5)
SIDE = sets.Box([-1.0, 0.5], [1.0, 2.0])
TRIANGLE = sets.Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0])
HOUSE = JointPrediction(
    (Prediction(np.array([1.0])), LabelPrediction((np.array([0.5, 0.3, 0.2]),)))
)

CONVEX = {
    "ellipsoid": DISC,
    "l1": sets.L1Ball([1.0, -1.0], [[1.0, 0.5], [0.0, 2.0]], 1.2),
    "box": SIDE,
    "polytope": TRIANGLE,
    "budget": sets.Budget([1.0, 2.0, 3.0], [0.5, 1.0, 1.5], 1.7),
    "kl": sets.KLBall([0.5, 0.3, 0.2], 0.2),
    "variation": sets.VariationBall([0.5, 0.3, 0.2], 0.4),
    "intersection": DISC & SIDE,
    "product": sets.Product((DISC, SIDE)),
    "image": sets.AffineImage(DISC, [[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]], 1.0),
    "sublevel": sets.Sublevel(losses.Huber(0.7), [1.0, 2.0, 3.0], 1.3),
}
DISCRETE = {
    "finite": sets.Finite([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]]),
    "labels": sets.LabelSet(([0.1, 0.9, 2.0], [0.3, 0.5]), 1.3),
    "mixed": sets.Mixed(
        losses.Combined(["absolute", "cross_entropy"], weights=(1.0, 1.0)), HOUSE, 2.0
    ),
    "image": sets.AffineImage(sets.Finite([[0.0], [1.0]]), [[1.0], [2.0]]),
}
ALL = CONVEX | {f"discrete-{name}": value for name, value in DISCRETE.items()}


@pytest.mark.parametrize("name", CONVEX)
def test_a_new_variable_reaches_the_support(name):
    value = CONVEX[name]
    y, inside = value.to_cvxpy()
    assert y.shape == (value.dim,)
    direction = np.linspace(-1.0, 2.0, value.dim)
    problem = cp.Problem(cp.Maximize(direction @ y), inside)
    assert not problem.is_mixed_integer()
    problem.solve(solver=cp.CLARABEL)
    assert problem.value == pytest.approx(value.support(direction), rel=1e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_labels_and_points_are_exact_with_boolean_variables(name):
    value = DISCRETE[name]
    y, inside = value.to_cvxpy()
    direction = np.linspace(-1.0, 2.0, value.dim)
    problem = cp.Problem(cp.Maximize(direction @ y), inside)
    assert problem.is_mixed_integer()
    problem.solve(solver=cp.HIGHS)
    assert problem.value == pytest.approx(value.support(direction), rel=1e-6)
    assert value.contains(y.value, tol=1e-5)


def test_a_union_says_how_to_go_on():
    for call in (
        (DISC | SIDE).to_cvxpy,
        lambda: (DISC | SIDE).to_cvxpy(cp.Variable(2)),
    ):
        with pytest.raises(InvalidParameter, match=r"each member of Union\.sets"):
            call()


def test_matrices_are_read_column_by_column():
    entries = sets.Box([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    for call in (entries.to_cvxpy, entries.constraints):
        Y = cp.Variable((2, 2))
        cp.Problem(cp.Minimize(0), call(Y)).solve(solver=cp.CLARABEL)
        assert Y.value == pytest.approx(np.array([[1.0, 3.0], [2.0, 4.0]]), abs=1e-6)


@pytest.mark.parametrize("shape", [(2,), (1, 2), (2, 1)])
def test_rows_and_columns_are_vectors(shape):
    y = cp.Variable(shape)
    problem = cp.Problem(cp.Maximize(cp.sum(y)), SIDE.to_cvxpy(y))
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(3.0, abs=1e-6)


def test_a_scalar_is_a_vector_of_one():
    y = cp.Variable()
    problem = cp.Problem(cp.Maximize(y), sets.Box([0.0], [4.0]).to_cvxpy(y))
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(4.0, abs=1e-6)


def test_an_affine_expression_is_constrained():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Maximize(x[0]), SIDE.to_cvxpy(3 * x + 1))
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("call", ["constraints", "to_cvxpy"])
def test_every_set_checks_the_shape(name, call):
    value = ALL[name]
    wrong = rf"{call}\(.*shape \({value.dim},\).*got shape \(1, {value.dim + 1}\)"
    with pytest.raises(InvalidParameter, match=wrong):
        getattr(value, call)(cp.Variable((1, value.dim + 1)))


@pytest.mark.parametrize("call", ["constraints", "to_cvxpy"])
def test_numbers_are_for_contains(call):
    with pytest.raises(InvalidParameter, match=rf"{call}.*ndarray.*Box\.contains"):
        getattr(SIDE, call)(np.zeros(2))


# -- what a set keeps of a prediction -----------------------------------------------


def test_a_set_copies_labels_and_joint_predictions():
    chances = np.array([0.5, 0.3, 0.2])
    said = JointPrediction((Prediction(np.zeros(1)), LabelPrediction((chances,))))
    loss = losses.Combined(["squared", "cross_entropy"], weights=(1.0, 1.0))
    value = sets.Mixed(loss, said, 2.0)
    before = value.support([1.0, 0.0, 0.0, 1.0])
    chances[:] = 1.0
    assert value.support([1.0, 0.0, 0.0, 1.0]) == before


@pytest.mark.parametrize(
    ("loss", "said", "message"),
    [
        ("squared", LabelPrediction((np.array([0.5, 0.5]),)), "must be a Prediction"),
        ("hinge", Prediction(np.zeros(2)), "must be a LabelPrediction"),
        ("hinge", LabelPrediction(), "a block of classes"),
        ("hinge", LabelPrediction((np.zeros((2, 2)),)), r"probabilities\[0\]"),
        (losses.Combined(["squared", "gaussian"], (1, 1)), HOUSE, "must be a Pred"),
        (losses.Combined(["squared"], (1,)), HOUSE, "JointPrediction of 1 parts"),
        (losses.Combined(["squared"], (1,)), np.zeros(1), "JointPrediction of 1 parts"),
        (
            losses.Combined(["gaussian"], (1,)),
            JointPrediction((Prediction(np.zeros(1)),)),
            "positive spread for Gaussian",
        ),
    ],
)
def test_a_prediction_must_suit_its_loss(loss, said, message):
    with pytest.raises(InvalidParameter, match=message):
        sets.Sublevel(loss, said, 1.0)
