"""Is this the model that was calibrated? A few contexts at which it is asked again.

Nothing but asking tells what a model predicts: it may have been trained again in place,
read a number from elsewhere, or keep its weights where Python cannot see them. Asking
is dear, though, and mostly because a call is, however few its rows. So probes ride
along: they are put behind the contexts that are decided, and the model is called once
for both.

What is promised: no certificate is handed out unless the model has predicted, in this
very call, what it predicted when it was calibrated, at a handful of the contexts of
that time; at more of them where many contexts are decided, and at all of them in the
first call. The handful goes round: after a few calls all have been asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..checks import Array
from ..conic.program import Indices
from ..deferred import sp
from ..loss_set.batch import Batch
from ..loss_set.source import SetSource
from ..predictions import (
    JointPrediction,
    LabelPrediction,
    Table,
    count_rows,
    is_frame,
    is_sparse,
    take_rows,
)
from .keys import UncertainKey

#: Calibration contexts that are kept, and how many a call asks at the least.
PROBES, HANDFUL = 50, 10
#: Difference that counts as a change, by the range of a column of predictions, and by
#: its size.
CHANGE, ROUNDING = 1e-6, 1e-9

#: For each key the numbers its model predicts; None for a set value.
Predicted = list[list[Array] | None]


@dataclass(eq=False)
class Riders:
    """Probes that ride along with one call.

    Attributes
    ----------
    rows : their numbers among all probes
    X : their covariates
    answers : key number -> the sets there
    """

    rows: Indices
    X: Any
    answers: dict[int, Batch] = field(default_factory=dict)
    _tried: set[int] = field(default_factory=set)

    def predict_set(self, number: int, source: SetSource, contexts: Table) -> Batch:
        """A source's sets at some contexts; the first time with the probes behind."""
        if number not in self._tried:
            self._tried.add(number)
            try:
                if type(contexts) is np.ndarray:
                    probes = np.asarray(self.X)
                    alike = probes.astype(contexts.dtype, casting="same_kind")
                    every = source.predict_set(np.concatenate([contexts, alike]))
                else:
                    every = source.predict_set(_joined(contexts, self.X))
                n = count_rows(contexts)
                batch, answers = every[:n], every[n:]
            except Exception:
                # The contexts alone may do, and what is amiss shows there.
                pass
            else:
                self.answers[number] = answers
                return batch
        return source.predict_set(contexts)


@dataclass(frozen=True, eq=False)
class Probes:
    """Contexts a policy was calibrated on, and what its models predicted there.

    Attributes
    ----------
    X : covariates of the contexts
    predictions : for each key what its model predicted there, or None
    """

    X: Any
    predictions: Predicted
    _turn: list[int] = field(default_factory=lambda: [0], repr=False)

    def riders(self, contexts: int) -> Riders:
        """Probes to ask along with so many contexts; at first all of them."""
        total = count_rows(self.X)
        count = min(total, max(HANDFUL, contexts) if self._turn[0] else total)
        chosen = np.take(self._order, self._turn[0] + np.arange(count), mode="wrap")
        self._turn[0] = (self._turn[0] + count) % total + total
        return Riders(chosen, take_rows(self.X, chosen))

    @cached_property
    def _order(self) -> Indices:
        """In which order they are asked."""
        return np.random.default_rng(0).permutation(count_rows(self.X))

    @cached_property
    def _slacks(self) -> list[list[Array] | None]:
        """For each key how far predictions may be off, by column of every block."""
        return [
            None if blocks is None else [_slack(block) for block in blocks]
            for blocks in self.predictions
        ]

    def stranger(
        self, keys: Sequence[UncertainKey], riders: Riders | None = None
    ) -> tuple[str, str] | None:
        """A key whose model is another, by name, and why; None if there is none.

        Parameters
        ----------
        riders : probes that were asked along with contexts; what they leave open is
            asked at all probes, as it was at first
        """
        for number, (key, before) in enumerate(
            zip(keys, self.predictions, strict=True)
        ):
            if before is None or self._rode(number, before, riders):
                continue
            try:
                assert key.predicted is not None
                after = numbers_of(key.predicted.predict_set(self.X, budget=1.0))
            except Exception as error:
                # Whatever the reason, the model does not do what it did.
                return key.name, f"fails where it was calibrated ({error!r:.200})"
            if not _are_close(before, after, self._slacks[number]):
                return key.name, "predicts something else"
        return None

    def _rode(self, number: int, before: list[Array], riders: Riders | None) -> bool:
        """Whether probes that rode along were answered as before."""
        if riders is None or number not in riders.answers:
            return False
        some = [block[riders.rows] for block in before]
        try:
            answers = numbers_of(riders.answers[number])
        except Exception:
            # Sets of the user's own that do not say what was predicted.
            return False
        return _are_close(some, answers, self._slacks[number])


