"""MeanVarianceRegressor: a mean and a spread from any two regressors.

Together they minimise the loss of Nix and Weigend (1994), r^2 / s + log s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from ..checks import (
    Array,
    as_numbers,
    as_vector,
    is_whole,
    require_level,
    require_nonnegative,
    require_sized,
)
from ..errors import InvalidParameter
from ..predictions import Table
from .alternating import Alternation
from .learners import GivenModel, predicts_many, require_regressor, tags_of
from .line_then_trees import default_mean, default_variance
from .rows import RandomState, Regressor, Rows, Seed, Splits, as_seed, partition

_OWNER = "MeanVarianceRegressor"


class MeanVarianceRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A mean and a standard deviation for every row, from two regressors.

    The mean model is fitted first. The squares of its out-of-fold residuals are what
    the variance model learns: with the mean held fixed, the Gaussian likelihood is a
    gamma likelihood of these squares (Nix & Weigend 1994). Then the mean may be fitted
    again, each row weighted by 1 / variance, and the variance after it, for as long as
    the out-of-fold likelihood improves.

    The variance is tempered: level and power of what the variance model says are
    set on out-of-fold predictions, so a model that overfits is pulled towards a
    constant variance.

    Parameters
    ----------
    mean : regressor, optional
        If it takes several outputs it is fitted once on all, else once an output. By
        default a ridge line and boosted trees on what the line leaves, both tuned out
        of fold.
    variance : regressor of positive targets, optional
        Best with a gamma loss: HistGradientBoostingRegressor(loss="gamma"),
        GammaRegressor(), LGBMRegressor(objective="gamma"). Fitted once an output. By
        default as the mean, with a gamma loss, and with the predicted mean as a
        further column: noise often grows with the mean.
    cv : int, splitter or list of splits, default 5
        The folds. Each row is held out exactly once; a number means shuffled folds.
    max_refits : int, default 1
        Most weighted refits of the mean. Without effect where the mean model takes no
        weights. A model fitted on several outputs is weighted by their average.
    tol : float, default 1e-3
        A refit must improve the out-of-fold likelihood by more than this, in nats an
        outcome, to be kept and followed by another.
    floor : float in (0, 1), default 1e-4
        The smallest variance, relative to the mean squared out-of-fold residual. No
        spread is below 1.5e-8 of the root mean square of the output itself, half of its
        digits: an output with a large offset is best given without.
    random_state : int, RandomState, Generator or None, default 0
        Shuffles the folds, and seeds the default models.

    Attributes
    ----------
    means_ : list of fitted mean models, one for all outputs or one an output
    variances_ : list of fitted variance models, one an output
        They predict squared residuals in units of their mean, before tempering.
    powers_ : array of shape (m,): 1 trusts the variance model, 0 makes it constant
    floors_ : array of shape (m,): the smallest variances, in squared units of y
    losses_ : list of tuples, one a mean model: the out-of-fold loss, in nats an
        outcome less log(2 pi) / 2, of the fit and of every refit tried
    n_refits_ : list of int, one a mean model: the refits kept
    n_features_in_, feature_names_in_ : what X looks like

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 1))
    >>> y = X[:, 0] + np.exp(X[:, 0]) * rng.normal(size=400)
    >>> model = MeanVarianceRegressor().fit(X, y)
    >>> mean, std = model.predict([[-1.0], [1.0]], return_std=True)
    >>> mean.shape, bool(std[0] < 0.6), bool(std[1] > 2)
    ((2,), True, True)
    """

    def __init__(
        self,
        mean: Regressor | None = None,
        variance: Regressor | None = None,
        *,
        cv: Splits = 5,
        max_refits: int = 1,
        tol: float = 1e-3,
        floor: float = 1e-4,
        random_state: RandomState = 0,
    ) -> None:
        self.mean = mean
        self.variance = variance
        self.cv = cv
        self.max_refits = max_refits
        self.tol = tol
        self.floor = floor
        self.random_state = random_state

    def fit(
        self, X: Table, y: Table, sample_weight: npt.ArrayLike | None = None
    ) -> MeanVarianceRegressor:
        """Fit mean and variance.

        Parameters
        ----------
        X : covariates of n rows, handed to both models as they come
        y : array of shape (n,) or (n, m)
        sample_weight : array of shape (n,), optional
            How much each row counts; both models must take weights.
        """
        seed = as_seed(_OWNER, self.random_state)
        turns = self._alternation(seed)
        self._require_dense(X)
        Y = outcomes_of(_OWNER, X, y)
        weight = _weights(sample_weight, turns, len(Y))
        folds = partition(self.cv, X, Y, seed)
        validate_data(self, X, skip_check_array=True)
        rows = Rows(with_shape(X), weight, folds)
        together = self.mean is not None and predicts_many(self.mean)
        blocks = [Y] if together else np.split(Y, Y.shape[1], axis=1)
        self._pairs = [turns.fit(rows, block) for block in blocks]
        self._describe()
        return self

    def predict(self, X: Table, return_std: bool = False) -> Any:
        """Predicted means and, if asked, standard deviations.

        Parameters
        ----------
        X : covariates of n rows
        return_std : bool, default False

        Returns
        -------
        mean : array of shape (n,), or (n, m) for m > 1 outputs
        std : array of the same shape, only if return_std; always positive
        """
        check_is_fitted(self)
        require_table(_OWNER, X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if not return_std:
            return _side_by_side([pair.predict_mean(X) for pair in self._pairs])
        parts = [pair.predict(X) for pair in self._pairs]
        return tuple(_side_by_side(list(side)) for side in zip(*parts, strict=True))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        inner = [tags_of(m) for m in (self.mean, self.variance) if m is not None]
        asked = [tag.input_tags for tag in inner if tag is not None]
        # The defaults want dense columns and do not mind gaps.
        tags.input_tags.sparse = len(asked) == 2 and all(tag.sparse for tag in asked)
        tags.input_tags.allow_nan = all(tag.allow_nan for tag in asked)
        return tags

    def _alternation(self, seed: Seed) -> Alternation:
        require_level(_OWNER, floor=self.floor)
        require_nonnegative(_OWNER, tol=self.tol)
        if not is_whole(self.max_refits):
            raise InvalidParameter(
                f"{_OWNER}(max_refits=...) must be a whole number of at least 0, got "
                f"{self.max_refits!r}."
            )
        require_regressor(_OWNER, mean=self.mean, variance=self.variance)
        own = default_mean(seed), default_variance(seed)
        mean, variance = (
            default if given is None else GivenModel(given)
            for given, default in zip((self.mean, self.variance), own, strict=True)
        )
        return Alternation(mean, variance, self.floor, self.max_refits, self.tol)

    def _require_dense(self, X: Table) -> None:
        if issparse(X) and (self.mean is None or self.variance is None):
            raise InvalidParameter(
                f"{_OWNER} with a default model needs dense X, got a sparse matrix. "
                "Give mean=... and variance=... that take sparse X, or X.toarray()."
            )

    def _describe(self) -> None:
        spreads = [spread for pair in self._pairs for spread in pair.spreads]
        self.means_ = [pair.mean for pair in self._pairs]
        self.variances_ = [spread.model for spread in spreads]
        self.powers_ = np.array([spread.tempering.power for spread in spreads])
        self.floors_ = np.array([spread.floor for spread in spreads])
        self.losses_ = [pair.losses for pair in self._pairs]
        self.n_refits_ = [pair.n_refits for pair in self._pairs]


def outcomes_of(owner: str, X: Table, y: Table | None) -> Array:
    """Outcomes of shape (n, m)."""
    if y is None:
        raise InvalidParameter(
            f"{owner}.fit requires y to be passed, but the target y is None."
        )
    plain = y if issparse(y) else as_numbers(f"{owner}.fit", "y", y)
    values = check_array(plain, dtype=float, ensure_2d=False, input_name="y")
    require_sized(f"{owner}.fit", "y", values)
    check_consistent_length(X, values)
    return np.asarray(values.reshape(len(values), -1))


def _weights(
    sample_weight: npt.ArrayLike | None, turns: Alternation, n: int
) -> Array | None:
    """Weights of shape (n,), if both models take them."""
    if sample_weight is None:
        return None
    for name, learner in (("mean", turns.mean), ("variance", turns.variance)):
        if not learner.takes_weight:
            raise InvalidParameter(
                f"{_OWNER}.fit(sample_weight=...) needs models that take weights, "
                f"got {name}={learner}, whose fit does not. Use another model, or no "
                "weights."
            )
    weight = np.array(as_vector(f"{_OWNER}.fit", "sample_weight", sample_weight, n))
    if (weight < 0).any() or not weight.any():
        raise InvalidParameter(
            f"{_OWNER}.fit(sample_weight=...) must be at least 0 and not all zero, got "
            f"{weight.min()} to {weight.max()}."
        )
    return weight


def with_shape(X: Table) -> Any:
    """X as it came, or a list as an array."""
    return X if hasattr(X, "shape") else np.asarray(X)


def require_table(owner: str, X: Table) -> None:
    """X must have rows and columns."""
    shape = with_shape(X).shape
    if len(shape) == 1:
        raise InvalidParameter(
            f"{owner}.predict(X) must be of shape (n, p), got {shape}. Reshape "
            "your data: X.reshape(1, -1) for one row, X.reshape(-1, 1) for one column."
        )


def _side_by_side(parts: list[Array]) -> Array:
    """Columns together; a single one as a vector, as a Gaussian process gives it."""
    together = np.concatenate(parts, axis=1)
    return together[:, 0] if together.shape[1] == 1 else together
