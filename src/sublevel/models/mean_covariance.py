"""MeanCovarianceRegressor: a mean and a covariance from any two regressors.

The covariance at a context is spread x correlation x spread: how large errors are
there, and which go together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..caller import warn_caller
from ..checks import Array, briefly, is_number, require_level
from ..errors import InvalidParameter, NoErrors
from ..predictions import Table
from .correlation import KINDS, Correlation, learn_correlation
from .joint_powers import BY
from .learners import (
    GivenModel,
    Learner,
    predicts_many,
    require_regressor,
    tags_of,
)
from .line_then_trees import default_mean
from .log_spread import LogSpread, learn_columns, learn_log_spread, predict_columns
from .mean_variance import outcomes_of, require_table, with_shape
from .resolution import RESOLUTION, least_spreads
from .rows import RandomState, Regressor, Rows, Seed, Splits, as_seed, partition

_OWNER = "MeanCovarianceRegressor"


class MeanCovarianceRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A mean and a covariance of all outputs for every row, from two regressors.

    The mean model is fitted first. From its out-of-fold residuals the spread model
    learns log |residual|; from the residuals in units of this spread come the
    correlations, shrunk. How far the spread is believed is settled by the likelihood of
    whole rows out of fold, correlations included, and a constant covariance is one of
    the answers (`power`). With `loss="gaussian"` a LossSet makes ellipsoids of it that
    grow and turn with X.

    Parameters
    ----------
    mean : regressor, optional
        If it takes several outputs it is fitted once on all, else once an output. By
        default a ridge line and boosted trees on what the line leaves, tuned out of
        fold.
    spread : regressor, optional
        Learns log |residual|, so that any regressor will do; fitted as the mean is. By
        default extremely randomised trees. A DummyRegressor() makes it constant.
    correlation : {"constant", "low-rank", "local"}, default "constant"
        "constant": the same at all contexts, shrunk (Ledoit & Wolf 2004). "low-rank":
        the same, of a few common factors, as many as predict held-out residuals best,
        if that is better than shrinking: for outputs that are many beside the rows.
        "local": the better of these, drawn to that of like contexts, in all or in a few
        directions, as far as this predicts held-out residuals better; X must be
        numbers.
    trust : float in [0, 1], default 1.0
        How much of the spread's ups and downs is used: spreads are raised to this
        power, around a constant. At 1 all contexts are covered equally often; below it
        noisy ones less often than calm ones, for sets that are narrower on average.
        `sl.choose` tells what decisions gain from it.
    power : {"rows", "outputs"}, default "rows"
        Whose likelihood says how far the spread is believed. "rows": whole rows,
        correlations included, which describes the errors best. "outputs": that of each
        output by itself, which may certify more where decisions look at sums of
        outputs. `sl.choose` tells.
    cv : int, splitter or list of splits, default 5
        The folds. Each row is held out exactly once; a number means shuffled folds.
    floor : float in (0, 1), default 1e-2
        The smallest residual that is told from none, in root mean squares. No spread is
        below 1.5e-8 of the root mean square of the output itself, half of its digits:
        an output with a large offset is best given without.
    random_state : int, RandomState, Generator or None, default 0
        Shuffles the folds, and seeds what stands for `spread=None`.

    Attributes
    ----------
    means_ : list of fitted mean models, one for all outputs or one an output
    spreads_ : list of fitted spread models, likewise
    powers_ : array of shape (2,): how far the spread model is believed in what the
        outputs of a row share, and in what is each output's own: 1 trusts it, 0 makes
        the spread constant; with `trust`, if less than 1
    correlation_ : array of shape (m, m), the constant part of the correlation
    n_features_in_, feature_names_in_ : what X looks like

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 2))
    >>> noise = rng.normal(size=(400, 1)) + 0.5 * rng.normal(size=(400, 3))
    >>> Y = X[:, :1] + np.exp(X[:, 1:]) * noise
    >>> model = MeanCovarianceRegressor(Ridge()).fit(X, Y)
    >>> mean, factor = model.predict([[0.0, -1.0], [0.0, 1.0]], return_factor=True)
    >>> covariance = factor @ factor.swapaxes(1, 2)
    >>> mean.shape, covariance.shape, bool(covariance[1, 0, 1] > covariance[0, 0, 1])
    ((2, 3), (2, 3, 3), True)
    """

    def __init__(
        self,
        mean: Regressor | None = None,
        spread: Regressor | None = None,
        correlation: str = "constant",
        *,
        trust: float = 1.0,
        power: str = "rows",
        cv: Splits = 5,
        floor: float = 1e-2,
        random_state: RandomState = 0,
    ) -> None:
        self.mean = mean
        self.spread = spread
        self.correlation = correlation
        self.trust = trust
        self.power = power
        self.cv = cv
        self.floor = floor
        self.random_state = random_state

    def fit(self, X: Table, y: Table) -> MeanCovarianceRegressor:
        """Fit mean, spread and correlation.

        Parameters
        ----------
        X : covariates of n rows, handed to both models as they come
        y : array of shape (n,) or (n, m)
        """
        require_level(_OWNER, floor=self.floor)
        self._require_kind()
        if not (is_number(self.trust) and 0 <= self.trust <= 1):
            raise InvalidParameter(
                f"{_OWNER}(trust=...) must be from 0 to 1, got {briefly(self.trust)}."
            )
        if self.power not in BY:
            raise InvalidParameter(
                f"{_OWNER}(power=...) must be one of {list(BY)}, got "
                f"{briefly(self.power)}."
            )
        seed = as_seed(_OWNER, self.random_state)
        mean, spread = self._learners(seed)
        Y = outcomes_of(_OWNER, X, y)
        folds = partition(self.cv, X, Y, seed, _OWNER)
        validate_data(self, X, skip_check_array=True)
        rows = Rows(with_shape(X), None, folds)
        models, held_out = learn_columns(*mean, rows, Y)
        residuals = Y - held_out
        least = least_spreads(Y)
        _warn_if_exact(residuals, least)
        learner, together = spread
        learned, logs = learn_log_spread(
            learner, together, rows, residuals, least, self.floor, self.power
        )
        both = self._both(rows, residuals, learned.trusted(self.trust), logs, seed)
        self._spread, self._correlation = both
        self.means_, self.spreads_ = list(models), list(self._spread.models)
        self.powers_ = np.array(self._spread.powers.both)
        self.correlation_ = self._correlation.matrix
        return self

    def predict(
        self, X: Table, return_std: bool = False, return_factor: bool = False
    ) -> Any:
        """Predicted means and, if asked, what the covariance is made of.

        Parameters
        ----------
        X : covariates of n rows
        return_std : bool, default False
        return_factor : bool, default False

        Returns
        -------
        mean : array of shape (n,), or (n, m) for m > 1 outputs
        std : array of the same shape, only if return_std; always positive
        factor : array of shape (n, m, m), only if return_factor
            Lower triangular; the covariance of row i is factor[i] @ factor[i].T.
        """
        check_is_fitted(self)
        require_table(_OWNER, X)
        validate_data(self, X, reset=False, skip_check_array=True)
        X = with_shape(X)
        width = len(self._spread.units)
        mean = predict_columns(tuple(self.means_), X, width)
        answers = [mean[:, 0] if width == 1 else mean]
        if return_std or return_factor:
            std = self._spread(X)
        if return_std:
            answers.append(std[:, 0] if width == 1 else std)
        if return_factor:
            answers.append(std[:, :, None] * self._correlation.factors(X))
        return answers[0] if len(answers) == 1 else tuple(answers)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        inner = [tags_of(m) for m in (self.mean, self.spread) if m is not None]
        asked = [tag.input_tags for tag in inner if tag is not None]
        local = self.correlation == "local"
        tags.input_tags.sparse = (
            not local and len(asked) == 2 and all(tag.sparse for tag in asked)
        )
        tags.input_tags.allow_nan = not local and all(tag.allow_nan for tag in asked)
        return tags

    def _both(
        self,
        rows: Rows,
        residuals: Array,
        spread: LogSpread,
        logs: Array,
        seed: Seed,
    ) -> tuple[LogSpread, Correlation]:
        """Spread and correlation: this spread, or a constant one if rows prefer it."""
        spreads = [spread]
        if any(spread.powers.both) and self.correlation != "constant":
            # Powers were chosen with the constant correlation; this kind may want none.
            spreads.append(spread.trusted(0.0))
        tried = []
        for each in spreads:
            # In units of the spreads that will be used: with less trust other errors
            # count most, and a trust of 0 must be the constant covariance.
            std = each.of(logs)
            kind = self.correlation
            correlation, nats = learn_correlation(kind, rows, residuals / std, seed)
            nats += float(np.mean(np.sum(np.log(std), axis=1)))
            tried.append((nats, each, correlation))
        _, best, correlation = min(tried, key=lambda each: each[0])
        return best, correlation

    def _require_kind(self) -> None:
        if self.correlation not in KINDS:
            raise InvalidParameter(
                f"{_OWNER}(correlation=...) must be one of {list(KINDS)}, got "
                f"{briefly(self.correlation)}."
            )

    def _learners(self, seed: Seed) -> list[tuple[Learner, bool]]:
        """How mean and spread are learned, and whether of all outputs at once."""
        require_regressor(_OWNER, mean=self.mean, spread=self.spread)
        spread = self.spread
        if spread is None:
            spread = ExtraTreesRegressor(200, min_samples_leaf=10, random_state=seed)
        mean: tuple[Learner, bool] = (default_mean(seed), False)
        if self.mean is not None:
            mean = (GivenModel(self.mean), predicts_many(self.mean))
        return [mean, (GivenModel(spread), predicts_many(spread))]


def _warn_if_exact(residuals: Array, least: Array) -> None:
    """Without any errors there is no covariance, only a floor."""
    if (np.sqrt(np.mean(residuals**2, axis=0)) <= least).all():
        warn_caller(
            f"{_OWNER}.fit: the mean predicts all outputs exactly, which leaves no "
            "errors to learn a covariance from. Spreads will be "
            f"{RESOLUTION:.1e} of the size of each output. Check whether y varies, and "
            "whether X contains it.",
            NoErrors,
        )
