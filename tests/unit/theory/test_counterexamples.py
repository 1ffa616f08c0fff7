"""Where Theorem 3.2 of the paper fails: what each bound says, and what is true.

Three models meet every hypothesis printed there, but for the independence in the third.
The paper's bound is exceeded in each. Theorem A holds where its assertions do; where
they do not, the losses or the residuals refute them, or the certificate lists them.
"""

from math import exp, sqrt

import numpy as np
import pytest
from scipy import stats

from sublevel.errors import InvalidParameter
from sublevel.guarantees import (
    PAC,
    PaperLLN,
    TheoremA,
    TheoremA1,
    TheoremA3,
    kappa_of_coin,
)
from sublevel.theory import study_residuals

PRINTED, CORRECTED = PaperLLN(corrected=False), PaperLLN(corrected=True)


def assert_heuristic(losses, alpha):
    for bound in (PRINTED, CORRECTED):
        certificate = bound.calibrate(losses, alpha).certificate
        assert certificate.heuristic
        assert "Not a guarantee" in certificate.note


class TestSkewedNoise:
    """One coin, predicted by its mean, and the constraint y <= x; the context is empty.

    With prediction p and radius just below 1 - p, the ball ends just before 1, so the
    violation is P(y = 1) = p.
    """

    CHANCES = (0.1, 0.05, 0.01)

    @staticmethod
    def tosses(chance, size=10_000):
        """Residuals in exactly their proportions: the sample is the population."""
        ones = round(size * chance)
        return np.repeat([[1 - chance], [-chance]], [ones, size - ones], axis=0)

    @pytest.mark.parametrize(
        "chance, printed, conditional, kappa",
        [
            (0.1, 0.0744, 1.8e-2, 2.02),
            (0.05, 0.0354, 1.2e-4, 3.22),
            (0.01, 0.0068, 5.2e-22, 10.8),
        ],
    )
    def test_the_bound_is_below_the_truth(self, chance, printed, conditional, kappa):
        losses = self.tosses(chance) ** 2
        radius, variance = (1 - chance) * (1 - 1e-9), chance * (1 - chance)
        level = PRINTED.level(losses, radius)
        assert level == pytest.approx(printed, abs=5e-5)
        assert level < chance
        paper_proof = exp(-(radius**2 - variance) / (2 * variance))
        assert paper_proof == pytest.approx(conditional, rel=0.03)
        assert kappa_of_coin(chance) == pytest.approx(kappa, abs=0.05)
        assert_heuristic(losses, 0.1)

    @pytest.mark.parametrize("chance", CHANCES)
    def test_theorem_a_holds_with_the_true_kappa_only(self, chance):
        radius, spread = (1 - chance) * (1 - 1e-9), sqrt(chance * (1 - chance))
        kappa = kappa_of_coin(chance)
        right = TheoremA(kappa=kappa, bias=0.0, spread=spread)
        total = TheoremA1(kappa=kappa, total=spread**2, largest=spread**2)
        assert chance <= right.level(radius) <= total.level(radius)
        wrong = TheoremA(kappa=1.0, bias=0.0, spread=spread)
        assert wrong.level(radius) < chance
        listed = wrong.calibrate(self.tosses(chance) ** 2, 0.1).certificate.assumptions
        assert any("no skewness" in sentence for sentence in listed)

    @pytest.mark.parametrize("chance", CHANCES)
    def test_residuals_show_the_skewness(self, chance):
        evidence = study_residuals(self.tosses(chance)).evidence
        assert any("skewed" in sentence for sentence in evidence)

    @pytest.mark.parametrize(
        "alpha, truth", [(0.1, 0.13), (0.05, 0.069), (0.01, 0.0146)]
    )
    def test_asking_for_alpha_gives_more(self, alpha, truth):
        # The likeliest coin whose 1 lies outside the set calibrated at alpha.
        chances = [
            chance
            for chance in np.arange(alpha, 1.6 * alpha, alpha / 100)
            if PRINTED.level(self.tosses(chance) ** 2, 1 - chance) < alpha
        ]
        assert max(chances) == pytest.approx(truth, rel=0.02)
        assert max(chances) < 1.48 * alpha


