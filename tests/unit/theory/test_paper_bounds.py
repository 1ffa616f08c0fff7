"""The paper's inequalities against transcriptions of its text and of its proof."""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import (
    Certificate,
    Marginal,
    PaperFirst,
    PaperGeneral,
    PaperLLN,
)
from sublevel.testing import check_guarantee
from sublevel.theory.envelope import best_bound

BOUNDS = [PaperLLN(True), PaperLLN(False), PaperFirst(True), PaperFirst(False)]
ALPHAS = (0.1, 0.05, 0.01)
samples = arrays(
    float, st.tuples(st.integers(2, 12), st.integers(1, 4)), elements=st.floats(0.01, 9)
)


def printed_q(u):
    return 0.0 if u >= 2 else exp(-0.5) * (1 / u - 0.5) + exp(-2) - exp(-u)


def as_printed(losses, radius, lln):
    """Theorem 3.2 as it stands in the paper."""
    t, m = losses.max(axis=1), losses.shape[1]
    level = losses.sum(axis=1).mean() if lln else 0.0
    u = (radius**2 - level) / t
    epsilon = np.mean([printed_q(each) for each in u]) - printed_q(u.mean())
    if lln:
        return np.mean(np.exp(-u / 2)) + epsilon
    return np.mean(np.exp(-(u - m) / 2)) + exp(m / 2) * epsilon


def as_proved(losses, radius, lln):
    """The last display of its proof, with the slope at which p1 + p2 is convex."""
    t, m = losses.max(axis=1), losses.shape[1]
    level = losses.sum(axis=1).mean() if lln else 0.0
    s = 2 * t / (radius**2 - level)

    def p2(at):
        return 0.0 if at <= 0.5 else 4 * exp(-2) * (at - 0.5) + exp(-2) - exp(-1 / at)

    bound = np.mean([exp(-1 / each) + p2(each) for each in s]) - p2(s.mean())
    return bound if lln else exp(m / 2) * bound


