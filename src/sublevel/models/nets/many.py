"""Many networks in one call: seeds, replications, outcomes, parameters of a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ...checks import Array
from ...errors import InvalidParameter
from .base import LEAST_ROWS, NetworkEstimator
from .draws import seeds_of
from .ensemble import NetworkEnsemble, read_numbers


def fit_many(
    estimator: NetworkEstimator, X: Any, Y: Any, random_states: Any = None
) -> NetworkEnsemble:
    """Train many networks at once, each on its own data and by its own stopping rule.

    A network comes out the same (to rounding) as one that is trained alone with the
    same `random_state`; a batch is only faster.

    Parameters
    ----------
    estimator : a network estimator, unfitted: the settings of all networks
    X : array of shape (N, p) that all share, or (B, N, p)
        For `SPOPlusRegressor` also (N, m, p) or (B, N, m, p).
    Y : array of shape (B, N) or (B, N, m): outcomes, or labels (B, N)
    random_states : B integers, optional
        Drawn from the estimator's `random_state` if not given.

    Returns
    -------
    NetworkEnsemble
        A sequence of B fitted estimators.

    Examples
    --------
    >>> from sublevel.models.nets import NetworkRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 100, 3))
    >>> networks = fit_many(NetworkRegressor(random_state=0), X, X[:, :, 0])
    >>> len(networks), networks.predict(X[0, :5]).shape, networks[3].predict(X[3]).shape
    (20, (20, 5), (100,))
    """
    if not isinstance(estimator, NetworkEstimator):
        raise InvalidParameter(
            "fit_many(estimator=...) must be a network estimator such as "
            f"NetworkRegressor(), got {type(estimator).__name__}."
        )
    template = clone(estimator)
    X, Y = _read(template, X, Y)
    seeds = _read_seeds(template, random_states, len(Y))
    targets = template._targets(X, Y)
    fitted = template._train(X, targets, seeds)
    return NetworkEnsemble(template, fitted, targets, seeds)


def _read(template: NetworkEstimator, X: Any, Y: Any) -> tuple[Array, Any]:
    """Covariates (B or 1, N, ..., p) and outcomes (B, N, ...), checked."""
    covariates = read_numbers("fit_many", "X", X)
    outcomes = np.asarray(Y)
    if template._several_outcomes:
        outcomes = read_numbers("fit_many", "Y", Y)
    axes = (2, 3) if template._several_outcomes else (2,)
    if outcomes.ndim not in axes or outcomes.size == 0:
        raise InvalidParameter(
            f"fit_many(Y=...) must hold the outcomes of every network, of shape "
            f"{' or '.join(['(B, N)', '(B, N, m)'][: len(axes)])}, got shape "
            f"{outcomes.shape}."
        )
    own_rows = covariates.ndim > 2 and covariates.shape[:2] == outcomes.shape[:2]
    if not own_rows:
        covariates = covariates[None]
    if covariates.ndim not in (3, 4) or covariates.shape[1] != outcomes.shape[1]:
        raise InvalidParameter(
            f"fit_many(X=...) must be of shape (N, p) or (B, N, p) for Y of shape "
            f"{outcomes.shape}, got shape {np.shape(X)}."
        )
    if outcomes.shape[1] < LEAST_ROWS:
        raise InvalidParameter(
            f"fit_many needs at least {LEAST_ROWS} rows a network, got "
            f"{outcomes.shape[1]}."
        )
    return covariates, outcomes


def _read_seeds(template: NetworkEstimator, given: Any, count: int) -> list[int]:
    if given is None:
        return seeds_of(template.random_state, count)
    seeds = np.asarray(given)
    if seeds.shape != (count,) or seeds.dtype.kind not in "iu" or seeds.min() < 0:
        raise InvalidParameter(
            f"fit_many(random_states=...) must be {count} integers of at least 0, one "
            f"a network, got {given!r}."
        )
    return [int(seed) for seed in seeds]
