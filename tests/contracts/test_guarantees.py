"""Every guarantee that works on scores alone keeps the contract."""

from dataclasses import dataclass, replace

import pytest

from sublevel.guarantees import PAC, CVPlus, Marginal
from sublevel.testing import ContractBroken, check_guarantee


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("guarantee", [Marginal(), PAC(), PAC(0.01, 5), CVPlus()])
def test_every_guarantee_keeps_the_contract(guarantee, alpha):
    check_guarantee(guarantee, alpha)


@dataclass(frozen=True)
class Careless(Marginal):
    """The plain quantile, with no price for a finite sample."""

    def calibrate(self, scores, alpha, X=None):
        found = super().calibrate(scores, min(0.999, 1.2 * alpha))
        return replace(found, certificate=replace(found.certificate, alpha=alpha))


def test_a_careless_guarantee_is_caught():
    with pytest.raises(ContractBroken, match="the level calibrated for"):
        check_guarantee(Careless())
