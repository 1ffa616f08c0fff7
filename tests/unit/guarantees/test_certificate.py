"""The certificate: its interval, its text, its journey through JSON."""

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy import stats

from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import (
    PAC,
    Certificate,
    CVPlus,
    Marginal,
    Mondrian,
    Weighted,
)


@pytest.fixture
def certificate():
    return Marginal().calibrate(np.arange(1, 101), 0.1).certificate


def test_it_is_frozen(certificate):
    with pytest.raises(FrozenInstanceError):
        certificate.alpha = 0.2


def test_violation_interval_is_that_of_the_beta_law(certificate):
    low, high = certificate.violation_interval(0.8)
    law = stats.beta(100 + 1 - 91, 91)
    assert law.cdf(low) == pytest.approx(0.1)
    assert law.cdf(high) == pytest.approx(0.9)


def test_violation_interval_shrinks_with_the_sample():
    small = Marginal().calibrate(np.arange(99), 0.1).certificate.violation_interval()
    large = Marginal().calibrate(np.arange(9999), 0.1).certificate.violation_interval()
    assert small[0] < large[0] < 0.1 < large[1] < small[1]


def test_nothing_violates_an_infinite_budget(certificate):
    assert replace(certificate, budget=np.inf).violation_interval() == (0.0, 0.0)


@pytest.mark.parametrize(
    "other",
    [
        Marginal().promise(np.arange(30), 20.0),
        CVPlus().calibrate(np.arange(30), 0.1).certificate,
        PAC(candidates=2).calibrate(np.arange(50), 0.1).certificate,
    ],
)
def test_violation_interval_needs_independent_order_statistics(other):
    with pytest.raises(InvalidParameter, match="an order statistic of independent"):
        other.violation_interval()


def test_violation_interval_needs_a_level(certificate):
    with pytest.raises(InvalidParameter, match=r"level=.*strictly between 0 and 1"):
        certificate.violation_interval(1.0)


@pytest.mark.parametrize(
    "guarantee",
    [
        Marginal(),
        PAC(),
        CVPlus(),
        Mondrian(0),
        Weighted(lambda X: np.exp(X[:, 0])),
    ],
    ids=lambda g: type(g),
)
def test_it_survives_json(guarantee):
    X = np.zeros((40, 1))
    original = guarantee.calibrate(np.linspace(0, 1, 40), 0.2, X).certificate
    assert Certificate.from_dict(json.loads(json.dumps(original.to_dict()))) == original


@pytest.mark.parametrize("budget, written", [(np.inf, "inf"), (-np.inf, "-inf")])
def test_infinities_are_written_as_words(certificate, budget, written):
    infinite = replace(certificate, budget=budget)
    text = json.dumps(infinite.to_dict(), allow_nan=False)
    assert json.loads(text)["budget"] == written
    assert Certificate.from_dict(json.loads(text)) == infinite


def test_text_has_every_fact(certificate):
    text = str(certificate)
    for fact in (
        "Marginal: a new outcome leaves its set with probability at most 0.1",
        "on average over the calibration draw",
        "100 (9 needed)",
        "91 of 100",
        "in 90 % of calibration draws, if the scores are",
        "independent and untied",
        "exchangeable",
        "Theorem 2.2",
    ):
        assert fact in text
    assert "note" not in text
    assert "heuristic" not in text
    assert max(map(len, text.splitlines())) <= 88


def test_a_long_claim_is_broken_into_lines(certificate):
    event = "the decision breaks a constraint or costs more than certified " * 2
    lines = str(replace(certificate, event=event.strip())).splitlines()
    assert max(map(len, lines)) <= 88
    assert event in " ".join(lines)


def test_text_says_what_is_special(certificate):
    special = replace(certificate, heuristic=True, note="Mind the gap.", confidence=0.9)
    text = str(special)
    assert "leaves its set with probability about 0.1" in text
    assert "no theorem backs this level" in text
    assert "Mind the gap." in text
    assert "with confidence 0.9 over the calibration draw" in text


def test_text_of_an_infinite_budget_names_the_way_out():
    with pytest.warns(InfiniteBudget):
        text = str(Marginal().calibrate([1.0], 0.1).certificate)
    assert "budget              inf" in text
    assert "needs at least 9" in text
