"""Promises: calibration scores in, a budget and its certificate out.

| guarantee | promises alpha                                | needs               |
|-----------|-----------------------------------------------|---------------------|
| Marginal  | on average over the calibration draw          | exchangeable data   |
| PAC       | for this calibration, with confidence         | independent data    |
| Mondrian  | within each group of contexts                 | enough of each      |
| Weighted  | where contexts have shifted                   | the density ratio   |
| CVPlus    | when there is no data to set aside            | the folds' models   |
| TheoremA  | of one constraint, at every context           | what you vouch for  |

`TheoremA1` and `TheoremA3` vouch for other things; `diagnose` looks for evidence
against them. `PaperGeneral` is the paper's Theorem 3.1, `PaperFirst` and `PaperLLN` are
the two inequalities of its Theorem 3.2, which are heuristics and say so.

`certify_cost` bounds what the decisions of a policy fixed in advance will cost.

Modules of plain functions: `mean_bounds` (upper confidence bounds for a mean in
[0, 1]), `envelope` (the best bound behind Theorem 3.2), `classical` (the ellipsoid and
predict-then-calibrate) and `divergences` (balls around an observed law).
"""

from . import classical, divergences, envelope, mean_bounds
from .asserted import Asserted
from .calibration import Calibrated, Calibration, GroupedCalibration, Guarantee
from .certificate import Certificate
from .choice import get
from .component_bound import ComponentBound, SampleBound
from .cv_plus import CVPlus
from .diagnosis import Diagnosis, diagnose
from .marginal import Marginal
from .mondrian import Mondrian
from .order_statistic import OrderStatistic
from .pac import PAC
from .paper_bounds import PaperFirst, PaperLLN
from .paper_general import PaperGeneral
from .plug_in import PlugIn
from .post_decision import CostBound, certify_cost
from .subgaussian import kappa_of_coin, kappa_of_range
from .theorem_a import TheoremA, TheoremA1, conditional_level
from .theorem_a3 import TheoremA3
from .weighted import Weighted, WeightedCalibration

__all__ = [
    "PAC",
    "Asserted",
    "CVPlus",
    "Calibrated",
    "Calibration",
    "Certificate",
    "ComponentBound",
    "CostBound",
    "Diagnosis",
    "GroupedCalibration",
    "Guarantee",
    "Marginal",
    "Mondrian",
    "OrderStatistic",
    "PaperFirst",
    "PaperGeneral",
    "PaperLLN",
    "PlugIn",
    "SampleBound",
    "TheoremA",
    "TheoremA1",
    "TheoremA3",
    "Weighted",
    "WeightedCalibration",
    "certify_cost",
    "classical",
    "conditional_level",
    "diagnose",
    "divergences",
    "envelope",
    "get",
    "kappa_of_coin",
    "kappa_of_range",
    "mean_bounds",
]
