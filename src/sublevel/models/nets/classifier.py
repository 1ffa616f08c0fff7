"""A network for class probabilities: cross-entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ...checks import Array
from ...errors import InvalidParameter
from .base import NetworkEstimator
from .targets import Targets, labels

if TYPE_CHECKING:
    from .plans import Plan


class NetworkClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """A small network trained by cross-entropy.

    Parameters are those of `NetworkRegressor`. The validation rows are drawn class by
    class, so that the training rows have every class.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coefs_, intercepts_ : lists of arrays
        Two classes: one output, the log-odds of the second. More: one a class.
    n_epochs_ : int, over all starts
    validation_loss_ : float, mean cross-entropy at the validation rows

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> side = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    >>> network = NetworkClassifier(random_state=0).fit(X, side)
    >>> network.predict([[2.0, 2.0], [-2.0, 2.0]])
    array(['same', 'different'], dtype='<U9')
    """

    _several_outcomes = False

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row, shape (n,)."""
        return self._point(self._outputs(X))

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, shape (n, K), in the order of `classes_`."""
        return self._chances(self._outputs(X))

    def _chances(self, outputs: Array) -> Array:
        if len(self.classes_) > 2:
            chances: Array = softmax(outputs, axis=-1)
            return chances
        second = expit(outputs)
        return np.concatenate([expit(-outputs), second], axis=-1)

    def _point(self, outputs: Array) -> Any:
        return self.classes_[self._chances(outputs).argmax(axis=-1)]

    def _targets(self, X: Array, Y: Any) -> Targets:
        del X
        owner = type(self).__name__
        try:
            check_classification_targets(Y.ravel())
        except ValueError as error:
            raise InvalidParameter(f"{owner}.fit(y): {error}") from error
        return labels(owner, Y)

    def _plan(self, targets: Targets) -> Plan:
        from .plans import label_plan

        return label_plan(len(targets.classes))
