"""The long-run promise of adaptive calibration, against an adversary."""

import numpy as np
import pytest

from sublevel.drift import Adaptive
from sublevel.errors import InvalidParameter

SCORES = np.arange(1.0, 100.0)


def run(adaptive, violates, steps):
    """Violations while the rule decides: at infinite budgets nothing can violate."""
    for t in range(steps):
        budget = adaptive.budget
        hit = budget < np.inf and (budget == -np.inf or violates(t, budget))
        adaptive.update(bool(hit))
    return adaptive.violations / adaptive.steps


@pytest.mark.parametrize("gamma", [0.005, 0.02, 0.2])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
@pytest.mark.parametrize(
    "violates",
    [
        lambda t, budget: True,
        lambda t, budget: False,
        lambda t, budget: t % 2 == 0,
        lambda t, budget: budget < 95 if t > 500 else budget < 20,
    ],
    ids=["always", "never", "every other", "a jump"],
)
def test_the_share_of_violations_comes_close_whatever_happens(alpha, gamma, violates):
    adaptive = Adaptive(SCORES, alpha, gamma)
    share = run(adaptive, violates, 2000)
    assert share - alpha <= adaptive.bound
    assert adaptive.bound == pytest.approx(min(1.0, (alpha + gamma) / (gamma * 2000)))


def test_quiet_times_run_up_no_debt():
    """Unprotected decisions that do not violate must not be paid back in violations."""
    adaptive = Adaptive(SCORES, 0.1, 0.05)
    for _ in range(3000):
        adaptive.update(False)
    assert adaptive.level == 1.0
    assert adaptive.violations == 0
    hits = 0
    for _ in range(100):  # from now on budgets below 80 violate
        hit = adaptive.budget < 80
        adaptive.update(bool(hit))
        hits += hit
    # From level 1 to 0.2, and then the promised share of what is left.
    assert hits <= 1 + 0.8 / (0.05 * 0.9) + 0.1 * 100


def test_an_unknown_score_is_left_out():
    with pytest.raises(InvalidParameter, match="must be a number, got nan"):
        Adaptive(SCORES, 0.1).update(False, score=np.nan)


def test_a_frozen_budget_does_not_follow():
    """Negative control: after the jump the calibrated budget violates for ever."""
    frozen = Adaptive(SCORES, 0.1).budget
    hits = [(frozen < 95 if t > 500 else frozen < 20) for t in range(2000)]
    assert abs(np.mean(hits) - 0.1) > 0.5


def test_the_budget_is_the_conformal_rank_at_the_present_level():
    assert Adaptive(SCORES, 0.1).budget == 90.0
    assert Adaptive(SCORES, 0.01).budget == 99.0
    adaptive = Adaptive(SCORES, 0.005)
    assert adaptive.budget == np.inf
    for _ in range(400):
        adaptive.update(False)
    assert adaptive.budget < 99.0


def test_new_scores_join_the_old_ones():
    adaptive = Adaptive([1.0, 2.0, 3.0], 0.5)
    assert adaptive.budget == 2.0
    for _ in range(20):
        adaptive.update(False, score=10.0)
        adaptive.level = 0.5
    assert adaptive.budget == 10.0


@pytest.mark.parametrize("bad", [None, 0.3, "yes"])
def test_a_step_is_true_or_false(bad):
    with pytest.raises(InvalidParameter, match="true or false"):
        Adaptive(SCORES, 0.1).update(bad)
