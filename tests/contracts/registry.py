"""Every loss the contracts run on. A new loss is one line here."""

import cvxpy as cp
import numpy as np

from sublevel import losses

WEIGHTS = (0.5, 1.0, 2.0)
COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.7]])

LOSSES = {
    "squared": losses.Squared(),
    "squared-weighted": losses.Squared(weights=WEIGHTS),
    "mahalanobis": losses.Mahalanobis(COVARIANCE),
    "absolute": losses.Absolute(),
    "absolute-weighted": losses.Absolute(weights=WEIGHTS),
    "huber": losses.Huber(0.7),
    "huber-weighted": losses.Huber(0.7, weights=WEIGHTS),
    "gaussian": losses.Gaussian(),
    "gaussian-weighted": losses.Gaussian(weights=WEIGHTS),
    "nll": losses.NLL(),
    "pinball": losses.Pinball(0.8),
    "pinball-weighted": losses.Pinball(0.8, weights=WEIGHTS),
    "epsilon-insensitive": losses.EpsilonInsensitive(0.2),
    "epsilon-insensitive-weighted": losses.EpsilonInsensitive(0.2, weights=WEIGHTS),
    "interval": losses.Interval(),
    "interval-weighted": losses.Interval(weights=WEIGHTS),
    "log-cosh": losses.LogCosh(),
    "log-cosh-weighted": losses.LogCosh(weights=WEIGHTS),
    "poisson": losses.Poisson(),
    "poisson-weighted": losses.Poisson(weights=WEIGHTS),
    "gamma": losses.Gamma(),
    "gamma-weighted": losses.Gamma(weights=WEIGHTS),
    "cross-entropy": losses.CrossEntropy(),
    "hinge": losses.Hinge(),
    "zero-one": losses.ZeroOne(),
    "combined-numbers": losses.Combined(
        [losses.Squared(), losses.Absolute()], weights=(2.0, 0.5)
    ),
    "combined-mixed": losses.Combined(
        [losses.Gaussian(), losses.CrossEntropy(), losses.Huber()],
        weights=(1.0, 0.5, 2.0),
    ),
    "combined-nll": losses.Combined(["nll", "squared", "nll"], weights=(1.0, 2.0, 0.5)),
    "combined-steep": losses.Combined(
        [losses.Pinball(0.8), losses.EpsilonInsensitive(0.2), losses.Huber(0.5)],
        weights=(1.0, 2.0, 0.5),
    ),
    "combined-smooth": losses.Combined(
        ["poisson", "gamma", "log_cosh", losses.Mahalanobis(COVARIANCE)],
        weights=(1.0, 2.0, 0.5, 1.5),
    ),
    "combined-interval": losses.Combined(
        [losses.Interval(), "squared", losses.Interval(weights=WEIGHTS), "nll"],
        weights=(1.0, 2.0, 0.5, 1.5),
    ),
    "combined-interval-labels": losses.Combined(
        ["interval", "cross_entropy"], weights=(1.0, 0.5)
    ),
    "combined-nll-labels": losses.Combined(["nll", "hinge"], weights=(1.0, 0.5)),
    "combined-custom": losses.Combined(
        [losses.Custom(lambda y, location: cp.norm(y - location, 3)), "squared"],
        weights=(1.0, 0.5),
    ),
    "combined-custom-labels": losses.Combined(
        [losses.Custom(lambda y, location: cp.norm(y - location, 3)), "cross_entropy"],
        weights=(1.0, 0.5),
    ),
    "combined-labels": losses.Combined(
        [losses.CrossEntropy(), losses.ZeroOne()], weights=(1.0, 0.5)
    ),
    "custom": losses.Custom(lambda y, location: cp.norm(y - location, 3)),
    "custom-spread": losses.Custom(lambda y, loc, s: cp.sum_squares((y - loc) / s)),
}
