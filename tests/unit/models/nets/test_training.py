"""Stopping rules, splits and starts; the optimiser reaches the noise floor."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from sublevel.models.nets import NetworkRegressor, fit_many
from sublevel.models.nets.criteria import SquaredError
from sublevel.models.nets.draws import first_weights, row_order, seed_of, seeds_of
from sublevel.models.nets.epochs import Progress, Rules, run_epochs
from sublevel.models.nets.rows import Layers, Rows
from sublevel.models.nets.weights import pooled, standardise


def numbered(b, value):
    """Layers whose every weight is the value, to be recognised later."""
    full = torch.full((b, 1, 2), float(value), dtype=torch.float64)
    return Layers(full, full.clone())


class Scripted:
    """An optimiser whose validation residuals are written down in advance."""

    def __init__(self, script, at=0):
        self.script, self.at = script, at

    @property
    def layers(self):
        return numbered(len(self.script), self.at)

    def held_out(self, rows):
        return self.script[:, self.at].view(-1, 1, 1)

    def keep(self, which):
        return Scripted(self.script[which], self.at)


def run_script(script, patience, max_epochs=100):
    script = torch.tensor(script, dtype=torch.float64)
    b = len(script)
    rows = Rows(torch.zeros(b, 2, 2), torch.zeros(b, 1, 2, dtype=torch.float64), 1)

    def epoch(state, rows):
        del rows
        return Scripted(state.script, state.at + 1)

    rules = Rules(patience, max_epochs)
    return run_epochs(rows, Scripted(script), epoch, SquaredError(), rules)


def test_each_network_stops_by_its_own_rule_and_keeps_its_best_weights():
    found = run_script(
        [
            [5, 4, 4, 4, 0, 0, 0, 0, 0],  # over after two epochs without improvement
            [5, 4, 4, 3, 4, 4, 2, 2, 2],  # the improvement to 2 comes too late
            [5, 4, 3, 2, 1, 0.5, 0.4, 0.5, 0.5],
        ],
        patience=2,
    )
    assert found.epochs.tolist() == [3, 5, 8]
    assert found.layers.hidden[:, 0, 0].tolist() == [1, 3, 6]
    np.testing.assert_allclose(found.loss, np.square([4, 3, 0.4]) / 2)


def test_a_network_that_is_over_does_not_change_while_it_waits_in_the_batch():
    # One of ten has stopped: too few for the batch to shrink, yet it must not move.
    improving = np.arange(20.0, 0.0, -1.0)
    stopped = np.array([5.0, 6.0, 6.0, *([0.0] * 17)])
    found = run_script(np.stack([stopped, *[improving] * 9]), patience=2, max_epochs=19)
    assert found.epochs.tolist() == [2] + [19] * 9
    assert found.layers.hidden[0, 0, 0] == 0
    assert found.loss[0] == 12.5


def test_training_ends_after_the_epochs_allowed():
    assert run_script(np.arange(20.0, 0.0, -1.0)[None], 3, max_epochs=7).epochs == 7


def test_a_tiny_improvement_is_kept_but_not_waited_for():
    progress = Progress.start(numbered(1, 0), torch.tensor([1.0]), patience=3)
    after = progress.after(numbered(1, 1), torch.tensor([1 - 1e-6]), SquaredError())
    assert (after.waited.item(), after.best.hidden[0, 0, 0].item()) == (1, 1)


def test_rare_classes_are_in_the_training_part_and_others_in_both():
    labels = np.array([0] * 60 + [1] * 38 + [2] * 2)
    for seed in range(20):
        order = row_order(seed, 100, labels)
        assert sorted(order) == list(range(100))
        train, validation = labels[order[:70]], labels[order[70:]]
        assert (train == 2).sum() == 2
        assert (validation == 0).sum() in (18, 19)
        assert (validation == 1).sum() in (11, 12)


def test_every_unit_is_alive_at_the_start():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(3, 200))
    for _ in range(50):
        hidden, output = first_weights(draw, X, hidden_units=5, outputs=2)
        active = hidden[:, :-1] @ X + hidden[:, -1:] > 0
        assert active.any(axis=1).all()
        assert output.shape == (2, 6)


def test_seeds():
    assert seed_of(7) == 7
    assert seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1))
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1))
    assert seeds_of(0, 3) == seeds_of(0, 5)[:3]
    assert len(set(seeds_of(0, 100))) == 100


def test_scaling():
    values = np.array([[[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]])
    scaled = standardise(values).apply(values[0], 0)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(scaled.std(axis=0), [1.0, 0.0])
    # Rounding must not turn a constant column into noise of unit size.
    constant = np.full((1, 7, 1), 0.1)
    assert np.abs(standardise(constant).apply(constant[0], 0)).max() < 1e-15
    one = pooled(values)
    assert (one.center == 0).all()
    assert one.unit.tolist() == [[[values.std()] * 2]]


def linear(n, rng):
    X = rng.uniform(-1, 1, size=(n, 10))
    return X, X[:, :6].sum(axis=1) / np.sqrt(10)


def test_noiseless_linear_data_are_fitted_to_a_thousandth_in_eight_of_ten_seeds():
    rng = np.random.default_rng(0)
    X, y = linear(10_000, rng)
    X_test, y_test = linear(2000, rng)
    networks = fit_many(
        NetworkRegressor(), X, np.tile(y, (10, 1)), random_states=range(10)
    )
    errors = np.sqrt(((networks.predict(X_test) - y_test) ** 2).mean(axis=1))
    assert (errors <= 1e-3 * y_test.std()).sum() >= 8


def test_the_noise_floor_is_reached():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3000, 3))
    mean = np.maximum(X[..., 0], 0) - np.maximum(X[..., 1] + 0.5, 0)
    Y = mean + 0.3 * rng.normal(size=mean.shape)
    networks = fit_many(NetworkRegressor(random_state=0), X[:, :1000], Y[:, :1000])
    excess = ((networks.predict(X[:, 1000:]) - mean[:, 1000:]) ** 2).mean(axis=1)
    # 26 weights on 700 rows: an efficient estimator has 26 / 700 of the variance 0.09.
    assert np.median(excess) < 1.5 * 26 / 700 * 0.09
    assert excess.max() < 3 * 26 / 700 * 0.09


def test_restarts_are_chosen_by_validation_loss():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 300, 2))
    Y = np.abs(X[..., 0]) * X[..., 1]
    one, five = (
        fit_many(NetworkRegressor(n_restarts=r), X, Y, random_states=range(20))
        for r in (1, 5)
    )
    assert (five.validation_loss <= one.validation_loss + 1e-12).all()
    assert (five.validation_loss < one.validation_loss).mean() > 0.5


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_units_of_the_data_do_not_matter(shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=200)
    plain = NetworkRegressor(random_state=0).fit(X, y).predict(X)
    other = NetworkRegressor(random_state=0).fit(1e4 * X + shift, 1e-3 * y - 5)
    np.testing.assert_allclose(
        (other.predict(1e4 * X + shift) + 5) * 1e3, plain, rtol=1e-5, atol=1e-6
    )
