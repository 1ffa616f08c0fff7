"""Many networks in one call: seeds, replications, outcomes, parameters of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from ...checks import Array
from ...errors import InvalidParameter
from .base import LEAST_ROWS, NetworkEstimator, Targets
from .draws import seeds_of
from .estimators import GaussianNetworkRegressor, NetworkClassifier
from .weights import network_outputs

if TYPE_CHECKING:
    from .training import Fitted


class NetworkEnsemble(Sequence[Any]):
    """Networks trained by `fit_many`: a sequence of fitted estimators.

    Attributes
    ----------
    random_states : list of int, the seed of each network
    validation_loss : array of shape (B,)
    n_epochs : array of shape (B,), over all starts
    """

    def __init__(
        self,
        estimator: NetworkEstimator,
        fitted: Fitted,
        targets: Targets,
        random_states: list[int],
    ) -> None:
        self._fitted, self._targets = fitted, targets
        self.random_states = random_states
        self.validation_loss, self.n_epochs = fitted.losses, fitted.epochs
        # The estimator with the weights of all networks: its forward pass broadcasts.
        self._all = clone(estimator)
        self._all.take_over(fitted, slice(None), targets)

    def __len__(self) -> int:
        return len(self.random_states)

    def __getitem__(self, which: int | slice) -> Any:
        if isinstance(which, slice):
            return [self[i] for i in range(*which.indices(len(self)))]
        which = range(len(self))[which]
        member = clone(self._all).set_params(random_state=self.random_states[which])
        member.take_over(self._fitted, which, self._targets)
        values, hidden = self._targets.values, member.coefs_[0]
        own = self._targets.own_covariates
        member.n_features_in_ = values.shape[2] if own else hidden.shape[0]
        return member

    def predict(self, X: npt.ArrayLike, return_std: bool = False) -> Any:
        """Every network's prediction, stacked: shape (B, n) or (B, n, m).

        Parameters
        ----------
        X : array of shape (n, p) that all share, or (B, n, p)
        return_std : bool
            A pair with the spreads; for `GaussianNetworkRegressor`.
        """
        outputs = self._outputs(X)
        if not return_std:
            return self._all.point_from(outputs)
        if not isinstance(self._all, GaussianNetworkRegressor):
            raise self._lacking("predict(return_std=True)")
        return self._all.point_from(outputs), self._all.spread_from(outputs)

    def predict_proba(self, X: npt.ArrayLike) -> Any:
        """Every classifier's class probabilities: shape (B, n, K)."""
        if not isinstance(self._all, NetworkClassifier):
            raise self._lacking("predict_proba")
        return self._all.chances_from(self._outputs(X))

    def _lacking(self, asked: str) -> InvalidParameter:
        return InvalidParameter(
            f"NetworkEnsemble.{asked} needs networks that have it, and these are "
            f"{type(self._all).__name__}."
        )

    def _outputs(self, X: npt.ArrayLike) -> Array:
        """Outputs of all networks, shape (B, n, k) or (B, n, m, 1)."""
        covariates = read_numbers("NetworkEnsemble.predict", "X", X)
        coefs, own = self._all.coefs_, self._targets.own_covariates
        axes = 3 if own else 2
        shared = covariates.ndim == axes
        fits = shared or (covariates.ndim == axes + 1 and len(covariates) == len(self))
        if not fits or covariates.shape[-1] != coefs[0].shape[1]:
            wanted = "n, m, p" if own else "n, p"
            raise InvalidParameter(
                f"NetworkEnsemble.predict(X) must be of shape ({wanted}) or (B, "
                f"{wanted}) with p={coefs[0].shape[1]} and B={len(self)}, got shape "
                f"{covariates.shape}."
            )
        rows, p = covariates.shape[-axes:-1], covariates.shape[-1]
        flat = covariates.reshape(*covariates.shape[:-axes], -1, p)
        outputs = network_outputs(flat, coefs, self._all.intercepts_)
        return outputs.reshape(len(self), *rows, -1)


def read_numbers(owner: str, name: str, value: npt.ArrayLike) -> Array:
    """A float array without NaN or infinity, of any shape."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"{owner}({name}=...) must be numeric, got {type(value).__name__}: {error}."
        ) from error
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidParameter(
            f"{owner}({name}=...) must be finite, got {array[where]} at index {where}."
        )
    return array


def fit_many(
    estimator: NetworkEstimator,
    X: npt.ArrayLike,
    Y: npt.ArrayLike,
    random_states: Sequence[int] | None = None,
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
    targets = template.targets_of(X, Y)
    fitted = template.train_all(X, targets, seeds)
    return NetworkEnsemble(template, fitted, targets, seeds)


def _read(
    template: NetworkEstimator, X: npt.ArrayLike, Y: npt.ArrayLike
) -> tuple[Array, npt.NDArray[Any]]:
    """Covariates (B or 1, N, ..., p) and outcomes (B, N, ...), checked."""
    covariates = read_numbers("fit_many", "X", X)
    outcomes = np.asarray(Y)
    if template.several_outcomes:
        outcomes = read_numbers("fit_many", "Y", Y)
    axes = (2, 3) if template.several_outcomes else (2,)
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


def _read_seeds(
    template: NetworkEstimator, given: Sequence[int] | None, count: int
) -> list[int]:
    if given is None:
        return seeds_of(template.random_state, count)
    seeds = np.asarray(given)
    if seeds.shape != (count,) or seeds.dtype.kind not in "iu" or seeds.min() < 0:
        raise InvalidParameter(
            f"fit_many(random_states=...) must be {count} integers of at least 0, one "
            f"a network, got {given!r}."
        )
    return [int(seed) for seed in seeds]
