"""Promises about days: by hand, by enumeration, and with hours that go together."""

from dataclasses import dataclass
from itertools import permutations

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import sublevel as sl
from sublevel.errors import InfiniteBudget, InvalidParameter
from sublevel.guarantees import PAC, Certificate, Marginal, UnitAverage, WholeUnit
from sublevel.testing import check_guarantee


def column(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)[:, None]


def test_units_of_one_row_are_rows():
    """Then both are split calibration, whatever the level."""
    rng = np.random.default_rng(0)
    for size in (9, 19, 100, 333):
        scores, X = rng.normal(size=size), np.arange(size)[:, None]
        for alpha in (0.1, 0.2, 1 / 3):
            plain = Marginal().calibrate(scores, alpha).budget
            assert UnitAverage(0).calibrate(scores, alpha, X).budget == plain
            assert WholeUnit(0).calibrate(scores, alpha, X).budget == plain


def test_by_hand():
    """Two days of two hours and one of one; at most half of a new day."""
    X, scores = column([2, 2, 1]), [1.0, 4.0, 2.0, 3.0, 5.0]
    # Shares so far: 1/2, 1, 3/2, 2, 3 of K + 1 = 4 days; half of them is 2.
    assert UnitAverage(0).calibrate(scores, 0.5, X).budget == 4.0
    # The largest of each day are 4, 3, 5, and the middle one is wanted.
    assert WholeUnit(0).calibrate(scores, 0.5, X).budget == 4.0
    assert UnitAverage(0).promise(scores, 4.0, X).alpha == 0.5
    assert WholeUnit(0).promise(scores, 4.0, X).alpha == 0.5


def test_a_new_day_by_enumeration():
    """Each of four days in turn is the new one: the mean over orders is exact."""
    days = [[1.0, 9.0, 2.0], [3.0], [4.0, 8.0], [5.0, 5.5, 7.0, 1.5]]
    for alpha in (0.25, 0.4, 0.5):
        outside, some = [], []
        for order in permutations(range(4)):
            *old, new = [days[k] for k in order]
            X, scores = column([len(d) for d in old]), np.concatenate(old)
            each = UnitAverage(0).calibrate(scores, alpha, X).budget
            whole = WholeUnit(0).calibrate(scores, alpha, X).budget
            outside.append(np.mean(np.array(new) > each))
            some.append(max(new) > whole)
        assert np.mean(outside) <= alpha + 1e-12
        assert np.mean(some) <= alpha + 1e-12
        assert np.mean(outside) > 0.05


def draw(rng, days, hours=24):
    """Scores of hours: most of what moves them is the day."""
    return np.abs(rng.normal(size=(days, 1)) + 0.1 * rng.normal(size=(days, hours)))


def test_hours_that_go_together():
    """Nine days: hours calibrated as rows violate too often, days do not."""
    rng, runs, alpha = np.random.default_rng(1), 1000, 0.15
    rates = {"rows": [], "share": [], "any": []}
    X = column([24] * 9)
    for _ in range(runs):
        scores, new = draw(rng, 9).ravel(), draw(rng, 1).ravel()
        rows = Marginal().calibrate(scores, alpha).budget
        rates["rows"].append(np.mean(new > rows))
        rates["share"].append(
            np.mean(new > UnitAverage(0).calibrate(scores, alpha, X).budget)
        )
        rates["any"].append(
            np.any(new > WholeUnit(0).calibrate(scores, alpha, X).budget)
        )
    means = {name: np.mean(each) for name, each in rates.items()}
    errors = {name: np.std(each) / np.sqrt(runs) for name, each in rates.items()}
    assert means["share"] <= alpha + 3 * errors["share"]
    assert means["any"] <= alpha + 3 * errors["any"]
    # Negative control: what is assumed of rows matters.
    assert means["rows"] > alpha + 3 * errors["rows"]


@dataclass(frozen=True)
class Repeated:
    """Every score as a day of three hours that are the same: Marginal's own budgets."""

    kind: type

    def minimum_sample_size(self, alpha):
        return self.kind(0).minimum_sample_size(alpha)

    def calibrate(self, scores, alpha, X=None):
        return self.kind(0).calibrate(*self.tripled(scores, alpha))

    def promise(self, scores, budget, X=None):
        return self.kind(0).promise(*self.tripled(scores, budget))

    def tripled(self, scores, given):
        return np.repeat(scores, 3), given, column([3] * len(scores))


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("kind", [UnitAverage, WholeUnit])
def test_they_keep_the_contract(kind, alpha):
    check_guarantee(Repeated(kind), alpha)


@pytest.mark.parametrize("kind", [UnitAverage, WholeUnit])
def test_settling_never_changes_the_answer(kind):
    """Scores at or below the floor may be anything once it says so."""
    rng = np.random.default_rng(2)
    X = column(rng.integers(1, 6, size=30))
    scores = rng.random(len(X)).round(2)
    settled = kind(0).settling(len(X), 0.2, X)
    budget = kind(0).calibrate(scores, 0.2, X).budget
    seen = set()
    for floor in np.linspace(0, 1, 101):
        answer = settled(np.maximum(scores, floor), floor)
        seen.add(answer)
        lowered = np.where(scores <= floor, scores * rng.random(len(X)), scores)
        if answer:
            assert kind(0).calibrate(lowered, 0.2, X).budget == budget > floor
    assert seen == {True, False}


def hourly(days, start="2024-03-25"):
    times = pd.date_range(start, periods=24 * days, freq="h")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"forecast": 5 + rng.normal(size=24 * days)}, index=times)
    return X, X["forecast"].to_numpy()[:, None] + rng.normal(size=(24 * days, 1))


