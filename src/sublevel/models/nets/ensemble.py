"""The networks of one `fit_many` call, one by one or all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ...checks import Array
from ...errors import InvalidParameter
from .base import NetworkEstimator
from .targets import Targets
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
        self._all._learn(fitted, slice(None), targets)

    def __len__(self) -> int:
        return len(self.random_states)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return [self[i] for i in range(*which.indices(len(self)))]
        which = range(len(self))[which]
        member = clone(self._all).set_params(random_state=self.random_states[which])
        member._learn(self._fitted, which, self._targets)
        values, hidden = self._targets.values, member.coefs_[0]
        own = self._targets.own_covariates
        member.n_features_in_ = values.shape[2] if own else hidden.shape[0]
        return member

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Every network's prediction, stacked: shape (B, n) or (B, n, m).

        Parameters
        ----------
        X : array of shape (n, p) that all share, or (B, n, p)
        return_std : bool
            A pair with the spreads; for `GaussianNetworkRegressor`.
        """
        outputs = self._outputs(X)
        if not return_std:
            return self._all._point(outputs)
        self._require("_spread", "predict(return_std=True)")
        return self._all._point(outputs), self._all._spread(outputs)

    def predict_proba(self, X: Any) -> Any:
        """Every classifier's class probabilities: shape (B, n, K)."""
        self._require("_chances", "predict_proba")
        return self._all._chances(self._outputs(X))

    def _require(self, method: str, asked: str) -> None:
        if not hasattr(self._all, method):
            raise InvalidParameter(
                f"NetworkEnsemble.{asked} needs networks that have it, and these are "
                f"{type(self._all).__name__}."
            )

    def _outputs(self, X: Any) -> Array:
        """Outputs of all networks, shape (B, n, k) or (B, n, m, 1)."""
        found = read_numbers("NetworkEnsemble.predict", "X", X)
        coefs, own = self._all.coefs_, self._targets.own_covariates
        axes = 3 if own else 2
        shared = found.ndim == axes
        fits = shared or (found.ndim == axes + 1 and len(found) == len(self))
        if not fits or found.shape[-1] != coefs[0].shape[1]:
            wanted = "n, m, p" if own else "n, p"
            raise InvalidParameter(
                f"NetworkEnsemble.predict(X) must be of shape ({wanted}) or (B, "
                f"{wanted}) with p={coefs[0].shape[1]} and B={len(self)}, got shape "
                f"{found.shape}."
            )
        rows, p = found.shape[-axes:-1], found.shape[-1]
        flat = found.reshape(*found.shape[:-axes], -1, p)
        outputs = network_outputs(flat, coefs, self._all.intercepts_)
        return outputs.reshape(len(self), *rows, -1)


def read_numbers(owner: str, name: str, value: Any) -> Array:
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