@given(samples, st.floats(0.05, 8))
def test_levels_are_the_formulas(losses, beyond):
    radius = sqrt(losses.sum(axis=1).mean() + beyond)
    for lln, bound in [(True, PaperLLN), (False, PaperFirst)]:
        for corrected, formula in [(False, as_printed), (True, as_proved)]:
            by_text = min(1.0, formula(losses, radius, lln))
            found = bound(corrected).level(losses, radius)
            assert found == pytest.approx(by_text, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
@given(losses=samples, alpha=st.sampled_from(ALPHAS))
def test_radius_is_the_last_at_which_the_level_is_reached(bound, losses, alpha):
    radius = bound.radius(losses, alpha)
    assert bound.level(losses, radius * (1 + 1e-9)) <= alpha
    assert bound.level(losses, radius * (1 - 1e-6)) > alpha
    for factor in (1.001, 1.01, 1.1, 1.5, 3.0):
        assert bound.level(losses, factor * radius) <= alpha


@given(samples, st.floats(0.1, 6), st.booleans())
def test_first_inequality_never_beats_theorem_one(losses, radius, corrected):
    # For every law, here the empirical one: the bound is at least the share outside.
    outside = np.mean(losses.sum(axis=1) > radius**2 * (1 + 1e-12))
    assert PaperFirst(corrected).level(losses, radius) >= outside - 1e-12


def test_lln_inequality_does_beat_it_so_the_test_above_can_fail():
    losses = np.repeat([[9.0, 9.0, 9.0], [0.1, 0.1, 0.1]], [5, 95], axis=0)
    assert PaperLLN().level(losses, radius=5.0) < 0.04
    assert np.mean(losses.sum(axis=1) > 25) == 0.05


@given(samples, st.floats(0.05, 8))
def test_the_best_envelope_is_no_worse_than_the_proof(losses, excess):
    radius = sqrt(losses.sum(axis=1).mean() + excess)
    best = best_bound(2 * losses.max(axis=1) / excess)
    assert best <= PaperLLN().level(losses, radius) + 1e-9


def test_printed_argument_is_too_small():
    # S in {1/2, 1}: if X says nothing the proof needs exp(-1/.75).
    losses = np.array([[0.25], [0.5]])
    radius = sqrt(0.375 + 1)
    assert PaperLLN(False).level(losses, radius) == pytest.approx(0.2516, abs=5e-5)
    assert PaperLLN(True).level(losses, radius) == pytest.approx(0.2636, abs=5e-5)
    assert exp(-1 / 0.75) == pytest.approx(0.2636, abs=5e-5)
    # S = 4 with probability .14, else .264: a third too small.
    losses = np.repeat([[2.0], [0.132]], [14, 86], axis=0)
    radius, needed = sqrt(losses.mean() + 1), exp(-1 / (2 * losses.mean()))
    assert PaperLLN(False).level(losses, radius) < 0.68 * needed
    assert PaperLLN(True).level(losses, radius) >= needed


@given(samples, st.floats(0.05, 8))
def test_corrected_gap_is_at_most_the_corrected_remark(losses, excess):
    # E p2(S) - p2(E S) <= max p2'' / 2 Var(S), with max p2'' = .41994.
    radius = sqrt(losses.sum(axis=1).mean() + excess)
    ratios = 2 * losses.max(axis=1) / excess
    gap = as_proved(losses, radius, True) - np.mean(np.exp(-1 / ratios))
    assert -1e-12 <= gap <= 0.41995 / 2 * ratios.var() + 1e-12


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_units_do_not_matter(bound):
    losses = np.random.default_rng(0).gamma(1.0, size=(200, 3))
    small = bound.radius(losses, 0.1)
    assert bound.radius(1e-8 * losses, 0.1) == pytest.approx(1e-4 * small, rel=1e-9)
    assert bound.radius(1e12 * losses, 0.1) == pytest.approx(1e6 * small, rel=1e-9)


# Population radii of a perfect model with constant mean loss, alpha .1/.05/.01.
PUBLISHED = [
    ("uniform", 5, PaperFirst(False), (4.77, 5.14, 5.91)),
    ("uniform", 5, PaperLLN(False), (3.89, 4.31, 5.17)),
    ("uniform", 40, PaperFirst(False), (11.4, 11.6, 12.0)),
    ("uniform", 40, PaperLLN(False), (7.29, 7.56, 8.15)),
    ("normal", 5, PaperFirst(False), (6.35, 7.06, 8.69)),
    ("normal", 5, PaperLLN(False), (4.32, 4.98, 6.54)),
    ("normal", 40, PaperLLN(False), (8.27, 8.86, 10.24)),
]


@pytest.mark.parametrize("noise, width, bound, radii", PUBLISHED)
def test_theorem_one_has_the_smaller_radius(noise, width, bound, radii):
    # 40,000 draws leave the radii with standard errors below .3 %.
    rng = np.random.default_rng(1)
    if noise == "normal":
        losses = rng.normal(size=(40_000, width)) ** 2
        proved = np.sqrt(stats.chi2.isf(ALPHAS, width))
    else:
        losses = rng.uniform(-sqrt(3), sqrt(3), size=(40_000, width)) ** 2
        proved = np.sqrt(np.quantile(losses.sum(axis=1), 1 - np.array(ALPHAS)))
    found = [bound.radius(losses, alpha) for alpha in ALPHAS]
    assert found == pytest.approx(radii, rel=0.012)
    assert (proved < found).all()


def test_a_radius_below_the_mean_loss_bounds_nothing():
    losses = np.array([[1.0, 2.0], [3.0, 1.0]])
    assert PaperLLN().level(losses, radius=sqrt(3.5)) == 1.0
    assert PaperLLN().level(losses, radius=0.0) == 1.0
    assert PaperLLN().level(losses, radius=np.inf) == 0.0
    assert PaperFirst().level(losses, radius=0.0) == 1.0
    # e^(m/2) overflows; the bound is still a number.
    wide = np.random.default_rng(0).normal(size=(5, 3000)) ** 2
    assert PaperFirst().level(wide, radius=60.0) == 1.0
    assert PaperFirst().level(wide, radius=1e3) == 0.0


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_certificates_say_heuristic_and_why(bound):
    losses = np.random.default_rng(0).normal(size=(100, 3)) ** 2
    calibration = bound.calibrate(losses, 0.1)
    for certificate in (calibration.certificate, bound.promise(losses, 20.0)):
        text = " ".join(str(certificate).split())
        assert certificate.heuristic
        assert certificate.confidence is None
        assert "by a formula that is not a theorem" in text
        assert "with probability about" in text
        assert "no theorem backs this level" in text
        assert "Not a guarantee" in text
        assert "at most" not in text.split("budget")[0]
        assert "Theorem 3.2" in certificate.reference
        assert ("As printed" in text) != bound.corrected
        assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert calibration.budget == calibration.certificate.budget
    assert calibration.budget == pytest.approx(bound.radius(losses, 0.1) ** 2)


def test_the_reasons_are_those_of_each_inequality():
    losses = np.ones((3, 2))
    first = PaperFirst().promise(losses, 20.0).note
    assert "dominated by Theorem 3.1" in first
    second = PaperLLN().promise(losses, 20.0).note
    for reason in ("biased on a few contexts", "skewed noise", "correlated given"):
        assert reason in second


@dataclass(frozen=True)
class OneComponent:
    """A bound of losses by component, handed totals of one component."""

    bound: object

    def minimum_sample_size(self, alpha):
        return self.bound.minimum_sample_size(alpha)

    def calibrate(self, scores, alpha, X=None):
        return self.bound.calibrate(np.asarray(scores)[:, None], alpha)

    def promise(self, scores, budget, X=None):
        return self.bound.promise(np.asarray(scores)[:, None], budget)


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_they_keep_the_contract_of_a_guarantee(bound, alpha):
    # Order, infinity and the inverse are coherent; it does not test validity.
    check_guarantee(OneComponent(bound), alpha)


def test_one_outcome_is_too_few():
    with pytest.warns(InfiniteBudget, match="needs at least 2 calibration outcomes"):
        found = PaperLLN().calibrate([[1.0, 2.0]], 0.1)
    assert found.budget == np.inf
    assert PaperLLN().promise([[1.0, 2.0]], 100.0).alpha == 1.0


def test_no_loss_needs_no_radius():
    assert PaperLLN().radius(np.zeros((5, 2)), 0.1) == 0.0
    assert PaperLLN().level(np.zeros((5, 2)), 0.1) == 0.0


@pytest.mark.parametrize(
    "scores, message",
    [
        ([1.0, 2.0], r"by component.*got shape \(2,\).*scores\[:, None\]"),
        ([], "by component"),
        ([[1.0, -2.0]], "at least 0, got -2.0 at row 0, component 1"),
        ([[1.0], [np.nan]], "got nan at row 1, component 0"),
        ([[1.0], [np.inf]], "got inf at row 1"),
        ([["a"]], "must be numeric, got list"),
    ],
)
def test_scores_are_losses_by_component(scores, message):
    with pytest.raises(InvalidParameter, match=message):
        PaperLLN().calibrate(scores, 0.1)


def test_levels_and_radii_are_checked():
    with pytest.raises(InvalidParameter, match=r"PaperLLN\(alpha=.*between 0 and 1"):
        PaperLLN().radius([[1.0], [2.0]], 1.0)
    with pytest.raises(InvalidParameter, match=r"PaperFirst\(radius=.*at least 0"):
        PaperFirst().level([[1.0], [2.0]], -1.0)


def test_theorem_one_is_marginal_and_a_promise():
    scores = np.random.default_rng(0).exponential(size=200)
    paper, marginal = PaperGeneral(), Marginal()
    for alpha in ALPHAS:
        found = paper.calibrate(scores, alpha)
        assert found.budget == marginal.calibrate(scores, alpha).budget
        assert not found.certificate.heuristic
        assert found.certificate.rank == marginal.rank(200, alpha)
        assert "Theorem 3.1 holds as printed" in found.certificate.note
        assert "Th. 3.1" in found.certificate.reference
        assert found.certificate.guarantee == "PaperGeneral"
    assert paper.promise(scores, 2.0).alpha == marginal.promise(scores, 2.0).alpha
    check_guarantee(paper)


def test_theorem_one_has_no_finite_budget_for_few_scores():
    with pytest.warns(
        InfiniteBudget, match=r"PaperGeneral\(alpha=0.1\) needs at least 9"
    ):
        assert PaperGeneral().calibrate(range(8), 0.1).budget == np.inf
    with pytest.raises(InvalidParameter, match=r"PaperGeneral\(alpha="):
        PaperGeneral().calibrate(range(8), 1.5)
