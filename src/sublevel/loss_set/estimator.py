"""LossSet: the estimator where a model, its loss and a guarantee meet."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy.typing as npt
from sklearn import get_config
from sklearn.utils import estimator_html_repr

from .. import guarantees, losses
from ..checks import Array, require_level
from ..errors import InvalidParameter, NotCalibrated
from ..guarantees import Calibrated, Certificate, CrossFitting, Guarantee
from ..guarantees.in_time import with_times
from ..losses import Loss
from ..predictions import (
    Model,
    Table,
    as_model,
    count_rows,
    is_fitted,
    name_of,
    predict_point,
)
from ..tables import html_table
from .batch import Batch, UnionBatch
from .fitting import ready, require_crossable, score_crossed, some_rows, train
from .marks import Hashes, mark_rows, refuse_seen
from .scorer import (
    Scored,
    Scorer,
    half_width,
    handed_to,
    read_budgets,
    score_held_out,
)
from .wrapper import ModelWrapper, copy_description

if TYPE_CHECKING:
    from .source import SetSource

#: What `calibrate` learns; a newly fitted model voids it.
CALIBRATED = (
    "calibration_",
    "budget_",
    "radius_",
    "certificate_",
    "scores_",
    "names_",
    "alpha_",
    "guarantee_",
    "_scorers",
    "_calibrated",
)
#: Calibration rows that are marked, so that `diagnose` knows them again.
MOST_MARKED = 1_000_000


#: A loss by name, as an object, or as a function of (y, location) to an expression.
LossLike: TypeAlias = str | Loss | Callable[[Any, Any], Any]
#: A guarantee by name, or as an object.
Promise: TypeAlias = str | Guarantee


class LossSet(ModelWrapper):
    """Calibrated uncertainty sets from any model and its loss.

    The set at covariates X holds the outcomes whose loss, given the model's
    prediction, is at most a budget; the budget is calibrated on data so that the next
    outcome falls outside with probability at most alpha (Bertsimas & Boucher).

    Parameters
    ----------
    model : estimator, torch module, callable, or a list of these
        A list holds one model a column of Y (see ModelBlocks for wider blocks), or,
        for loss="interval", a lower and an upper quantile model. A callable or torch
        module maps X to predictions, or to (location, scale), or (lower, upper).
    loss : str, loss object or callable, default "squared"
        A name in `sl.losses.NAMES`, a loss, or a function of (y, location) that
        returns a convex CVXPY expression.

    Attributes
    ----------
    model_, loss_ : the fitted model and the loss with its learned parameters
    budget_ : float, or dict by group: the loss level
    radius_ : float, or dict by group, or None: norm radius where the loss is a norm
    certificate_ : Certificate: what is promised, and under which assumptions
    scores_ : array of shape (n_calibration,): the calibration losses

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> Y = X[:, :2] + 0.1 * rng.normal(size=(600, 2))
    >>> sets = LossSet(LinearRegression()).fit(X[:300], Y[:300])
    >>> batch = sets.calibrate(X[300:], Y[300:], alpha=0.1).predict_set(X[:5])
    >>> len(batch), batch[0].dim, bool(sets.radius_ < 0.3)
    (5, 2, True)
    """

    # As everywhere in scikit-learn, what is learned is absent until it has been.
    calibration_: Calibrated
    # A Mondrian promise has a budget a group, so these are unions: what is a number
    # for every other promise is not written down as one for all.
    model_: Model
    loss_: Loss
    budget_: float | dict[Hashable, float]
    radius_: float | dict[Hashable, float | None] | None
    certificate_: Certificate
    scores_: Array
    names_: tuple[str, ...]
    alpha_: float
    guarantee_: Guarantee

    #: What `fit` trained, and marks of the rows it trained and calibrated on.
    _trained: Scorer | None = None
    _scorers: tuple[Scorer, ...] = ()
    _seen: Hashes | None = None
    _calibrated: Hashes | None = None
    #: Some of the rows it was trained on.
    _sample: tuple[Any, Any] | None = None

    def __init__(self, model: object, loss: LossLike = "squared") -> None:
        self.model = model
        self.loss = loss

    def fit(self, X: Table, y: Table) -> Self:
        """Train the model; a fitted one (or a FrozenEstimator) is left alone.

        Open parameters of the loss (Combined weights, a Mahalanobis covariance) are
        set here: from out-of-fold predictions if the model is trained here, from
        predictions on X otherwise.

        Parameters
        ----------
        X : covariates, handed to the model as they come
        y : array or DataFrame of shape (n,) or (n, m): numbers, or labels
        """
        loss = losses.get(self.loss)
        model = as_model(self.model, loss.needs)
        trained = train(model, loss, X, y)
        used = loss.is_open or not is_fitted(model)
        for name in CALIBRATED:
            self.__dict__.pop(name, None)
        self._trained, self._seen = trained, mark_rows(X, y) if used else None
        self._sample = some_rows(X, y) if used else None
        self.model_, self.loss_ = trained.model, trained.loss
        copy_description(self, self.model_)
        return self

    def calibrate(
        self, X: Table, Y: Table, alpha: float = 0.1, guarantee: Promise = "marginal"
    ) -> Self:
        """Choose the budget so that outcomes fall outside with probability <= alpha.

        The LossSet itself is calibrated and returned, as scikit-learn's `fit` does: no
        copy. `Policy.calibrate` does the same; `Policy.at` returns a copy.

        Parameters
        ----------
        X, Y : data that played no part in training the model or choosing the loss
        alpha : float in (0, 1), the violation level
        guarantee : "marginal", "pac", or an object of `sl.guarantees` or of your own
            CVPlus, or any with `count_folds`, trains the model itself, on X and Y.
        """
        require_level("LossSet.calibrate", alpha=alpha)
        promise = guarantees.get(guarantee)
        scored = (
            self._cross(X, Y, promise)
            if isinstance(promise, CrossFitting)
            else self._hold_out(X, Y)
        )
        calibration = promise.calibrate(handed_to(promise, scored, X, Y), alpha, X)
        self.calibration_, self._scorers = calibration, scored.scorers
        few = len(scored.scores) <= MOST_MARKED
        self._calibrated = mark_rows(X, Y) if few else None
        self.scores_, self.names_ = scored.scores, scored.names
        settled = self._scorer()
        self.model_, self.loss_ = settled.model, settled.loss
        self.alpha_, self.guarantee_ = alpha, promise
        budget = calibration.budget
        self.budget_ = dict(budget) if isinstance(budget, Mapping) else budget
        self.certificate_ = with_times(calibration.certificate, X)
        self.radius_ = _radius(self.loss_, calibration.budget)
        return self

    def scores(self, X: Table, Y: Table) -> Array:
        """Loss of each outcome given the model's prediction, shape (n,)."""
        return self._scorer().score(X, Y, "LossSet.scores")

    def training_scores(self) -> Array | None:
        """Loss of some of the rows `fit` learned from, at most 500; None without any.

        The model has seen their outcomes, so they are smaller than those of others:
        good enough to say of what size losses are.
        """
        if self._sample is None:
            return None
        return self.scores(*self._sample)

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> Batch:
        """The uncertainty set at every row of X, as a sequence of set values.

        Parameters
        ----------
        X : covariates of n contexts
        budget : float or array of shape (n,), optional
            Overrides the calibrated budget; the certificate does not speak of it.
        """
        calibrated = "calibration_" in vars(self)
        if budget is None and not calibrated:
            raise NotCalibrated(
                "LossSet.predict_set() needs a budget: call calibrate(X_cal, Y_cal, "
                "alpha=0.1) first, of the LossSet or of the policy that uses it, on "
                "data the model was not trained on."
            )
        n, names = count_rows(X), self.names_ if calibrated else ()
        if budget is None:
            budgets = self.calibration_.at(X, n)
        else:
            budgets = read_budgets(budget, n)
        parts, scorers = [], self._scorers or (self._trained or self._scorer(),)
        try:
            for scorer in scorers:
                parts.append(scorer.batch(X, budgets, names))
        except (IndexError, TypeError, ValueError) as error:
            if n:
                raise
            raise InvalidParameter(
                "LossSet.predict_set(X) must have at least 1 row for "
                f"{type(scorers[0].model).__name__}, got 0: it cannot predict on "
                f"none ({error}). Skip the call where X is empty."
            ) from error
        return parts[0] if len(parts) == 1 else UnionBatch(tuple(parts))

    @property
    def is_calibrated(self) -> bool:
        """Whether there is a budget of its own."""
        return "calibration_" in vars(self)

    @property
    def training_marks(self) -> Hashes | None:
        """Marks of the rows `fit` learned from; None where it learned from none."""
        return self._seen

    @property
    def calibration_marks(self) -> Hashes | None:
        """Marks of the rows `calibrate` used; None where they were too many to keep."""
        return self._calibrated

    @property
    def losses_(self) -> tuple[Loss, ...]:
        """The loss of each batch `predict_set` unites: one, or one a fold of CV+."""
        return tuple(scorer.loss for scorer in self._scorers or (self._scorer(),))

    def predict(self, X: Table) -> Any:
        """The model's point prediction: numbers, or the likeliest labels."""
        scorer = self._scorer()
        return predict_point(scorer.model, X, scorer.loss.needs)

    def score(self, X: Table, y: Table) -> float:
        """Minus the mean half-width of 90 % sets, in standard deviations of y.

        Comparable across models and losses, so GridSearchCV can choose both: the
        budget is the 90 % quantile of the losses on (X, y), and the half-width is
        averaged over contexts and random directions.
        """
        return -half_width(self._scorer(), X, y, "LossSet.score")

    def _hold_out(self, X: Table, Y: Table) -> Scored:
        """Scores of data set aside, by the model of `fit` or one fitted elsewhere."""
        trained = self._trained or ready(self.model, self.loss)
        refuse_seen(self._seen, X, Y)
        return score_held_out(trained, X, Y, "LossSet.calibrate")

    def _cross(self, X: Table, Y: Table, promise: CrossFitting) -> Scored:
        """Out-of-fold scores; `predict` speaks for a model trained on all rows."""
        loss = losses.get(self.loss)
        model = as_model(self.model, loss.needs)
        require_crossable(model, X, Y, promise)
        self.fit(X, Y)
        full = self._scorer()
        return score_crossed(full, model, loss, X, Y, promise)

    def _scorer(self) -> Scorer:
        """What `calibrate` or `fit` settled on; else the model as given, if fitted."""
        if len(self._scorers) == 1:
            return self._scorers[0]
        return self._trained or ready(self.model, self.loss)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not self.is_calibrated:
            return str(super().__repr__(N_CHAR_MAX))
        return f"LossSet({', '.join(f'{n} {v}' for n, v in self._facts())})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """What notebooks ask for; releases of scikit-learn fill it differently."""
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle

    def _html_repr(self) -> str:
        """What scikit-learn shows of an estimator in a notebook."""
        if not self.is_calibrated:
            return str(estimator_html_repr(self))
        return html_table("LossSet", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """What matters of calibrated sets, by name."""
        budgets = self.budget_
        if isinstance(budgets, dict):
            low, high = min(budgets.values()), max(budgets.values())
            budget = f"{low:.4g} to {high:.4g} in {len(budgets)} groups"
        else:
            budget = f"{budgets:.4g}"
        promise = self.certificate_
        return [
            ("model", name_of(self.model_)),
            ("loss", type(self.loss_).__name__),
            ("budget", budget),
            ("alpha", f"{self.alpha_:g}"),
            ("promise", f"{promise.guarantee} from {promise.sample_size} scores"),
        ]


def _radius(
    loss: Loss, budget: float | Mapping[Hashable, float]
) -> float | dict[Hashable, float | None] | None:
    """Norm radius at a budget, or at each group's."""
    if isinstance(budget, Mapping):
        return {group: loss.radius(level) for group, level in budget.items()}
    return loss.radius(budget)


if TYPE_CHECKING:

    def _gives_sets(sets: LossSet) -> SetSource:
        """A type checker sees here that a LossSet is a SetSource."""
        return sets
