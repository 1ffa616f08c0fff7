"""Whether an outcome is in a set: a batch and its members give one answer."""

import numpy as np
import pytest

import sublevel as sl
from sublevel.loss_set import SetBatch, UnionBatch
from sublevel.losses import Combined, CrossEntropy, Hinge, Squared, ZeroOne
from sublevel.predictions import (
    JointPrediction,
    LabelPrediction,
    Labels,
    Numbers,
    Outcomes,
    Prediction,
)

NUMERIC = sorted(set(sl.losses.NAMES) - {"cross_entropy", "hinge", "zero_one"})
BUDGETS = [-1.0, 0.0, 1e-6, 1.0, 4.0, np.inf]
#: Relative distances from the boundary: on both sides of the tolerance of 1e-7.
NEAR = np.array([-1e-3, -1e-7, 0.0, 4e-8, 6e-8, 9e-8, 1.1e-7, 1.9e-7, 2.1e-7, 1e-3])


def loss_named(name):
    return (
        sl.losses.Mahalanobis([[2.0]]) if name == "mahalanobis" else sl.losses.get(name)
    )


def assert_one_answer(batch, outcomes):
    for y in outcomes:
        rows = np.tile(y, (len(batch), 1))
        together = batch.contains(rows)
        apart = [
            batch[i].contains(batch.outcomes.encode(rows)[i]) for i in range(len(batch))
        ]
        assert together.tolist() == apart, y


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("location", [2.0, 1e6])
def test_numbers(name, location):
    loss, count = loss_named(name), len(BUDGETS)
    prediction = Prediction(np.full((count, 1), location), np.full((count, 1), 0.7))
    outcomes = Outcomes((Numbers(1),))
    batch = SetBatch(loss, prediction, np.array(BUDGETS), outcomes, ("y",))
    around = location + np.linspace(-5.0, 6.0, 45)
    ends = [member.bounds() for member in batch if member.is_bounded]
    reach = np.ravel(ends) - location
    near = location + np.ravel(reach[:, None] * (1 + NEAR))
    assert_one_answer(batch, np.concatenate([around, near])[:, None])


@pytest.mark.parametrize("loss", [CrossEntropy(), Hinge(), ZeroOne()])
def test_labels(loss):
    rng = np.random.default_rng(0)
    blocks = rng.dirichlet(np.ones(3), size=6), rng.dirichlet(np.ones(2), size=6)
    prediction = LabelPrediction(blocks)
    outcomes = Outcomes((Labels(np.arange(3)), Labels(np.arange(2))))
    pairs = [(i, j) for i in range(3) for j in range(2)]
    scores = [
        loss.score(prediction, outcomes.encode(np.tile(pair, (6, 1)))) for pair in pairs
    ]
    for budget in (-1.0, 0.0, 0.5, np.inf, *np.ravel(scores)):
        for factor in (1 - 1e-3, 1.0, 1 + 4e-8, 1 - 4e-8, 1 - 1.2e-7):
            levels = np.full(6, budget * factor)
            batch = SetBatch(loss, prediction, levels, outcomes, ("a", "b"))
            assert_one_answer(batch, pairs)


def test_numbers_and_labels_together():
    loss = Combined([Squared(), CrossEntropy()], weights=(2.0, 0.5))
    labels = LabelPrediction((np.array([[0.8, 0.2], [0.5, 0.5], [1.0, 0.0]]),))
    prediction = JointPrediction((Prediction(np.zeros((3, 1))), labels))
    outcomes = Outcomes((Numbers(1), Labels(np.array([0, 1]))))
    for budget in BUDGETS:
        batch = SetBatch(
            loss, prediction, np.full(3, budget), outcomes, ("y", "a", "b")
        )
        values = [0.0, 0.3, np.sqrt(2.0), np.sqrt(2.0) * (1 + 6e-8), 9.0, -1e9]
        assert_one_answer(batch, [(y, label) for y in values for label in (0, 1)])


def test_unions():
    outcomes = Outcomes((Numbers(1),))
    parts = tuple(
        SetBatch(
            sl.losses.get("poisson"),
            Prediction(np.full((3, 1), mean)),
            budgets,
            outcomes,
            ("y",),
        )
        for mean, budgets in ((1.0, np.array([0.1, 1.0, np.inf])), (9.0, np.ones(3)))
    )
    assert_one_answer(UnionBatch(parts), np.linspace(-2.0, 20.0, 45)[:, None])


@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_no_budget_admits_what_cannot_be(name):
    prediction = Prediction(np.full((1, 1), 2.0))
    outcomes = Outcomes((Numbers(1),))
    batch = SetBatch(
        sl.losses.get(name), prediction, np.array([np.inf]), outcomes, ("y",)
    )
    assert not batch.contains([[-1.0]])[0]
    assert not batch[0].contains([-1.0])
    assert batch.contains([[1e300]])[0]
