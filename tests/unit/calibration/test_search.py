"""The search for a level, on rules made of tables: no solver, any behaviour."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from sublevel.calibration.given_decided import count_scouts
from sublevel.calibration.levels import Geometric, Given
from sublevel.calibration.request import read_request
from sublevel.calibration.search import Looks, Search
from sublevel.guarantees import PAC, Calibration, Marginal, Mondrian, Weighted

INSTANCES = 100


@dataclass
class TableRule:
    """A rule that violates where a table of (levels, points) says so."""

    grid: np.ndarray
    scores: np.ndarray
    miss: np.ndarray
    decided: np.ndarray | bool = True
    fallback_miss: np.ndarray = None
    wave: int = 1
    asked: list = field(default_factory=list)
    has_sets: bool = True
    proves: Callable | None = None
    fails: Callable | None = None

    def __post_init__(self):
        if self.fallback_miss is None:
            self.fallback_miss = np.full(len(self.scores), -np.inf)

    @property
    def has_fallback(self):
        return bool(np.isfinite(self.fallback_miss).any())

    def look(self, levels, rows):
        self.asked += list(zip(levels.tolist(), rows.tolist(), strict=True))
        at = np.searchsorted(self.grid, levels)
        decided = np.broadcast_to(self.decided, self.miss.shape)
        return Looks(self.miss[at, rows], decided[at, rows])

    def search(self):
        return Search(self, Given(tuple(self.grid.tolist())), endless=False)


def adversarial(rng, n=None, wave=1):
    """Violations that come and go with the level, as long as they may."""
    n = int(rng.integers(20, 60)) if n is None else n
    k = int(rng.integers(2, 15))
    grid = np.sort(rng.choice(np.arange(1, 60), size=k, replace=False)) / 10.0
    scores = rng.choice(np.arange(1, 65), size=n) / 10.0
    bad = rng.random((k, n)) < rng.uniform(0.0, 0.6)
    bad &= scores > grid[:, None]  # a robust decision keeps its word inside the set
    return TableRule(grid, scores, np.where(bad, 0.5, -np.inf), wave=wave)


def envelope_by_definition(rule):
    """The lowest level from which on, all the way up, nothing is violated."""
    envelope = []
    for p, score in enumerate(rule.scores):
        last = max(np.flatnonzero(rule.miss[:, p] > 0), default=-1)
        if score > rule.grid[-1]:
            envelope.append(score)
        elif last == len(rule.grid) - 1:
            envelope.append(np.inf)
        else:
            envelope.append(rule.grid[last + 1])
    return np.array(envelope)


def contexts(rng, n):
    return np.column_stack([rng.random(n), rng.integers(0, 3, size=n)])


def third(X):
    return np.column_stack([X[:, 0] < 0.7, X[:, 0] > 0.3, X[:, 0] >= 0])


@dataclass(frozen=True)
class Silent:
    """A third party's guarantee that can't say when it is settled."""

    def calibrate(self, scores, alpha, X=None):
        return Marginal().calibrate(scores, alpha)

    def promise(self, scores, budget, X=None):
        return Marginal().promise(scores, budget)

    def minimum_sample_size(self, alpha):
        return Marginal().minimum_sample_size(alpha)


GUARANTEES = [
    Marginal(),
    PAC(0.2),
    PAC(0.2, candidates=2),
    Mondrian(1),
    Mondrian(third),
    Mondrian(third, PAC(0.3)),
    Mondrian(third, PAC(0.3), at_once=True),
    Weighted(lambda X: 0.2 + X[:, 0]),
    Weighted(lambda X: 1.0 * (X[:, 1] > 0)),
    Silent(),
]


@pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")
@pytest.mark.parametrize("wave", [1, 30])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: type(g).__name__)
def test_the_same_levels_as_from_all_envelope_scores(guarantee, wave):
    rng = np.random.default_rng(0)
    for _ in range(INSTANCES):
        rule = adversarial(rng, wave=wave)
        n, alpha = len(rule.scores), float(rng.choice([0.1, 0.2, 0.35]))
        X, new = contexts(rng, n), contexts(rng, 20)
        request = read_request("calibrate", alpha, guarantee)
        level = rule.search().calibrate(request, X)
        full = guarantee.calibrate(envelope_by_definition(rule), alpha, X)
        np.testing.assert_array_equal(level.at(new, 20), full.at(new, 20))
        assert level.certificate.alpha == alpha


@pytest.mark.filterwarnings("ignore::sublevel.errors.InfiniteBudget")
@pytest.mark.parametrize("guarantee", GUARANTEES[:-1], ids=lambda g: type(g).__name__)
def test_scores_are_computed_only_as_far_down_as_needed(guarantee):
    rng = np.random.default_rng(1)
    few, all_of_them = 0, 0
    for _ in range(50):
        rule = adversarial(rng, n=60)
        X = contexts(rng, 60)
        rule.search().calibrate(read_request("calibrate", 0.2, guarantee), X)
        everything = replace(rule, asked=[])
        everything.search().calibrate(read_request("calibrate", 0.2, Silent()), X)
        assert set(rule.asked) <= set(everything.asked)
        assert len(set(rule.asked)) == len(rule.asked)
        few, all_of_them = few + len(rule.asked), all_of_them + len(everything.asked)
    assert few < 0.8 * all_of_them


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_decisions_that_fail_inside_their_sets_are_violations(share):
    """They are not looked at, but for the answer; there they count at any level."""
    rng, moved = np.random.default_rng(4), 0
    for _ in range(INSTANCES):
        rule = adversarial(rng, n=60)
        failing = rng.random(60) < share
        request = read_request("calibrate", 0.2, Marginal())
        before = rule.search().calibrate(request, None).budget
        table = np.where(failing, np.inf, rule.miss)

        def fails(levels, rows, failing=failing):
            return failing[rows]

        careful = replace(rule, miss=table, fails=fails)
        level = careful.search().calibrate(request, None).budget
        scores = np.where(failing, np.inf, envelope_by_definition(rule))
        # Failures above the answer alone are not seen, and hurt nobody there.
        assert before <= level <= np.sort(scores)[Marginal().rank(60, 0.2) - 1]
        if np.isfinite(level):
            bad = (rule.scores > level) & (rule.miss[rule.grid >= level] > 0).any(
                axis=0
            )
            assert np.sum(bad | failing) <= 12
        moved += level > before
    assert moved > 20


@dataclass(frozen=True)
class Shrunk(Silent):
    """Names levels that are in no grid."""

    factor: float

    def calibrate(self, scores, alpha, X=None):
        calibration = Marginal().calibrate(scores, alpha)
        budget = self.factor * calibration.budget
        certificate = replace(calibration.certificate, budget=budget)
        return Calibration(budget, certificate)


def test_levels_between_two_of_the_grid_are_rounded_up():
    grid = np.array([1.0, 2.0, 3.0])
    scores = np.full(9, 2.5)
    bad = np.zeros((3, 9), dtype=bool)
    bad[0] = True  # every score is 2.0
    rule = TableRule(grid, scores, np.where(bad, 1.0, -np.inf))
    for factor, expected in [(1.0, 2.0), (1.2, 3.0), (0.7, 2.0), (2.0, 4.0)]:
        request = read_request("calibrate", 0.1, Shrunk(factor))
        level = rule.search().calibrate(request, None)
        # Below the lowest score nothing was looked at; above the grid all is safe.
        assert level.budget == level.certificate.budget == expected
        np.testing.assert_array_equal(level.at(None, 2), [expected] * 2)


def test_a_subclass_is_asked_itself():
    @dataclass(frozen=True)
    class Cautious(Marginal):
        def calibrate(self, scores, alpha, X=None):
            return super().calibrate(scores, alpha / 2)

        settling = None

    rule = adversarial(np.random.default_rng(2), n=60)
    calls = [
        read_request("calibrate", a, g)
        for a, g in ((0.2, Cautious()), (0.1, "marginal"))
    ]
    one, other = (rule.search().calibrate(call, None).budget for call in calls)
    assert one == other


# ---- tests in sequence, and risk -----------------------------------------------------


def test_learn_then_test_by_hand():
    rng = np.random.default_rng(3)
    for _ in range(100):
        rule = adversarial(rng, n=80)
        request = read_request("calibrate", 0.2, PAC(0.1), method="learn-then-test")
        level = rule.search().calibrate(request, None).budget
        allowed = 80 - PAC(0.1).rank(80, 0.2)
        reached = np.inf
        for at in range(len(rule.grid))[::-1]:
            if np.sum(rule.miss[at] > 0) > allowed:
                break
            reached = rule.grid[at]
        assert level == reached


def taken(rng, share, chance, n=200):
    """Decisions taken at a share of the points at each level, broken by chance."""
    k = len(share)
    decided = rng.random((k, n)) < np.asarray(share)[:, None]
    bad = decided & (rng.random((k, n)) < np.asarray(chance)[:, None])
    scores = np.full(n, 1000.0)
    grid = np.arange(1.0, k + 1)
    return TableRule(grid, scores, np.where(bad, 1.0, -np.inf), decided)


def test_given_decided_by_hand():
    rng = np.random.default_rng(4)
    rule = taken(rng, share=[0.9, 0.6, 0.5, 0.02], chance=[0.9, 0.05, 0.02, 0.0])
    request = read_request("calibrate", 0.2, PAC(0.1), given_decided=True)
    calibration = rule.search().calibrate(request, None)
    # Four levels, four starts. At the top too few decisions are taken to tell.
    passes = []
    for at in range(4):
        rank = PAC(0.1 / 4).rank(int(rule.decided[at].sum()), 0.2)
        bad = int(np.sum(rule.miss[at] > 0))
        passes.append(rank is not None and bad <= rule.decided[at].sum() - rank)
    assert passes == [False, True, True, False]
    assert calibration.budget == 2.0
    certificate = calibration.certificate
    assert certificate.event.startswith("among the decisions that are taken")
    assert certificate.confidence == 0.9
    assert certificate.sample_size == 200


def test_a_decision_that_failed_counts_as_one_taken_and_not_kept():
    rule = taken(np.random.default_rng(5), share=[1.0], chance=[0.0])
    request = read_request("calibrate", 0.2, PAC(0.1), given_decided=True)
    assert rule.search().calibrate(request, None).budget == 1.0
    rule.decided[:, :60] = False
    rule.miss[:, :60] = np.inf
    assert rule.search().calibrate(request, None).budget == np.inf


def test_without_a_grid_the_points_that_choose_it_are_not_counted():
    """The first tenth says where the levels lie; its decisions are never looked at."""
    rng = np.random.default_rng(6)
    scores = rng.exponential(size=400)

    @dataclass
    class Exact(TableRule):
        def look(self, levels, rows):
            self.asked += list(zip(levels.tolist(), rows.tolist(), strict=True))
            bad = self.scores[rows] > levels
            return Looks(np.where(bad, 1.0, -np.inf), np.ones(len(rows), dtype=bool))

    rule = Exact(np.array([1.0]), scores, None)
    request = read_request("calibrate", 0.2, PAC(0.1), given_decided=True)
    calibration = Search(rule, Geometric(), endless=True).calibrate(request, None)
    scouts = count_scouts(400)
    assert scouts == 40
    assert min(row for _, row in rule.asked) == scouts
    assert max(level for level, _ in rule.asked) <= 1.05 * scores[:scouts].max()
    assert calibration.certificate.sample_size == 360
    assert np.mean(scores > calibration.budget) < 0.2


def test_risk_by_hand():
    rng = np.random.default_rng(7)
    rule = adversarial(rng, n=60)
    rule.miss = np.where(rule.miss > 0, rng.uniform(0, 2, rule.miss.shape), -np.inf)
    request = read_request("calibrate", 0.3, "marginal", method="risk")
    level = rule.search().calibrate(request, None).budget
    losses = np.clip(rule.miss, 0, 1)
    envelope = np.maximum.accumulate(losses[::-1])[::-1]
    fine = [
        v
        for v, row in zip(rule.grid, envelope, strict=True)
        if (row.sum() + 1) / 61 <= 0.3
    ]
    assert level == (min(fine) if fine else np.inf)


# ---- what certificates say -----------------------------------------------------------


def rule_with_fallback(miss):
    n = 9
    bad = np.zeros((2, n), dtype=bool)
    return TableRule(
        np.array([1.0, 2.0]),
        np.full(n, 1.5),
        np.where(bad, 1.0, -np.inf),
        fallback_miss=np.full(n, miss),
    )


def headline(rule, **asked):
    request = read_request("calibrate", 0.1, "marginal", **asked)
    return str(rule.search().calibrate(request, None).certificate).split("\n  ")[0]


def test_contexts_without_a_decision_are_named_in_the_headline():
    rule = adversarial(np.random.default_rng(8), n=60)
    for guarantee in GUARANTEES:
        request = read_request("calibrate", 0.35, guarantee)
        X = contexts(np.random.default_rng(9), 60)
        certificate = rule.search().calibrate(request, X).certificate
        assert "or takes no decision, keeps its promise)" in " ".join(
            str(certificate).split()
        )
        for _, each in certificate.groups:
            assert "or takes no decision" in each.event


@pytest.mark.parametrize("miss", [-1.0, 1.0])
def test_a_marginal_promise_that_may_abstain_says_so(miss):
    """Where data may leave nothing to certify, alpha is not that of what is issued."""
    rule = rule_with_fallback(miss)
    assert "among certificates issued the rate may be higher" in headline(rule)
    assert "no decision" not in headline(rule)  # the fallback acts there
    assert "issued" not in headline(rule, delta=0.5)
    assert "with confidence 0.5" in headline(rule, delta=0.5)
    assert "issued" in headline(rule, method="risk")


def test_so_do_outcomes_that_no_level_covers():
    rule = adversarial(np.random.default_rng(10), n=60)
    assert "issued" not in headline(rule)
    rule.scores[0] = np.inf
    assert "issued" in headline(rule)
    request = read_request("calibrate", 0.1, Silent())
    certificate = rule.search().calibrate(request, None).certificate
    assert "issued" in certificate.holds
