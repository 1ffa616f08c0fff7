"""A settled rule says what the rule's expression says."""

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel.errors import InvalidParameter
from sublevel.robust import RobustProblem, Uncertain
from sublevel.robust.model.affine_rule import RuleParts

OUTCOMES = {
    "scalar": (),
    "vector": (4,),
    "matrix": (2, 3),
    "row": (1, 3),
    "column": (3, 1),
}


def settled(shapes, shape, **options):
    """A rule with random numbers, its reaction, and random outcomes set as values."""
    rng = np.random.default_rng(4)
    several = [Uncertain(s, name=f"r{k}") for k, s in enumerate(shapes)]
    u = sl.affine_rule(several if len(several) > 1 else several[0], shape, **options)
    for leaf in [*u.variables(), *several]:
        leaf.value = rng.normal(size=leaf.shape)
    return u, u.reaction(lambda variable: variable.value), [r.value for r in several]


def agrees(shapes, shape, **options):
    u, react, values = settled(shapes, shape, **options)
    flat = np.concatenate([np.ravel(value, order="F") for value in values])
    formula = react.intercept + np.tensordot(react.slopes, flat, axes=1)
    both = [react(flat), u.value, *([react(values[0])] if len(values) == 1 else [])]
    assert react(flat).shape == u.shape
    return all(np.allclose(found, formula) for found in both)


@pytest.mark.parametrize("shape", [(), 3, (2, 3)])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_reaction_is_the_expression(outcome, shape):
    assert agrees([OUTCOMES[outcome]], shape)
    assert agrees([OUTCOMES[outcome], (2, 2)], shape)
    assert agrees([OUTCOMES[outcome], (2, 2)], shape, sees=2)


def test_rows_of_outcomes_give_rows_of_decisions():
    _, react, _ = settled([(2, 2)], (2, 3))
    outcomes = np.random.default_rng(0).normal(size=(5, 4))
    expected = np.array([react(row) for row in outcomes])
    assert react(outcomes) == pytest.approx(expected)
    assert react(outcomes[0].reshape(2, 2, order="F")) == pytest.approx(expected[0])
    with pytest.raises(InvalidParameter, match=r"shape \(4,\) or \(n, 4\)"):
        react(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="read-only"):
        react.slopes[0] = 0


def wrong_sign(parts):
    return 2 * parts.intercept - RIGHT(parts)


def wrong_order(parts):
    (r,) = parts.parameters
    slopes = cp.reshape(parts.slopes, (r.size, len(parts.sees)), order="F").T
    return parts.intercept + slopes @ cp.vec(r, order="C")


RIGHT = RuleParts.expression


@pytest.mark.parametrize("wrong", [wrong_sign, wrong_order])
def test_a_wrong_sign_or_order_would_be_seen(wrong, monkeypatch):
    assert agrees([(2, 3)], 3)
    monkeypatch.setattr(RuleParts, "expression", wrong)
    assert not agrees([(2, 3)], 3)


def test_matrix_outcomes_are_read_column_by_column():
    """u = r[0, 1] is entry 2 of a 2 x 2 outcome, in the set and in the slopes."""
    r, x = Uncertain((2, 2), name="r"), cp.Variable()
    u = sl.affine_rule(r, name="u")
    region = sl.sets.Box(np.zeros(4), [1.0, 2.0, 3.0, 4.0])
    robust = RobustProblem(cp.Minimize(x), [u == r[0, 1], x >= u], {r: region})
    decision = robust.solve()
    assert decision.objective == pytest.approx(3.0, abs=1e-6)
    assert decision.value(u).slopes == pytest.approx([0, 0, 1, 0], abs=1e-6)


def test_sees_follows_the_shape_of_the_decision():
    """Two products, three periods: each period sees what came before."""
    u, react, _ = settled([(3,)], (2, 3), sees=np.arange(3))
    assert react.slopes.shape == (2, 3, 3)
    for period in range(3):
        assert react.slopes[:, period, :period].all()
        assert not react.slopes[:, period, period:].any()
    assert u.name().startswith("rule")
