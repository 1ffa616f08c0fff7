"""The outcome that a decision guards against, beside what was predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import Array


@dataclass(frozen=True, eq=False)
class WorstOutcome:
    """The worst outcome of one uncertain key at one context.

    Attributes
    ----------
    name : of the key
    entries : a name for each of its m entries
    predicted : shape (m,); nan where the set is a value, which predicts nothing
    worst : shape (m,), the outcome worst for the objective, or else for the binding
        constraint
    lower, upper : shape (m,), the ends of the set
    budget : of the set; nan where it is a value
    beyond : share of the calibration's outcomes that were further from their
        predictions, by the loss, than this set allows; nan where that is not known
    labels : the worst labels and the likeliest, in words; None of numbers
    """

    name: str
    entries: tuple[str, ...]
    predicted: Array
    worst: Array
    lower: Array
    upper: Array
    budget: float
    beyond: float
    labels: tuple[str, str] | None = None

    @property
    def moved(self) -> Array:
        """How far each entry goes, of the way to its own end: 0 to 1, signed, (m,)."""
        away = self.worst - self.predicted
        room = np.where(away >= 0, self.upper - self.predicted, self.predicted)
        room = np.where(away >= 0, room, self.predicted - self.lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.abs(away) / room
        return np.sign(away) * np.where(room > 0, np.minimum(share, 1.0), 0.0)

    def sentences(self, most: int = 3) -> tuple[str, ...]:
        """In words: what moves, and how unusual that is."""
        if not np.isfinite(self.worst).all():
            return ()
        if self.labels is not None:
            return self._of_labels(*self.labels)
        if np.isnan(self.predicted).any():
            return (f"The worst {self.name} is {self._listed(most)}.",)
        worst = f"The worst {self.name} is {self._against(most)}."
        return (worst, *self._unusual())

    def _of_labels(self, worst: str, likeliest: str) -> tuple[str, ...]:
        beside = f"{worst}, where {likeliest} is likeliest"
        which = f"the likeliest, {worst}" if worst == likeliest else beside
        sentence = f"The worst {self.name} is {which}."
        if np.isnan(self.beyond):
            return (sentence,)
        return (
            sentence,
            f"{self.beyond:.0%} of the outcomes in the calibration were less likely "
            "than sets of this budget allow.",
        )

    def _unusual(self) -> tuple[str, ...]:
        if np.isnan(self.beyond):
            return ()
        return (
            f"It lies at the edge of its set: {self.beyond:.0%} of the outcomes in the "
            "calibration were further from their predictions than that.",
        )

    def _listed(self, most: int) -> str:
        pairs = zip(self.entries[:most], self.worst[:most].tolist(), strict=True)
        shown = ", ".join(f"{entry} = {value:.4g}" for entry, value in pairs)
        return shown + (", ..." if len(self.entries) > most else "")

    def _against(self, most: int) -> str:
        size = np.abs(self.worst - self.predicted)
        order = np.argsort(-size, kind="stable")[:most].tolist()
        shown = [
            f"{self.entries[i]} = {self.worst[i]:.4g} where {self.predicted[i]:.4g} "
            "was predicted"
            for i in order
        ]
        rest = len(self.entries) - len(shown)
        return ", ".join(shown) + (f", and {rest} more that move less" if rest else "")
