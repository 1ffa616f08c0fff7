"""One example worked by hand for the corrected counterpart.

prediction (1.3, -0.4, 0.7), direction (0.5, -1.2, 0.3), budget 0.8:
squared   1.34 + sqrt(0.8 * 1.78)      = 2.5333
absolute  1.34 + 0.8 * 1.2             = 2.3000
Huber     knee 0.7, u = max(sqrt(1.78 / 1.6), 1.2 / 0.7) = 12/7;
          1.34 + 0.8 u + 1.78 / (2 u)  = 3.2306
"""

import cvxpy as cp
import numpy as np
import pytest

from sublevel.losses import Absolute, Huber, Squared

PREDICTION = np.array([1.3, -0.4, 0.7])
DIRECTION = np.array([0.5, -1.2, 0.3])


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        (Squared(), 1.34 + np.sqrt(0.8 * 1.78)),
        (Absolute(), 1.34 + 0.8 * 1.2),
        (Huber(0.7), 1.34 + 0.8 * 12 / 7 + 1.78 / (2 * 12 / 7)),
    ],
)
def test_support_is_the_value_worked_by_hand(loss, value):
    assert loss.support(PREDICTION, 0.8, DIRECTION) == pytest.approx(value, abs=1e-12)
    dual = loss.counterpart(PREDICTION, 0.8, cp.Constant(DIRECTION))
    problem = cp.Problem(cp.Minimize(dual.value), dual.constraints)
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(value, abs=1e-6)


def test_the_printed_counterpart_loses_the_set():
    """rho u l*(v/u) falls to rho * prediction'v as u grows: the set disappears."""
    prediction_part = 0.8 * PREDICTION @ DIRECTION
    for u in (1e2, 1e4, 1e6):
        printed = 0.8 * (PREDICTION @ DIRECTION + DIRECTION @ DIRECTION / (4 * u))
        assert printed == pytest.approx(prediction_part, abs=1 / u)
    assert prediction_part < Squared().support(PREDICTION, 0.8, DIRECTION)
