"""A trained model and its loss: where predictions meet outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from ..checks import Array, as_numbers, briefly
from ..errors import InvalidParameter
from ..guarantees import Guarantee
from ..guarantees.faces import takes_components
from ..losses import Loss, Squared
from ..predictions import (
    AnyPrediction,
    Model,
    Outcomes,
    Table,
    align,
    column_names,
    count_rows,
    frame_columns,
    index_of,
    outcomes_of,
    predict,
    require_aligned,
    unseen_components,
)
from .batch import SetBatch


@dataclass(frozen=True, eq=False)
class Scorer:
    """From contexts and outcomes to scores.

    Parameters
    ----------
    model : a model that can predict
    loss : Loss without open parameters
    columns : names of Y's columns, where they have any
    outcomes : Outcomes, optional
        What to speak of, where it has classes the model may not know.
    """

    model: Model
    loss: Loss
    columns: tuple[str, ...] | None = None
    outcomes: Outcomes | None = None

    def say(self, X: Table) -> tuple[AnyPrediction, Outcomes]:
        """The prediction at every row of X, and the outcomes it speaks of."""
        prediction = predict(self.model, X, self.loss.needs)
        self.loss.check(prediction)
        own = outcomes_of(self.model, prediction)
        if self.outcomes is not None:
            return align(prediction, own, self.outcomes), self.outcomes
        if self.columns is not None:
            own = replace(own, column_names=self.columns)
        return prediction, own

    def meet(
        self, X: Table, Y: Table, owner: str
    ) -> tuple[AnyPrediction, Outcomes, Array]:
        """Predictions, outcomes and outcome vectors, row by row."""
        require_as_many_rows(X, Y, owner)
        prediction, outcomes = self.say(X)
        return prediction, outcomes, outcomes.encode(Y, owner)

    def score(self, X: Table, Y: Table, owner: str) -> Array:
        """The loss of each outcome, shape (n,).

        inf for a class of `outcomes` the model does not know: it is outside every set.
        """
        require_as_many_rows(X, Y, owner)
        prediction, own = replace(self, outcomes=None).say(X)
        outcomes = self.outcomes or own
        vectors = outcomes.encode(Y, owner)
        scores = self.loss.score(align(prediction, own, outcomes), vectors)
        unseen = unseen_components(own, outcomes)
        return np.where(vectors @ unseen > 0, np.inf, scores)

    def batch(self, X: Table, budgets: Array, names: tuple[str, ...] = ()) -> SetBatch:
        """The sublevel sets at every row of X."""
        prediction, outcomes = self.say(X)
        index = None if type(X) is np.ndarray else index_of(X)
        loss = self.loss.settled(prediction)
        return SetBatch(loss, prediction, budgets, outcomes, names, index)


@dataclass(frozen=True, eq=False)
class Scored:
    """Calibration outcomes, scored by models that have not seen them.

    Parameters
    ----------
    scorers : one, or one a fold: the union of their sets is calibrated
    scores : array of shape (n,)
    names : names of the components of an outcome vector
    """

    scorers: tuple[Scorer, ...]
    scores: Array
    names: tuple[str, ...]


def score_held_out(scorer: Scorer, X: Table, Y: Table, owner: str) -> Scored:
    """Scores of data set aside; a DataFrame's column names are kept."""
    prediction, outcomes, vectors = scorer.meet(X, Y, owner)
    scores = np.asarray(scorer.loss.score(prediction, vectors))
    named = replace(scorer, columns=scorer.columns or frame_columns(Y))
    names = outcomes.names(list(scorer.columns or column_names(Y)))
    return Scored((named,), scores, names)


def handed_to(promise: Guarantee, scored: Scored, X: Table, Y: Table) -> Array:
    """What a guarantee calibrates on: the scores, or the losses by component."""
    if not takes_components(promise):
        return scored.scores
    scorer = scored.scorers[0]
    if len(scored.scorers) > 1 or not isinstance(scorer.loss, Squared):
        raise InvalidParameter(
            f"{type(promise).__name__} must be used with the squared or the gaussian "
            f"loss, whose sets are balls in the 2-norm, got "
            f"{type(scorer.loss).__name__}. Use Marginal or PAC."
        )
    prediction, _, vectors = scorer.meet(X, Y, "LossSet.calibrate")
    return np.asarray(scorer.loss.components(prediction, vectors))


def half_width(scorer: Scorer, X: Table, Y: Table, owner: str) -> float:
    """Mean half-width of sets that hold 90 % of the outcomes given."""
    prediction, outcomes, vectors = scorer.meet(X, Y, owner)
    level = np.quantile(scorer.loss.score(prediction, vectors), 0.9, method="higher")
    budgets = np.full(len(vectors), level)
    return mean_width(SetBatch(scorer.loss, prediction, budgets, outcomes, ()), vectors)


def read_budgets(budget: npt.ArrayLike, n: int) -> Array:
    """A budget for each of n rows, from one number or n of them, shape (n,).

    Examples
    --------
    >>> read_budgets(2, 3)
    array([2., 2., 2.])
    """
    levels = as_numbers("LossSet.predict_set", "budget", budget)
    if np.isnan(levels).any() or levels.shape not in ((), (n,)):
        got = briefly(budget) if levels.ndim == 0 else f"shape {levels.shape}"
        if levels.shape == (n,) and np.isnan(levels).any():
            got = f"nan in row {int(np.argmax(np.isnan(levels)))}"
        raise InvalidParameter(
            "LossSet.predict_set(budget=...) must be a number or one for each of the "
            f"{n} rows of X, got {got}."
        )
    return np.array(np.broadcast_to(levels, n))


def require_as_many_rows(X: Table, Y: Table, owner: str) -> None:
    """Every context has its outcome."""
    contexts, outcomes = count_rows(X), count_rows(Y)
    if contexts != outcomes:
        raise InvalidParameter(
            f"{owner}: X and Y must have as many rows, got {contexts} and {outcomes}."
        )
    require_aligned(Y, X, owner, "Y")


class Widths(Protocol):
    """Sets of n contexts, as `mean_width` asks for them."""

    @property
    def loss(self) -> Loss: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice, /) -> Self: ...
    def support(self, directions: Array, /) -> Array: ...


def mean_width(
    batch: Widths, outcomes: Array, contexts: int = 64, count: int = 16
) -> float:
    """Mean half-width of the sets over random directions, in deviations of the outcome.

    The half-width along v is (support(v) + support(-v)) / 2: what protecting a linear
    constraint with coefficients v costs. Directions are normal with a fixed seed,
    divided by each component's standard deviation.

    Parameters
    ----------
    batch : sets of n contexts
    outcomes : array of shape (n, m) that gives each component its unit
    contexts, count : how many contexts and directions to average over
    """
    spread = outcomes.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(count, outcomes.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True) * unit
    if not batch.loss.closed_form:
        # Each of these supports is a conic solve.
        contexts = max(1, contexts // 8)
    chosen = batch[:: max(1, len(batch) // contexts)][:contexts]
    widths = [(chosen.support(v) + chosen.support(-v)) / 2 for v in directions]
    return float(np.mean(widths))
