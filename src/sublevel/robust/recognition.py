"""Whether what was calibrated is still what decides.

A policy's own certificate speaks of one decision rule: model, problem, solver and
fallback. What it depended on is written down when it is calibrated: ordinary parameters
by value, models by what they predict at a few of the calibration contexts, so that a
model trained again in place is noticed too.

Asking a model costs more than many a decision, so first its own numbers are looked at,
without asking it anything. It is asked again where they have changed, and once in a
while where many contexts are decided at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..checks import Array
from ..loss_set.batch import Batch
from ..predictions import JointPrediction, LabelPrediction, Table, count_rows, take_rows
from ..sets import UncertaintySet
from .keys import UncertainKey

#: Calibration contexts at which models are asked again.
PROBES = 50
#: From so many contexts on, asking the model at the probes costs next to nothing.
MANY = 20 * PROBES
#: Relative difference of predictions that counts as a change.
CHANGE = 1e-6
#: Numbers of an object that are looked at, at most, and of an array.
MOST_PARTS, MOST_NUMBERS = 2000, 1000


@dataclass(frozen=True, eq=False)
class Recognition:
    """What decisions depended on when they were certified.

    Attributes
    ----------
    how : engine and solver
    ordinary : name and value of each ordinary parameter
    values : for each key its set value, or None
    X : a few contexts, or None
    predictions : for each key what its model predicted there, or None
    """

    how: tuple[object, object]
    ordinary: list[tuple[str, Array | None]]
    values: list[UncertaintySet | None]
    X: Any
    predictions: list[list[Array] | None]
    _outlook: dict[int, int] = field(default_factory=dict, repr=False)

    def changed(
        self,
        how: tuple[object, object],
        ordinary: list[tuple[str, Array | None]],
        keys: Sequence[UncertainKey],
        contexts: int,
    ) -> str | None:
        """What is no longer as it was, in words; None if all is.

        Parameters
        ----------
        contexts : how many are to be decided
        """
        if how != self.how:
            return "engine or solver was changed"
        for (name, before), (_, now) in zip(self.ordinary, ordinary, strict=True):
            if not _equal(before, now):
                return f"the parameter {name!r} was given another value"
        if any(a is not b for a, b in zip(self.values, set_values(keys), strict=True)):
            return "a set value was replaced"
        for number, (key, before) in enumerate(
            zip(keys, self.predictions, strict=True)
        ):
            if before is not None and not self._same(number, key, before, contexts):
                return f"the model of {key.name!r} predicts something else"
        return None

    def _same(
        self, number: int, key: UncertainKey, before: list[Array], contexts: int
    ) -> bool:
        outlook = fingerprint(key.source)
        if contexts < MANY and self._outlook.get(number) == outlook:
            return True
        same = predicts_the_same(key, self.X, before)
        if same:
            self._outlook[number] = outlook
        return same


def recognise(
    how: tuple[object, object],
    ordinary: list[tuple[str, Array | None]],
    keys: Sequence[UncertainKey],
    X: Table | None,
) -> Recognition:
    """Write down what a policy's decisions depend on."""
    some = None if X is None else _some(X)
    predictions = [
        None
        if key.predicted is None
        else numbers_of(key.predicted.predict_set(some, budget=1.0))
        for key in keys
    ]
    written = Recognition(how, ordinary, set_values(keys), some, predictions)
    for number, key in enumerate(keys):
        written._outlook[number] = fingerprint(key.source)
    return written


def set_values(keys: Sequence[UncertainKey]) -> list[UncertaintySet | None]:
    """For each key its set value, or None."""
    sources = [key.source for key in keys]
    return [s if isinstance(s, UncertaintySet) else None for s in sources]


def predicts_the_same(key: UncertainKey, X: Table, before: list[Array]) -> bool:
    """Whether a key's model predicts at some contexts what it did before."""
    try:
        assert key.predicted is not None
        now = numbers_of(key.predicted.predict_set(X, budget=1.0))
    except Exception:
        # Whatever the reason, the model does not do what it did.
        return False
    return len(now) == len(before) and all(map(_close, before, now))


def numbers_of(batch: Batch) -> list[Array]:
    """The numbers of the predictions behind a batch."""
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
                every = (block.location, block.scale)
                numbers += [np.asarray(b, dtype=float) for b in every if b is not None]
    return numbers


def fingerprint(thing: object) -> int:
    """A number that changes, most likely, when anything inside an object does.

    Examples
    --------
    >>> class Model:
    ...     slope = 2.0
    >>> model = Model()
    >>> before = fingerprint(model)
    >>> model.slope = 3.0
    >>> fingerprint(model) == before
    False
    """
    return hash(tuple(_marks(thing, {}, 0)))


def _marks(thing: object, seen: dict[int, object], depth: int) -> Iterator[object]:
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
        yield thing
        return
    if id(thing) in seen or len(seen) > MOST_PARTS or depth > 12:
        yield id(thing)
        return
    # Kept, so that its id is not given to something else meanwhile.
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        yield id(thing)
        yield from _array_marks(thing)
    elif isinstance(thing, type | ModuleType | CodeType):
        yield id(thing)
    elif isinstance(thing, FunctionType | MethodType):
        yield from _function_marks(thing, seen, depth)
    elif isinstance(thing, dict):
        for name, value in list(thing.items()):
            yield str(name)
            yield from _marks(value, seen, depth + 1)
    elif isinstance(thing, list | tuple | set | frozenset):
        items = list(thing)
        yield tuple(map(id, items))
        step = max(1, len(items) // 20)
        for item in items[::step]:
            yield from _marks(item, seen, depth + 1)
    else:
        yield id(thing)
        # A tensor counts the changes made in place.
        yield getattr(thing, "_version", None)
        inner = getattr(thing, "__dict__", None)
        if isinstance(inner, dict):
            yield from _marks(inner, seen, depth + 1)


def _array_marks(array: np.ndarray[Any, Any]) -> Iterator[object]:
    yield array.shape
    if array.dtype.kind in "biufc":
        flat = array.ravel()
        yield flat[:: max(1, flat.size // MOST_NUMBERS)].tobytes()


def _function_marks(
    function: FunctionType | MethodType, seen: dict[int, object], depth: int
) -> Iterator[object]:
    if isinstance(function, MethodType):
        yield from _marks(function.__self__, seen, depth + 1)
        function = function.__func__  # type: ignore[assignment]
    yield id(function.__code__)
    for cell in function.__closure__ or ():
        yield from _marks(cell.cell_contents, seen, depth + 1)
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield from _marks(function.__globals__[name], seen, depth + 1)


def _some(X: Table) -> Any:
    """A few rows, from all over."""
    last = count_rows(X) - 1
    return take_rows(X, np.unique(np.linspace(0, last, PROBES).astype(int)))


def _equal(before: Array | None, now: Array | None) -> bool:
    if before is None or now is None:
        return before is now
    return np.array_equal(before, now)


def _close(one: Array, other: Array) -> bool:
    """Whether numbers differ by rounding only, whatever their unit."""
    if one.shape != other.shape:
        return False
    unit = np.abs(one[np.isfinite(one)]).max(initial=0.0)
    return np.allclose(one, other, rtol=CHANGE, atol=CHANGE * unit, equal_nan=True)
