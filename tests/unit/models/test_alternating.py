"""The refits: when they stop, what they keep, and how they weigh the rows."""

from dataclasses import dataclass, field

import numpy as np

from sublevel.models.alternating import Alternation
from sublevel.models.learners import Learned
from sublevel.models.rows import Rows

N = 40
SHAPE = np.where(np.arange(N) % 2, 1.0, 3.0)


@dataclass
class Scripted:
    """A mean whose residuals, refit by refit, are the scales given times a shape."""

    scales: list
    takes_weight: bool = True
    sees_mean: bool = False
    weights: list = field(default_factory=list)

    def learn(self, rows, y):
        scale = self.scales[len(self.weights)]
        self.weights.append(rows.weight)
        columns = y.shape[1:]
        error = scale * (SHAPE if not columns else SHAPE[:, None] * [1.0, 2.0])
        return Learned(f"mean {len(self.weights)}", y - error)


@dataclass
class Known:
    """A variance that knows the squares."""

    takes_weight: bool = True
    sees_mean: bool = False
    constant: bool = False

    def learn(self, rows, y):
        return Learned("variance", np.ones(N) if self.constant else y)


def run(mean, variance=None, max_refits=5, tol=0.05, weight=None, outputs=1):
    turns = Alternation(mean, variance or Known(), 1e-6, max_refits, tol)
    return turns.fit(Rows(np.zeros((N, 1)), weight), np.zeros((N, outputs)))


def test_it_stops_when_the_gain_is_within_the_tolerance():
    # Residuals scaled by c change the loss by log c: gains of log(1/.8), log(.8/.79).
    pair = run(Scripted([1.0, 0.8, 0.79, 0.1]))
    assert pair.n_refits == 1
    assert pair.mean == "mean 2"
    assert np.allclose(np.diff(pair.losses), np.log([0.8, 0.79 / 0.8]))


def test_a_smaller_tolerance_goes_on():
    pair = run(Scripted([1.0, 0.8, 0.79, 0.9]), tol=0.01)
    assert (pair.n_refits, pair.mean, len(pair.losses)) == (2, "mean 3", 4)


def test_a_worse_refit_is_not_kept():
    pair = run(Scripted([1.0, 1.5]))
    assert (pair.n_refits, pair.mean, len(pair.losses)) == (0, "mean 1", 2)


def test_the_number_of_refits_is_bounded():
    pair = run(Scripted([1.0, 0.5, 0.25, 0.1]), max_refits=2)
    assert (pair.n_refits, pair.mean) == (2, "mean 3")
    assert run(Scripted([1.0]), max_refits=0).losses == pair.losses[:1]


def test_a_constant_variance_or_a_mean_without_weights_is_not_refitted():
    assert len(run(Scripted([1.0]), Known(constant=True)).losses) == 1
    assert len(run(Scripted([1.0], takes_weight=False)).losses) == 1


def test_rows_are_weighted_by_the_inverse_variance():
    mean = Scripted([1.0, 0.5, 0.5])
    run(mean)
    assert mean.weights[0] is None
    assert np.allclose(mean.weights[1] * SHAPE**2, np.mean(1 / SHAPE**2) ** -1)


def test_weights_of_the_user_multiply():
    given = np.arange(1.0, N + 1)
    mean = Scripted([1.0, 0.5, 0.5])
    run(mean, weight=given)
    assert mean.weights[0] is given
    ratio = mean.weights[1] * SHAPE**2 / given
    assert np.allclose(ratio, ratio[0])


def test_the_loss_is_minus_the_mean_log_likelihood():
    # Two outputs, residuals of the very size predicted: log s / 2 + 1 / 2.
    pair = run(Scripted([1.0, 1.0]), outputs=2)
    log_sizes = np.mean(np.log(SHAPE)) + np.log(2) / 2
    assert np.isclose(pair.losses[0], 0.5 + log_sizes)


def test_several_outputs_share_averaged_weights():
    mean = Scripted([1.0, 0.5, 0.5])
    run(mean, outputs=2)
    assert mean.weights[1].shape == (N,)
    assert np.isclose(mean.weights[1].mean(), 1.0)
