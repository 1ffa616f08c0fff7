"""The sets of many contexts, and which contexts have none.

A model may fail at one context (a missing covariate, a prediction that is not a number)
and is asked for many at once. One bad context is then found by halving, and the others
are decided.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import InvalidParameter
from ..modelling.sets_at import count_contexts, is_predicted, sets_of

#: Contexts that are tried, spread over all, before an error is taken for bad contexts.
PROBES = 100

_LOG = logging.getLogger(__name__)


@dataclass
class Sets:
    """The sets of a call of `decide`.

    Attributes
    ----------
    keys : uncertain parameters, as they share sets
    sources : for each key its LossSet, or a set value
    losses : for each key the losses it was compiled for, or None
    X : covariates, or predictions, of all contexts
    """

    keys: Any
    sources: list[Any]
    losses: list[Any]
    X: Any
    _hope: bool = field(default=False, repr=False)

    def at(self, rows: Any) -> list[Any]:
        """For each key its batch of sets at some rows, or None for a set value."""
        known = zip(self.keys, self.sources, self.losses, strict=True)
        return [
            sets_of(key, source, losses, self.X, rows) if is_predicted(source) else None
            for key, source, losses in known
        ]

    def where_possible(self, rows: Any) -> tuple[list[Any], Any]:
        """The batches at those rows that can be predicted, and these rows.

        If hardly any context can be, the error is the caller's or the model's, and is
        raised as it is.
        """
        try:
            return self.at(rows), rows
        except Exception as error:
            # Whatever a model raises.
            if not self._any_possible():
                raise
            good = self._halve(rows, error)
            return (self.at(good) if good.size else []), good

    def first(self) -> list[Any]:
        """The batches at some contexts, to see how wide predictions are."""
        if self.X is None:
            raise InvalidParameter(
                "Policy.save() must come after a first decide(X): how wide the blocks "
                "of a Combined loss are is known from its predictions only."
            )
        return self.where_possible(self._spread())[0]

    def _spread(self) -> Any:
        last = count_contexts(self.X) - 1
        return np.unique(np.linspace(0, last, PROBES).astype(int))

    def _any_possible(self) -> bool:
        if not self._hope:
            self._hope = any(self._failure([i]) is None for i in self._spread())
        return self._hope

    def _halve(self, rows: Any, error: Exception) -> Any:
        """The rows that can be predicted, of some that cannot all be."""
        if len(rows) == 1:
            _LOG.warning("context %d cannot be predicted: %s", rows[0], error)
            return rows[:0]
        found = []
        for half in np.array_split(rows, 2):
            failure = self._failure(half)
            found.append(half if failure is None else self._halve(half, failure))
        return np.concatenate(found)

    def _failure(self, rows: Any) -> Exception | None:
        try:
            self.at(np.asarray(rows))
        except Exception as error:
            return error
        return None
