"""Conformal ellipsoids: residuals measured by their own covariance, split in two.

    { y : (y - f(X))' covariance^-1 (y - f(X)) <= budget }

(Johnstone & Cox 2021). The model and the covariance of its out-of-fold residuals come
from one part of the data, the budget from the other, so that the set is an ellipsoid
and the promise is exact. Their full conformal version trains the model anew for every
outcome that is tried; it is not done here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..guarantees import Certificate
from ..loss_set import LossSet
from ..loss_set.batch import Batch
from ..losses import Mahalanobis
from ..predictions import AnyPrediction, Table, take_rows
from .source import FittedSource, require_full_rank, split_rows


class ConformalEllipsoid(FittedSource):
    """Split conformal sets with the Mahalanobis distance of the residuals.

    Parameters
    ----------
    model : estimator, torch module, callable, or a list of these
    alpha : float in (0, 1)
    share : float in (0, 1), default 0.5
        Part of the rows that calibrate.
    random_state : int, default 0
        Seed of the split.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> Y = X + rng.normal(size=(400, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
    >>> sets = ConformalEllipsoid(LinearRegression(), alpha=0.1).fit(X, Y)
    >>> sets.certificate_.guarantee, sets.certificate_.sample_size
    ('Marginal', 200)
    """

    def __init__(
        self,
        model: object,
        alpha: float = 0.1,
        share: float = 0.5,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.share = share
        self.random_state = random_state

    def fit(self, X: Table, Y: Table) -> ConformalEllipsoid:
        """Train on one part of the rows, calibrate on the other."""
        vectors = self._learn_outcomes(X, Y)
        rows, held = split_rows(self, X, self.share, self.random_state)
        spread = np.atleast_2d(np.cov(vectors[rows].T, ddof=0))
        remedy = "Drop columns or add rows."
        require_full_rank("ConformalEllipsoid.fit(Y)", spread, remedy)
        inner = LossSet(self.model, loss=Mahalanobis())
        inner.fit(take_rows(X, rows), take_rows(Y, rows))
        inner.calibrate(take_rows(X, held), take_rows(Y, held), alpha=self.alpha)
        self.sets_, self.loss_ = inner, inner.loss_
        self.budget_ = inner.certificate_.budget
        self.certificate_: Certificate = inner.certificate_
        return self

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> Batch:  # type: ignore[override]
        """The ellipsoid at every row of X."""
        self._require_fitted("predict_set")
        batch: Batch = self.sets_.predict_set(X, budget)
        return batch

    def _say(self, X: Table) -> AnyPrediction:
        return self.sets_.predict_set(X).parts[0].prediction
