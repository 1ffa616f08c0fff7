"""Promises: calibration scores in, a budget and its certificate out.

| guarantee | promises alpha                                | needs               |
|-----------|-----------------------------------------------|---------------------|
| Marginal  | on average over the calibration draw          | exchangeable data   |
| PAC       | for this calibration, with confidence         | independent data    |
| Mondrian  | within each group, which may overlap          | enough of each      |
| Weighted  | where contexts have shifted                   | the density ratio   |
| CVPlus    | when there is no data to set aside            | the folds' models   |
| UnitAverage | on average over the rows of a new day       | exchangeable days   |
| WholeUnit | on all rows of a new day at once              | exchangeable days   |

`certify_cost` bounds what the decisions of a policy fixed in advance will cost.

The bounds that rest on assertions, and those of the paper, are in `sublevel.theory`;
they are guarantees too, and can be asked for by name here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .calibration import Calibrated, Calibration, GroupedCalibration, Guarantee
from .certificate import Certificate
from .choice import get
from .cv_plus import CVPlus
from .faces import CrossFitting, Settling
from .marginal import Marginal
from .mondrian import Mondrian
from .order_statistic import OrderStatistic
from .pac import PAC
from .post_decision import CostBound, certify_cost
from .unit_average import UnitAverage
from .weighted import Weighted, WeightedCalibration
from .whole_unit import WholeUnit

__all__ = [
    "PAC",
    "CVPlus",
    "Calibrated",
    "Calibration",
    "Certificate",
    "CostBound",
    "CrossFitting",
    "GroupedCalibration",
    "Guarantee",
    "Marginal",
    "Mondrian",
    "OrderStatistic",
    "Settling",
    "UnitAverage",
    "Weighted",
    "WeightedCalibration",
    "WholeUnit",
    "certify_cost",
    "get",
]

#: What users may also ask for here. The theory builds on this package, not the other
#: way round, so it is looked up when a name is first asked for.
_IN_THEORY = (
    "Asserted",
    "ComponentBound",
    "Diagnosis",
    "PaperFirst",
    "PaperGeneral",
    "PaperLLN",
    "PlugIn",
    "SampleBound",
    "TheoremA",
    "TheoremA1",
    "TheoremA3",
    "classical",
    "conditional_level",
    "divergences",
    "envelope",
    "kappa_of_coin",
    "kappa_of_range",
    "mean_bounds",
)

if TYPE_CHECKING:
    from ..theory import Asserted as Asserted
    from ..theory import ComponentBound as ComponentBound
    from ..theory import Diagnosis as Diagnosis
    from ..theory import PaperFirst as PaperFirst
    from ..theory import PaperGeneral as PaperGeneral
    from ..theory import PaperLLN as PaperLLN
    from ..theory import PlugIn as PlugIn
    from ..theory import SampleBound as SampleBound
    from ..theory import TheoremA as TheoremA
    from ..theory import TheoremA1 as TheoremA1
    from ..theory import TheoremA3 as TheoremA3
    from ..theory import classical as classical
    from ..theory import conditional_level as conditional_level
    from ..theory import divergences as divergences
    from ..theory import envelope as envelope
    from ..theory import kappa_of_coin as kappa_of_coin
    from ..theory import kappa_of_range as kappa_of_range
    from ..theory import mean_bounds as mean_bounds
else:

    def __getattr__(name: str) -> Any:
        """A name of `sublevel.theory`."""
        if name in _IN_THEORY:
            return getattr(import_module("..theory", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_IN_THEORY})