class TestBiasedSubgroup:
    """Normal noise of size .001 in m components; 5 % of contexts have bias 1/sqrt(m).

    The constraint bounds the sum of the residuals; the radius is .99. It is violated
    where the sum over sqrt(m), the bias 1 plus noise, exceeds .99: in the subgroup.
    """

    RADIUS, SHARE, NOISE = 0.99, 0.05, 1e-3
    TRUTH = SHARE * stats.norm.sf((RADIUS - 1) / NOISE)

    @classmethod
    def residuals(cls, width, size=20_000):
        biased = np.arange(size) < cls.SHARE * size
        noise = np.random.default_rng(0).normal(size=(size, width))
        return biased, biased[:, None] / sqrt(width) + cls.NOISE * noise

    @pytest.mark.parametrize(
        "width, printed",
        [(1, 3.6e-2), (2, 2.0e-2), (5, 5e-3), (10, 5.1e-4), (40, 7e-10)],
    )
    def test_the_bound_is_below_the_truth(self, width, printed):
        _, residuals = self.residuals(width)
        level = PRINTED.level(residuals**2, self.RADIUS)
        assert level == pytest.approx(printed, rel=0.1)
        assert level < 0.75 * self.TRUTH
        if width > 1:
            assert CORRECTED.level(residuals**2, self.RADIUS) < 0.5 * self.TRUTH
        sums = residuals.sum(axis=1) / sqrt(width)
        assert np.mean(sums > self.RADIUS) == pytest.approx(self.TRUTH)
        assert_heuristic(residuals**2, 0.01)

    @pytest.mark.parametrize("width", [1, 5, 40])
    def test_theorem_a_holds_with_the_true_bias(self, width):
        _, residuals = self.residuals(width)
        vouched = TheoremA(kappa=1.0, bias=1.0, spread=self.NOISE)
        assert vouched.level(self.RADIUS) == 1.0
        for alpha in (0.1, 0.01):
            radius = sqrt(vouched.calibrate(residuals**2, alpha).budget)
            truth = self.SHARE * stats.norm.sf((radius - 1) / self.NOISE)
            assert truth <= alpha

    @pytest.mark.parametrize("width", [1, 5, 40])
    def test_losses_refute_a_bias_that_is_too_small(self, width):
        _, residuals = self.residuals(width)
        for refuted in (
            TheoremA(kappa=1.0, bias=0.1, spread=self.NOISE),
            TheoremA1(kappa=1.0, total=0.01, largest=0.01),
            TheoremA3(kappa=1.0, cap=1.1, total=1e-3),
        ):
            with pytest.raises(InvalidParameter, match="contradict what is asserted"):
                refuted.calibrate(residuals**2, 0.01)

    def test_contexts_refute_a_total_that_is_the_same_everywhere(self):
        # The mean loss is right, so the losses alone cannot tell.
        biased, residuals = self.residuals(5, size=2000)
        shared = TheoremA3(kappa=1.0, cap=1.0)
        certificate = shared.calibrate(residuals**2, 0.01).certificate
        assert any(
            "the same at every context" in each for each in certificate.assumptions
        )
        found = study_residuals(residuals, biased[:, None].astype(float))
        assert found.r_squared > 0.9
        assert "not the same at every context" in found.evidence[-1]

    def test_theorem_one_is_not_fooled(self):
        _, residuals = self.residuals(5)
        budget = PAC().calibrate((residuals**2).sum(axis=1), 0.01).budget
        assert self.SHARE * stats.norm.sf((sqrt(budget) - 1) / self.NOISE) <= 0.01

    @pytest.mark.parametrize(
        "width, alpha, truth", [(40, 0.05, 0.096), (40, 0.01, 0.052), (5, 0.05, 0.1)]
    )
    def test_a_moderate_bias_is_enough(self, width, alpha, truth):
        # Unit noise, 10 % of contexts with a bias of norm 12.
        rng = np.random.default_rng(1)
        biased = np.arange(40_000) < 4000
        residuals = rng.normal(size=(40_000, width)) + biased[:, None] * 12 / sqrt(
            width
        )
        radius = PRINTED.radius(residuals**2, alpha)
        violated = 0.9 * stats.norm.sf(radius) + 0.1 * stats.norm.sf(radius - 12)
        assert violated == pytest.approx(truth, rel=0.03)
        assert violated > 1.9 * alpha


class TestCorrelatedComponents:
    """Exact mean and variance, normal noise, correlation .9 between any two components.

    The constraint bounds the sum, whose standard deviation is sqrt(m + .9 m (m - 1)).
    """

    WIDTH = 40

    @classmethod
    def residuals(cls, size=20_000):
        rng = np.random.default_rng(2)
        shared = sqrt(0.9) * rng.normal(size=(size, 1))
        return shared + sqrt(0.1) * rng.normal(size=(size, cls.WIDTH))

    @classmethod
    def truth(cls, radius):
        spread = sqrt(cls.WIDTH + 0.9 * cls.WIDTH * (cls.WIDTH - 1))
        return stats.norm.sf(radius * sqrt(cls.WIDTH) / spread)

    @pytest.mark.parametrize(
        "alpha, truth", [(0.1, 0.115), (0.05, 0.102), (0.01, 0.073)]
    )
    def test_the_bound_is_below_the_truth(self, alpha, truth):
        losses = self.residuals() ** 2
        violated = self.truth(PRINTED.radius(losses, alpha))
        assert violated == pytest.approx(truth, rel=0.02)
        assert violated > alpha
        assert self.truth(CORRECTED.radius(losses, alpha)) > alpha
        assert_heuristic(losses, alpha)

    def test_theorem_a_says_that_independence_is_asserted(self):
        residuals = self.residuals()
        vouched = TheoremA(kappa=1.0, bias=0.0, spread=1.0)
        calibration = vouched.calibrate(residuals**2, 0.1)
        # It is exceeded too: the assertion is false, and only residuals can show it.
        assert self.truth(sqrt(calibration.budget)) > 0.1
        assert any("are independent" in s for s in calibration.certificate.assumptions)
        found = study_residuals(residuals[:2000])
        assert found.correlation == pytest.approx(0.9, abs=0.03)
        assert any("correlated" in sentence for sentence in found.evidence)

    def test_theorem_one_is_not_fooled(self):
        budget = PAC().calibrate((self.residuals() ** 2).sum(axis=1), 0.1).budget
        assert self.truth(sqrt(budget)) <= 0.1
