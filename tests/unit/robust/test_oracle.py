"""A user's own oracle decides as the set it speaks of would, and is tested."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter, NotRobustifiable, Unbounded
from sublevel.robust import Cuts, Oracle, RobustProblem, Uncertain

CENTER, RADIUS = np.array([1.0, 1.2, 0.7]), 0.4
BALL = sl.sets.Ellipsoid(CENTER, radius=RADIUS)


def ball(direction):
    length = np.linalg.norm(direction)
    return CENTER + RADIUS * direction / length if length else CENTER


def portfolio(oracle, **declared):
    r, w = Uncertain(3, name="r", **declared), cp.Variable(3, nonneg=True)
    return r, w, RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: oracle})


def test_an_oracle_equals_the_set_it_speaks_of():
    _, w, own = portfolio(Oracle(3, ball))
    _, v, built_in = portfolio(BALL)
    mine, theirs = own.solve(), built_in.solve()
    assert mine.status == "optimal"
    assert mine.objective == pytest.approx(theirs.objective, abs=1e-6)
    assert mine.value(w) == pytest.approx(theirs.value(v), abs=1e-3)
    assert mine.audit.own_oracles == ("r",)
    assert theirs.audit.own_oracles == ()
    assert own.solve(engine="cuts").objective == pytest.approx(mine.objective)


def test_any_object_with_dim_and_worst_case_will_do():
    class Ring:
        """Two points: not convex, which a worst case does not mind."""

        dim = 3

        def worst_case(self, direction):
            return max(CENTER + [0.3, -0.3, 0], CENTER - 0.3, key=direction.__matmul__)

    decision = portfolio(Ring())[2].solve()
    points = np.array([CENTER + [0.3, -0.3, 0], CENTER - 0.3])
    truth = portfolio(sl.sets.Finite(points))[2].solve()
    assert decision.objective == pytest.approx(truth.objective, abs=1e-6)


def test_predicted_oracles_follow_the_context():
    class Shifted:
        def predict_set(self, X):
            return [Oracle(3, lambda d, s=s: ball(d) + s) for s in np.ravel(X)]

    _, _, robust = portfolio(Shifted())
    near, far = robust.solve([[0.0]]), robust.solve([[0.5]])
    assert far.objective - near.objective == pytest.approx(0.5, abs=1e-6)


def test_scenarios_need_contains():
    r, _, robust = portfolio(Oracle(3, ball))
    first = robust.solve()
    with pytest.raises(InvalidParameter, match="has no contains"):
        robust.solve(engine=Cuts(scenarios=first.scenarios))
    r, _, robust = portfolio(Oracle(3, ball, BALL.contains))
    again = robust.solve(engine=Cuts(scenarios={r: robust.solve().scenarios[r]}))
    assert again.rounds < first.rounds
    assert again.objective == pytest.approx(first.objective, abs=1e-6)


def flighty(count):
    """Right at first, then the centre: convicted by its own earlier answers."""
    calls = iter(range(count))

    def answer(direction):
        return ball(direction) if next(calls, None) is not None else CENTER

    return answer


@pytest.mark.parametrize(
    ("oracle", "message"),
    [
        (Oracle(3, lambda d: np.zeros(2)), r"shape \(3,\)"),
        (Oracle(3, lambda d: np.full(3, np.nan)), "finite array"),
        (Oracle(3, lambda d: ["a", "b", "c"]), "must be numeric"),
        (Oracle(3, lambda d: 2 * ball(d), BALL.contains), r"contains\(\) denies"),
        (Oracle(3, ball, lambda y: True), r"shape \(1,\)"),
        (Oracle(3, flighty(4)), "an earlier answer"),
        (Oracle(2, ball), "dimension 3, got 2"),
    ],
)
def test_answers_that_cannot_be_right_are_refused(oracle, message):
    with pytest.raises(InvalidParameter, match=message):
        portfolio(oracle)[2].solve()


def test_declared_signs_are_checked():
    below = Oracle(3, lambda d: ball(d) - 2.0)
    with pytest.raises(InvalidParameter, match="negative entries"):
        portfolio(below, nonneg=True)[2].solve()
    above = portfolio(Oracle(3, ball), nonneg=True)[2].solve()
    assert above.status == "optimal"


def test_what_is_unbounded_or_has_no_dual():
    class Endless:
        dim, is_bounded = 3, False

        def worst_case(self, direction):
            return direction

    with pytest.raises(Unbounded):
        portfolio(Endless())[2].solve()
    with pytest.raises(NotRobustifiable, match="Use engine='cuts'"):
        portfolio(Oracle(3, ball))[2].solve(engine="dual")


def test_a_consistent_liar_passes_and_the_audit_says_on_whose_word():
    """Worst cases of half the ball: only the truth could convict it."""
    half = Oracle(3, lambda d: CENTER + (ball(d) - CENTER) / 2)
    _, w, robust = portfolio(half)
    decision = robust.solve()
    assert decision.status == "optimal"
    assert decision.audit.own_oracles == ("r",)
    assert -BALL.support(-decision.value(w)) < decision.objective - 0.05
