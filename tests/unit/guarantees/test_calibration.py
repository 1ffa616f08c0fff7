"""What calibrating returns, whatever the guarantee."""

import numpy as np
import pytest

from sublevel.guarantees import (
    PAC,
    Calibrated,
    CVPlus,
    Guarantee,
    Marginal,
    Mondrian,
    Weighted,
)


@pytest.mark.parametrize(
    "guarantee",
    [Marginal(), PAC(), CVPlus(), Mondrian(0), Weighted(lambda X: 1 + X[:, 0])],
    ids=lambda g: type(g),
)
def test_every_guarantee_and_calibration_has_the_same_shape(guarantee):
    X = np.zeros((50, 1))
    calibration = guarantee.calibrate(np.arange(50), 0.1, X)
    assert isinstance(guarantee, Guarantee)
    assert isinstance(calibration, Calibrated)
    budgets = calibration.at(X[:7], 7)
    assert budgets.shape == (7,)
    assert budgets.dtype == float
    assert (budgets == calibration.certificate.budget).all()


def test_one_budget_everywhere():
    calibration = Marginal().calibrate([1.0, 2.0, 3.0], 0.25)
    np.testing.assert_array_equal(calibration.at(None, 3), [3.0, 3.0, 3.0])
    assert calibration.at(None, 0).shape == (0,)
