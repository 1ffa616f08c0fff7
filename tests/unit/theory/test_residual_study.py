"""Evidence against what Theorem A asserts: found where it is, not where it is not."""

from math import sqrt
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from sublevel.errors import InvalidParameter
from sublevel.theory import Diagnosis, study_residuals
from sublevel.theory.residual_study import MOST_PAIRS, encode_contexts

#: The first word that tells one sentence of evidence from the others.
KINDS = {
    "from zero": "bias",
    "skewed": "skewness",
    "heavy tails": "tails",
    "correlated": "correlation",
    "the residuals (": "bias given",
    "products": "correlation given",
    "total loss": "total",
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def kinds(found):
    """What the evidence speaks of."""
    return [
        kind
        for sentence in found.evidence
        for words, kind in KINDS.items()
        if words in sentence
    ]


def most(draws, chance):
    """The count that is exceeded with probability at most 1e-5."""
    return stats.binom.ppf(1 - 1e-5, draws, chance)


def test_numbers_are_those_of_scipy(rng):
    residuals = rng.gamma(2.0, size=(500, 3))
    found = study_residuals(residuals)
    assert found.bias == pytest.approx(
        max(residuals.mean(axis=0) / residuals.std(axis=0, ddof=1))
    )
    assert found.excess_kurtosis == pytest.approx(stats.kurtosis(residuals).max())
    by_itself = [study_residuals(residuals[:, [j]]) for j in range(3)]
    assert [one.skewness for one in by_itself] == pytest.approx(stats.skew(residuals))
    worst = max(by_itself, key=lambda one: one.surprises[1])
    assert found.skewness == pytest.approx(worst.skewness)
    assert found.correlation_given is None
    assert found.bias_given is found.r_squared is None


def test_the_correlation_is_that_of_the_pair_it_shows_most_in(rng):
    one = rng.normal(size=(300, 4))
    one[:, 3] -= 2 * one[:, 1]
    found = study_residuals(one)
    assert found.correlation == pytest.approx(np.corrcoef(one.T)[1, 3])
    assert kinds(found) == ["correlation"]


def test_bias_is_as_rare_as_student_says(rng):
    # Found by a closed formula there, by the tails of two laws here.
    for size, shift in ((20, 0.9), (200, 0.2), (200, 0.0)):
        residuals = shift + rng.normal(size=(size, 1))
        student = abs(stats.ttest_1samp(residuals[:, 0], 0.0).statistic)
        rare = stats.norm.isf(stats.t.sf(student, size - 1))
        assert study_residuals(residuals).surprises[0] == pytest.approx(rare, abs=0.01)


LAWS = {
    "normal": lambda rng: rng.normal(size=(60, 2)),
    "uniform": lambda rng: rng.uniform(-1, 1, size=(60, 2)),
    "coins": lambda rng: rng.choice([-1.0, 1.0], size=(60, 2)),
    "skewed": lambda rng: rng.exponential(size=(60, 2)) - 1,
    "tails": lambda rng: rng.laplace(size=(60, 2)),
}


@pytest.mark.parametrize("law", LAWS)
def test_chance_is_rarely_taken_for_evidence(rng, law):
    draws, width = 400, 2
    largest = [max(study_residuals(LAWS[law](rng)).surprises) for _ in range(draws)]
    for delta in (0.001, 0.05):
        # Bias, skewness, one pair have two sides, kurtosis one.
        tests = 2 * width + 2 * width + 2 + width
        alarms = np.sum(np.array(largest) > stats.norm.isf(delta / tests))
        assert (alarms <= most(draws, delta)) == (law in ("normal", "uniform", "coins"))


def test_wild_but_symmetric_residuals_are_not_called_skewed_or_correlated(rng):
    draws, delta = 400, 0.01
    skewed = correlated = tails = plain = 0
    for _ in range(draws):
        common = np.exp(3 * rng.normal(size=(200, 1)))
        residuals = common * rng.normal(size=(200, 2))
        told = kinds(study_residuals(residuals, delta=delta))
        skewed += "skewness" in told
        correlated += "correlation" in told
        tails += "tails" in told
        plain += abs(stats.skewtest(residuals[:, 0]).statistic) > stats.norm.isf(delta)
    # Of the twelve tests that share delta two are of the pair, four of skewness.
    assert correlated <= most(draws, delta * 2 / 12)
    assert skewed <= most(draws, delta * 4 / 12)
    # What compares with normal samples only would have called them skewed.
    assert min(tails, plain) > most(draws, delta)


WILD = {
    "log-normal": (lambda rng: rng.lognormal(0, 1.2, size=(200, 2)) - np.exp(0.72)),
    "t(3)": (lambda rng: rng.standard_t(3, size=(200, 2))),
    "spread exp(x)": (
        lambda rng: np.exp(rng.normal(size=(200, 1))) * rng.normal(size=(200, 2))
    ),
    "one in fifty, eightfold": (
        lambda rng: (
            np.where(np.arange(300) % 50, 1, 8)[:, None] * rng.normal(size=(300, 2))
        )
    ),
}


@pytest.mark.parametrize("law", WILD)
def test_wild_residuals_are_seen(law):
    told = [
        kinds(study_residuals(WILD[law](np.random.default_rng(k)))) for k in range(20)
    ]
    assert sum("tails" in each for each in told) >= 18
    if law == "log-normal":
        assert all("skewness" in each for each in told)


def test_left_skewness_and_negative_correlation_are_seen(rng):
    one = -rng.gamma(1.0, size=(4000, 1))
    found = study_residuals(np.hstack([one, -one + 0.1 * rng.normal(size=(4000, 1))]))
    assert found.correlation < -0.9
    assert found.skewness < -1.5 or found.skewness > 1.5
    assert kinds(found) == ["bias", "skewness", "tails", "correlation"]


def test_mild_skewness_is_seen(rng):
    # Skewness 2 / sqrt(20) = .45 has standard error sqrt(6 / 1000) = .08 if normal.
    # Not counting that the mean is estimated would make it sqrt(15 / 1000) = .12.
    found = study_residuals(rng.gamma(20.0, size=(1000, 1)) - 20)
    assert found.skewness < 0.5
    assert kinds(found) == ["skewness"]


def test_a_bias_is_seen(rng):
    found = study_residuals(3 + rng.normal(size=(100, 2)), rng.normal(size=(100, 2)))
    assert kinds(found) == ["bias"]
    assert found.bias == pytest.approx(3, abs=0.5)
    assert study_residuals(-3 + rng.normal(size=(100, 1))).bias < -2


def test_nothing_is_seen_in_normal_noise(rng):
    found = study_residuals(rng.normal(size=(1000, 4)), rng.normal(size=(1000, 2)))
    assert found.evidence == ()
    assert max(found.r_squared, found.bias_given, found.correlation_given) < 0.02


@pytest.mark.parametrize("width", [1, 3])
def test_noise_that_depends_on_the_context_is_seen(rng, width):
    X = rng.normal(size=(400, 3))
    found = study_residuals(np.exp(X[:, :1]) * rng.normal(size=(400, width)), X)
    assert kinds(found) == ["tails", "total"]
    assert found.r_squared > 0.3


def test_a_correlation_that_depends_on_the_context_is_seen(rng):
    X, noise = rng.normal(size=(500, 3)), rng.normal(size=(500, 2))
    turned = 0.9 * np.sign(X[:, 2]) * noise[:, 0] + sqrt(0.19) * noise[:, 1]
    found = study_residuals(np.column_stack([noise[:, 0], turned]), X)
    assert kinds(found) == ["correlation given"]
    # Products have variance 1 + .81 given the sign, and .81 more by the sign.
    assert found.correlation_given == pytest.approx(0.81 / 2.62, abs=0.1)
    same = 0.9 * noise[:, 0] + sqrt(0.19) * noise[:, 1]
    assert kinds(study_residuals(np.column_stack([noise[:, 0], same]), X)) == [
        "correlation"
    ]


def test_a_bias_that_depends_on_the_context_is_seen(rng):
    X, noise = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    found = study_residuals(
        noise + np.column_stack([np.zeros(500), np.sin(2 * X[:, 0])]), X
    )
    assert "bias given" in kinds(found)
    # The variance of sin is about 1/2, that of the noise 1.
    assert found.bias_given == pytest.approx(1 / 3, abs=0.12)


def test_contexts_may_be_categories_and_may_be_missing(rng):
    noisy = rng.random(400) < 0.5
    X = pd.DataFrame({"town": np.where(noisy, "u", "v"), "x": rng.normal(size=400)})
    X.loc[::7, "x"] = np.nan
    residuals = np.where(noisy, 5, 1)[:, None] * rng.normal(size=(400, 1))
    assert "total" in kinds(study_residuals(residuals, X))
    assert encode_contexts(X, 400)[:7, 1].argmin() == 0
    assert encode_contexts(pd.DataFrame({"d": [pd.Timestamp(0)] * 2}), 2).shape == (
        2,
        1,
    )
    assert encode_contexts(sparse.eye(4).tocsr(), 4) is None
    assert encode_contexts([{}, {}], 2) is None


def test_of_many_pairs_some_are_looked_at(rng):
    width = 16
    assert width * (width - 1) / 2 > MOST_PAIRS
    found = study_residuals(rng.normal(size=(40, width)), rng.normal(size=(40, 1)))
    assert found.evidence == ()
    tests = 2 * width + 2 * width + width + width * (width - 1) + width + MOST_PAIRS + 1
    assert found.limit == pytest.approx(stats.norm.isf(0.001 / tests))


def test_one_component_has_no_correlation(rng):
    found = study_residuals(rng.normal(size=(100, 1)), rng.normal(size=(100, 1)))
    assert found.correlation == found.correlation_given == 0.0


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_constant_residuals_are_no_evidence_of_shape(value):
    residuals = np.full((50, 2), value)
    found = study_residuals(residuals, np.arange(50.0)[:, None])
    assert found == Diagnosis(0.0, 0.0, -3.0, 0.0, 0.0, 0.0, 0.0, ())


def test_what_is_checked():
    with pytest.raises(InvalidParameter, match="at least 20 rows, got 19"):
        study_residuals(np.ones((19, 2)))
    with pytest.raises(InvalidParameter, match="non-empty matrix"):
        study_residuals(np.ones(50))
    with pytest.raises(InvalidParameter, match=r"each of the 50 residuals.*\(49, 1\)"):
        study_residuals(np.ones((50, 2)), np.ones((49, 1)))
    with pytest.raises(InvalidParameter, match=r"study_residuals\(delta="):
        study_residuals(np.ones((50, 2)), delta=0.0)


#: Residuals on which a search for the centre must come to an end.
STUBBORN = {
    "shifted by 1e7": lambda rng: 1e7 + rng.normal(size=(60, 2)),
    "shifted by 1e12": lambda rng: 1e12 + rng.normal(size=(60, 2)),
    "two values": lambda rng: np.where(rng.random((60, 2)) < 0.4, 0.3, -1.0),
    "two values, one of them up to rounding": lambda rng: np.where(
        rng.random((61, 2)) < 0.4, 1.0, 0.1 + 3e-17 * rng.integers(-2, 3, (61, 2))
    ),
    "two far clusters": lambda rng: (
        np.repeat([[-9.0], [9.0]], 30, axis=0) + 1e-3 * rng.normal(size=(60, 1))
    ),
    "huge": lambda rng: 1e200 * rng.normal(size=(60, 2)),
    "tiny": lambda rng: 1e-200 * rng.normal(size=(60, 2)),
    "one wild value": lambda rng: np.append(rng.normal(size=59), 1e150)[:, None],
}


@pytest.mark.parametrize("law", STUBBORN)
def test_the_study_always_ends(law):
    rng = np.random.default_rng(0)
    residuals, X = STUBBORN[law](rng), rng.normal(size=(61, 2))
    studies = []
    # A daemon: were the study never to end, the tests would all the same.
    work = Thread(
        target=lambda: studies.append(study_residuals(residuals, X[: len(residuals)])),
        daemon=True,
    )
    work.start()
    work.join(timeout=30)
    (study,) = studies
    assert len(study.surprises) == 7
    assert np.isfinite(study.surprises).all()


@pytest.mark.parametrize("unit", [1e-200, 1e-6, 1e6, 1e200])
def test_units_do_not_matter(unit, rng):
    X, residuals = rng.normal(size=(100, 2)), rng.gamma(2.0, size=(100, 3))
    here, there = study_residuals(residuals, X), study_residuals(unit * residuals, X)
    assert here.surprises == pytest.approx(there.surprises, rel=1e-6, abs=1e-6)


def test_a_shift_moves_the_bias_and_nothing_else(rng):
    residuals = rng.gamma(2.0, size=(200, 2))
    here, there = study_residuals(residuals), study_residuals(1e7 + residuals)
    assert there.skewness == pytest.approx(here.skewness, abs=1e-5)
    assert there.surprises[1:] == pytest.approx(here.surprises[1:], abs=1e-5)