def probe(keys: Sequence[UncertainKey], X: Table) -> Probes:
    """Keep a few of the contexts, from all over, and what the models predict there."""
    some = some_of(X)
    return Probes(
        some,
        [
            None
            if key.predicted is None
            else numbers_of(key.predicted.predict_set(some, budget=1.0))
            for key in keys
        ],
    )


def probe_if_possible(keys: Sequence[UncertainKey], X: Table | None) -> Probes | None:
    """The same where there are contexts, and all of them can be predicted."""
    try:
        return None if X is None else probe(keys, X)
    except Exception:
        # Whatever a model raises.
        return None


def some_of(X: Table) -> Any:
    """A few of the contexts, from all over."""
    last = count_rows(X) - 1
    return take_rows(X, np.unique(np.linspace(0, last, PROBES).astype(int)))


def numbers_of(batch: Batch) -> list[Array]:
    """The numbers of the predictions behind a batch, a row a context each."""
    numbers: list[Array] = []
    for part in batch.parts:
        prediction = part.prediction
        blocks = (
            prediction.parts
            if isinstance(prediction, JointPrediction)
            else (prediction,)
        )
        for block in blocks:
            if isinstance(block, LabelPrediction):
                numbers += [np.asarray(values, dtype=float) for values in block.values]
            elif not isinstance(block, JointPrediction):
                every = (block.location, block.scale, block.factor)
                rows = [np.asarray(b, dtype=float) for b in every if b is not None]
                numbers += [values.reshape(len(values), -1) for values in rows]
    return numbers


def _joined(contexts: Any, probes: Any) -> Any:
    """Contexts with probes behind them, of the contexts' own types; or ValueError."""
    if is_frame(contexts):
        import pandas as pd

        if list(contexts.columns) != list(probes.columns):
            raise ValueError("other columns")
        return pd.concat([contexts, probes.astype(contexts.dtypes)])
    if is_sparse(contexts):
        return sp.vstack([contexts, probes], format="csr", dtype=contexts.tocsr().dtype)
    array = np.asarray(contexts)
    alike = np.asarray(probes).astype(array.dtype, casting="same_kind")
    return np.concatenate([array, alike])


def _are_close(
    before: list[Array], after: list[Array], slacks: list[Array] | None
) -> bool:
    """Whether predictions differ by rounding only, whatever their unit."""
    return len(before) == len(after) and all(map(_close, before, after, slacks or ()))


def _slack(every: Array) -> Array:
    """How far each column may be off, by its range and size at all probes."""
    finite = np.isfinite(every)
    low = np.min(every, axis=0, initial=np.inf, where=finite)
    high = np.max(every, axis=0, initial=-np.inf, where=finite)
    size = np.max(np.abs(every), axis=0, initial=0.0, where=finite)
    return np.asarray(CHANGE * np.maximum(high - low, 0.0) + ROUNDING * size)


def _close(before: Array, after: Array, slack: Array) -> bool:
    if before.shape != after.shape:
        return False
    equal = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore"):
        return bool((equal | (np.abs(after - before) <= slack)).all())
