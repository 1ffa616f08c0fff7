"""Labels and numbers that share a budget, in one program for all contexts."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import sublevel as sl
from sublevel.losses.label_slots import label_slots
from sublevel.predictions import JointPrediction, LabelPrediction, Prediction

MAP = np.random.default_rng(7).normal(size=(2, 2)) / 2


def draw(n, seed, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    table = pd.DataFrame(
        X @ MAP + 4 + 0.5 * rng.normal(size=(n, 2)), columns=["a", "b"]
    )
    odds = X @ rng.normal(size=(2, classes)) + rng.gumbel(size=(n, classes))
    table["kind"] = np.array([f"k{j}" for j in range(classes)])[odds.argmax(axis=1)]
    return X, table


def fitted(losses, weights, classifier, classes=3, alpha=0.2):
    models = sl.ModelBlocks([LinearRegression(), classifier], widths=[2, 1])
    sets = sl.LossSet(models, loss=sl.losses.Combined(losses, weights))
    sets.fit(*draw(150, 0, classes))
    return sets.calibrate(*draw(100, 1, classes), alpha=alpha)


def trade(sets, width=5, nonneg=False):
    """Numbers and labels in one row, and in the objective."""
    y = sl.Uncertain(width, name="y", nonneg=nonneg)
    x = cp.Variable(width, nonneg=True, name="x")
    limits = [cp.sum(x) <= 3, y @ x >= 2.5]
    gain = y[:2] @ x[:2] + 3 * (y[2:] @ x[2:]) - cp.sum_squares(x)
    return sl.RobustProblem(cp.Maximize(gain), limits, {y: sets})


SETS = {
    "squared, probabilities": (["squared", "cross_entropy"], (1.0, 0.7)),
    "absolute, a few labels": (["absolute", "cross_entropy"], (0.5, 3.0)),
    "huber, margins": (["huber", "hinge"], (1.0, 1.0)),
    "boxes, zero-one": (["squared", "zero_one"], (2.0, 1.0)),
}


@pytest.mark.parametrize("name", SETS)
def test_one_program_decides_as_cutting_planes(name):
    losses, weights = SETS[name]
    classifier = LinearSVC() if losses[1] == "hinge" else LogisticRegression()
    problem = trade(fitted(losses, weights, classifier))
    X, _ = draw(6, 2)
    policy = problem.compile()
    decisions = policy.decide(X)
    assert policy.one_by_one is None
    assert (decisions.status == "optimal").all()
    assert decisions.audit.passed.all()
    cuts = problem.compile(engine="cuts").decide(X)
    assert decisions.objective == pytest.approx(cuts.objective, rel=2e-6)


def test_one_program_decides_as_every_label_written_out():
    """By the sets' definition: a row and an ellipsoid for each label that is left."""
    sets = fitted(["squared", "cross_entropy"], (1.0, 0.7), LogisticRegression())
    problem = trade(sets)
    X, _ = draw(5, 3)
    decisions = problem.compile().decide(X)
    seen = set()
    for i, U in enumerate(sets.predict_set(X)):
        place, law = U.prediction.parts[0].location, U.prediction.parts[1].values[0]
        left = U.effective_budget + np.log(law) / 0.7
        x, worst, gain = cp.Variable(5, nonneg=True), cp.Variable(), cp.Variable()
        rows = [cp.sum(x) <= 3, worst >= 2.5]
        seen.add(int((left >= 0).sum()))
        for j in np.flatnonzero(left >= 0):
            reach = np.sqrt(left[j]) * cp.norm(x[:2])
            rows.append(worst <= place @ x[:2] - reach + x[2 + j])
            rows.append(gain <= place @ x[:2] - reach + 3 * x[2 + j])
        direct = cp.Problem(cp.Maximize(gain - cp.sum_squares(x)), rows)
        direct.solve(solver=cp.CLARABEL)
        assert decisions.objective[i] == pytest.approx(direct.value, rel=1e-6)
    # Contexts at which different labels are possible share the program.
    assert len(seen) > 1


def test_a_label_that_is_too_dear_stands_for_the_cheapest():
    laws = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    both = JointPrediction((Prediction(np.zeros((2, 1))), LabelPrediction((laws,))))
    loss = sl.losses.Combined(["squared", "cross_entropy"], (1.0, 1.0))
    budgets = loss.floor(both) + np.array([1.5, 5.0])
    slots = label_slots(loss.blocks(both, both.point), budgets - loss.floor(both))
    dearer = -np.log(laws) + np.log(laws.max(axis=1, keepdims=True))
    left = np.column_stack([slots[f"left{k}.budget"] for k in range(3)])
    assert left[0] == pytest.approx([1.5, 1.5 - dearer[0, 1], 1.5])
    assert slots["1.labels2"].tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert left[1] == pytest.approx(5.0 - dearer[1])


def test_many_combinations_are_left_to_cutting_planes(monkeypatch):
    monkeypatch.setattr("sublevel.losses.combined.MOST_COMBINATIONS", 2)
    sets = fitted(["squared", "cross_entropy"], (1.0, 1.0), LogisticRegression())
    policy = trade(sets).compile()
    assert policy.decide(draw(1, 2)[0]).status.tolist() == ["optimal"]
    assert "combinations" in policy.one_by_one


def test_signs_of_numbers_beside_labels_are_left_to_cutting_planes():
    sets = fitted(["squared", "cross_entropy"], (1.0, 1.0), LogisticRegression())
    policy = trade(sets, nonneg=True).compile()
    assert policy.decide(draw(1, 2)[0]).status.tolist() == ["optimal"]
    assert "not to be negative" in policy.one_by_one


def test_labels_are_not_written_to_files(tmp_path):
    sets = fitted(["squared", "cross_entropy"], (1.0, 1.0), LogisticRegression())
    policy = trade(sets).compile()
    policy.decide(draw(2, 2)[0])
    with pytest.raises(sl.errors.InvalidParameter, match="labels beside them"):
        policy.save(tmp_path / "policy")