def make_policy():
    demand, stock = sl.Uncertain(name="demand"), cp.Variable(name="stock")
    sets = sl.LossSet(lambda X: np.asarray(X), loss="absolute")
    problem = sl.RobustProblem(cp.Minimize(stock), [stock >= demand], {demand: sets})
    return problem.compile()


def test_a_policy_promises_days(tmp_path):
    X, Y = hourly(12)
    policy = make_policy()
    scores = policy.envelope_scores(X, Y)
    policy.calibrate(X, Y, alpha=0.2, guarantee=WholeUnit("days"))
    days = X.index.tz_localize(None).normalize()
    largest = pd.Series(scores).groupby(np.asarray(days)).max().to_numpy()
    assert policy.budget_ == pytest.approx(Marginal().calibrate(largest, 0.2).budget)
    shown = " ".join(str(policy.certificate_).split())
    assert "on any row of a new day with probability at most 0.2" in shown
    assert "days calibrated on and the new one are exchangeable" in shown
    assert policy.certificate_.sample_size == 12
    policy.save(tmp_path / "p.npz")
    loaded = sl.load_policy(tmp_path / "p.npz", {"demand": lambda X: np.asarray(X)})
    assert loaded.decide(X[:3]).certificate.scope == "on any row of a new day"
    whole = policy.budget_
    policy.calibrate(X, Y, alpha=0.2, guarantee=UnitAverage("days"))
    assert policy.budget_ < whole
    assert "a row drawn at random from a new day" in " ".join(
        str(policy.certificate_).split()
    )


def test_a_certificate_says_what_times_mean():
    X, Y = hourly(12)
    policy = make_policy().calibrate(X, Y, alpha=0.1)
    (sentence,) = [s for s in policy.certificate_.assumptions if "drift" in s]
    assert "The rows are of 2024-03-25 00:00 to 2024-04-05 23:00" in sentence
    assert "UnitAverage('days')" in sentence
    assert "twice the mean total variation distance" in sentence
    policy.calibrate(X, Y, alpha=0.1, delta=0.05)
    (sentence,) = [s for s in policy.certificate_.assumptions if "drift" in s]
    assert "no confidence is left" in sentence
    policy.calibrate(X, Y, alpha=0.1, guarantee=UnitAverage("days"))
    (sentence,) = [s for s in policy.certificate_.assumptions if "drift" in s]
    assert "UnitAverage" not in sentence
    plain = make_policy().calibrate(X.to_numpy(), Y, alpha=0.1).certificate_
    assert not any("drift" in each for each in plain.assumptions)
    sets = sl.LossSet(lambda X: np.asarray(X)).calibrate(X, Y, 0.1, WholeUnit("days"))
    assert any("drift" in each for each in sets.certificate_.assumptions)
    assert "on any row of a new day" in " ".join(str(sets.certificate_).split())


def test_a_certificate_keeps_its_scope():
    X, Y = hourly(12)
    written = make_policy().calibrate(X, Y, guarantee=UnitAverage("days")).certificate_
    assert Certificate.from_dict(written.to_dict()) == written


def test_with_confidence():
    rng = np.random.default_rng(0)
    X, scores = column([5] * 60), rng.random(300)
    largest = scores.reshape(60, 5).max(axis=1)
    sure = WholeUnit(0, PAC(0.1)).calibrate(scores, 0.1, X)
    assert sure.budget == PAC(0.1).calibrate(largest, 0.1).budget
    assert "independent" in sure.certificate.assumptions[0]


def test_too_few_days():
    X, scores = column([24] * 8), np.arange(192.0)
    with pytest.warns(InfiniteBudget, match="at least 9 units for a finite.*got 8"):
        assert UnitAverage(0).calibrate(scores, 0.1, X).budget == np.inf
    with pytest.warns(InfiniteBudget, match="9 calibration units.*got 8"):
        assert WholeUnit(0).calibrate(scores, 0.1, X).budget == np.inf
    scores = np.where(np.arange(480) % 24 < 12, np.inf, 1.0)
    with pytest.warns(InfiniteBudget, match="240 scores are"):
        UnitAverage(0).calibrate(scores, 0.1, column([24] * 20))


@pytest.mark.parametrize("kind", [UnitAverage, WholeUnit])
def test_what_is_refused(kind):
    scores, X = np.arange(30.0), np.zeros((30, 1))
    with pytest.raises(InvalidParameter, match=r"unit=.*a function of X, got 2\.5"):
        kind(2.5)
    with pytest.raises(InvalidParameter, match="got X=None"):
        kind("days").calibrate(scores, 0.1)
    with pytest.raises(InvalidParameter, match="Give X a DatetimeIndex"):
        kind("days").calibrate(scores, 0.1, X)
    with pytest.raises(InvalidParameter, match=r"unit='day'.*column of X"):
        kind("day").calibrate(scores, 0.1, X)
    with pytest.raises(InvalidParameter, match="one label for each of the 30"):
        kind(lambda X: [1, 2]).calibrate(scores, 0.1, X)
    with pytest.raises(InvalidParameter, match="free of NaN"):
        kind(0).calibrate(np.full(30, np.nan), 0.1, X)


def test_only_order_statistics_are_read_off_whole_units():
    with pytest.raises(InvalidParameter, match="must be Marginal or PAC"):
        WholeUnit("days", sl.guarantees.Weighted(lambda X: X[:, 0]))
