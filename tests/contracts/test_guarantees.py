"""Every guarantee keeps the contract; those that need contexts are handed some."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sublevel.guarantees import PAC, Calibration, CVPlus, Marginal, Mondrian, Weighted
from sublevel.testing import ContractBroken, check_guarantee


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("guarantee", [Marginal(), PAC(), PAC(0.01, 5), CVPlus()])
def test_every_guarantee_keeps_the_contract(guarantee, alpha):
    check_guarantee(guarantee, alpha)


@dataclass(frozen=True)
class WholeFolds(CVPlus):
    """CV+ on as many scores as fill its folds: the contract also tries one too few."""

    def calibrate(self, scores, alpha, X=None):
        return super().calibrate(
            scores[: len(scores) // self.n_splits * self.n_splits], alpha
        )

    settling = None  # it is about whole folds only


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("splits", [2, 5, 10])
def test_cv_plus_with_folds_keeps_the_contract(splits, alpha):
    check_guarantee(WholeFolds(splits), alpha)


@dataclass(frozen=True)
class TwoGroups:
    """Mondrian where every score also occurs, doubled, in a second group."""

    inner: object
    mondrian = property(lambda self: Mondrian(0, self.inner))

    def minimum_sample_size(self, alpha):
        return self.mondrian.minimum_sample_size(alpha)

    def calibrate(self, scores, alpha, X=None):
        found = self.mondrian.calibrate(*self.double(scores, alpha))
        small, large = found.at(np.array([[0], [1]]), 2)
        assert large == 2 * small
        return Calibration(small, found.certificate)

    def promise(self, scores, budget, X=None):
        return self.mondrian.promise(*self.double(scores, {0: budget, 1: 2 * budget}))

    def double(self, scores, given):
        groups = np.repeat([[0], [1]], len(scores), axis=0)
        return np.concatenate([scores, 2 * scores]), given, groups


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("inner", [Marginal(), PAC()])
def test_mondrian_keeps_the_contract_in_every_group(inner, alpha):
    check_guarantee(TwoGroups(inner), alpha)


@dataclass(frozen=True)
class EqualWeights(Weighted):
    """Weighted where all contexts weigh alike: else no sample size fits them all."""

    def calibrate(self, scores, alpha, X=None):
        return super().calibrate(scores, alpha, np.ones((len(scores), 1)))

    def settling(self, sample_size, alpha, X=None):
        return super().settling(sample_size, alpha, np.ones((sample_size, 1)))

    def promise(self, scores, budget, X=None, deployment=None):
        X = np.ones((len(scores), 1))
        return super().promise(scores, budget, X, deployment=X[:3])


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-9])
def test_weighted_keeps_the_contract_at_equal_weights(weight, alpha):
    check_guarantee(EqualWeights(lambda X: weight * X[:, 0]), alpha)


@dataclass(frozen=True)
class Careless(Marginal):
    """The plain quantile, with no price for a finite sample."""

    def calibrate(self, scores, alpha, X=None):
        found = super().calibrate(scores, min(0.999, 1.2 * alpha))
        return replace(found, certificate=replace(found.certificate, alpha=alpha))


def test_a_careless_guarantee_is_caught():
    with pytest.raises(ContractBroken, match="the level calibrated for"):
        check_guarantee(Careless())


@dataclass(frozen=True)
class Hasty(Marginal):
    """It takes one score too few to settle the budget."""

    def settling(self, sample_size, alpha, X=None):
        allowed = sample_size - self.rank(sample_size, alpha)
        return lambda scores, floor: np.sum(scores > floor) >= allowed


def test_a_hasty_guarantee_is_caught():
    with pytest.raises(ContractBroken, match="scores that settle the budget give it"):
        check_guarantee(Hasty())
