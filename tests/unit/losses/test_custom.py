"""A user's own loss: accepted when convex, refused at once when not."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest

from sublevel import Prediction
from sublevel.errors import InvalidParameter
from sublevel.losses import Custom, get
from sublevel.sets import Sublevel

SAID = Prediction(np.zeros(2), np.ones(2))


def powered(y, location, power=3):
    return cp.norm(y - location, power)


def test_defaults_and_partials_do_not_ask_for_a_spread():
    assert Custom(powered).needs == "location"
    assert Custom(partial(powered, power=4)).needs == "location"
    assert Custom(lambda y, location, scale: cp.sum(y)).needs == "spread"


@pytest.mark.parametrize(
    "function",
    [
        lambda y, location: -cp.sum_squares(y - location),
        lambda y, location: y - location,
        lambda y, location: 3.0,
        lambda y: cp.sum(y),
        lambda y, location: np.sum(np.exp(y)),
    ],
)
def test_what_is_not_a_convex_scalar_is_refused(function):
    with pytest.raises(InvalidParameter, match="Custom"):
        get(function).check(SAID)
    with pytest.raises(InvalidParameter, match="Custom"):
        Sublevel(function, SAID, 1.0)


def test_one_context_and_many_agree():
    loss = Custom(powered)
    rows = np.random.default_rng(0).normal(size=(5, 2))
    batch = Prediction(np.ones((5, 2)))
    singles = [float(loss.score(Prediction(np.ones(2)), row)) for row in rows]
    assert loss.score(batch, rows) == pytest.approx(singles)


def test_an_empty_set_is_an_error_not_a_number():
    from sublevel.errors import EmptySet

    value = Sublevel(lambda y, location: cp.norm(y - location) + 2, np.zeros(2), 1.0)
    with pytest.raises(EmptySet):
        value.support([1.0, 0.0])
