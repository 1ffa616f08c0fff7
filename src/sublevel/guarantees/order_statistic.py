"""Guarantees whose budget is one order statistic of the calibration scores.

A subclass says which one, and what it promises; reading it off the sample is done here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..predictions import Table
from .calibration import Calibration, warn_if_infinite
from .certificate import Certificate
from .faces import Settled
from .scores import as_budget, as_scores, count_within, order_statistic, require_no_nan


class OrderStatistic(ABC):
    """A promise kept by the rank-th smallest calibration score.

    Examples
    --------
    >>> from sublevel.guarantees import PAC, Marginal, OrderStatistic
    >>> isinstance(Marginal(), OrderStatistic) and isinstance(PAC(), OrderStatistic)
    True
    """

    #: Whether the scores are independent of the model, so the Beta law holds.
    beta_law: ClassVar[bool] = True

    @abstractmethod
    def rank(self, sample_size: int, alpha: float) -> int | None:
        """Which of the sorted scores, from 1, is the budget; None if none will do."""

    @abstractmethod
    def minimum_sample_size(self, alpha: float) -> int:
        """The fewest calibration scores that give a finite budget."""

    @abstractmethod
    def level(self, within: int, sample_size: int) -> float:
        """The violation level promised when `within` scores are at most the budget."""

    @abstractmethod
    def blank_certificate(self, alpha: float, sample_size: int) -> Certificate:
        """The certificate at this level, with the budget and the rank left open."""

    def calibrate(
        self, scores: npt.ArrayLike, alpha: float, X: Table | None = None
    ) -> Calibration:
        """The smallest score that keeps the promise, as the budget of every context.

        Parameters
        ----------
        scores : array of shape (N,)
            Loss of each calibration outcome, from a model that has not seen it.
        alpha : float
            Violation level, strictly between 0 and 1.
        X : ignored
            Accepted so that every guarantee is called alike.

        Returns
        -------
        Calibration
            Its budget is infinite, with a warning, if the sample is too small.
        """
        del X
        certificate = self.certify(scores, alpha)
        warn_if_infinite(certificate)
        return Calibration(certificate.budget, certificate)

    def certify(self, scores: npt.ArrayLike, alpha: float) -> Certificate:
        """The certificate of the calibrated budget, without a warning if infinite."""
        owner = type(self).__name__
        vector = as_scores(owner, scores)
        rank = self.rank(vector.size, alpha)
        if rank is None:
            require_no_nan(owner, vector)
            return self.without_budget(vector.size, alpha)
        certificate = self.blank_certificate(float(alpha), vector.size)
        budget = order_statistic(owner, vector, rank)
        note = _infinite_scores(owner, rank, vector.size) if budget == inf else ""
        note = _join(note, certificate.note)
        return replace(certificate, budget=budget, rank=rank, note=note)

    def without_budget(self, sample_size: int, alpha: float) -> Certificate:
        """The certificate of a sample too small for a finite budget."""
        certificate = self.blank_certificate(float(alpha), sample_size)
        note = _join(self.too_few(certificate), certificate.note)
        return replace(certificate, note=note)

    def settling(
        self, sample_size: int, alpha: float, X: Table | None = None
    ) -> Settled:
        """Scores settle the budget once it is one of those above the floor."""
        del X
        rank = self.rank(sample_size, alpha)
        if rank is None:
            return lambda scores, floor: True
        beyond = sample_size - rank
        return lambda scores, floor: int(np.count_nonzero(scores > floor)) > beyond

    def promise(
        self, scores: npt.ArrayLike, budget: float, X: Table | None = None
    ) -> Certificate:
        """What a budget fixed in advance promises, judged on these scores.

        Parameters
        ----------
        scores : array of shape (N,)
            Loss of each calibration outcome, from a model that has not seen it.
        budget : float
            Loss level chosen without looking at these scores.
        X : ignored
            Accepted so that every guarantee is called alike.
        """
        del X
        owner = type(self).__name__
        vector, limit = as_scores(owner, scores), as_budget(owner, budget)
        within = count_within(owner, vector, limit)
        # Nothing exceeds an infinite budget, whatever the sample.
        alpha = self.level(within, vector.size) if limit < inf else 0.0
        certificate = self.blank_certificate(alpha, vector.size)
        note = _join(self.fixed_in_advance(), certificate.note)
        return replace(certificate, budget=limit, note=note)

    @abstractmethod
    def fixed_in_advance(self) -> str:
        """What the level of a budget fixed in advance means."""

    def _needed(self, alpha: float) -> int:
        """The fewest scores for a promised level, which may be trivial."""
        return self.minimum_sample_size(alpha) if 0 < alpha < 1 else 0

    def too_few(self, certificate: Certificate) -> str:
        """Why the budget is infinite, and the way out."""
        return (
            f"{certificate.guarantee}(alpha={certificate.alpha:g}) needs at least "
            f"{certificate.minimum_sample_size} calibration scores for a finite "
            f"budget, got {certificate.sample_size}. Add calibration data or raise "
            f"alpha."
        )


def _infinite_scores(owner: str, rank: int, size: int) -> str:
    return (
        f"{owner}: the budget is infinite because the score it is read from is: order "
        f"statistic {rank} of {size}. Find out why the loss is infinite on calibration "
        f"outcomes, or raise alpha."
    )


def _join(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
