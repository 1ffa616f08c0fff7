"""Promises: calibration scores in, a budget and its certificate out.

| guarantee | promises alpha                                | needs               |
|-----------|-----------------------------------------------|---------------------|
| Marginal  | on average over the calibration draw          | exchangeable data   |
| PAC       | for this calibration, with confidence         | independent data    |
| Mondrian  | within each group of contexts                 | enough of each      |
| Weighted  | where contexts have shifted                   | the density ratio   |
| CVPlus    | when there is no data to set aside            | the folds' models   |
"""

from .calibration import Calibrated, Calibration, GroupedCalibration, Guarantee
from .certificate import Certificate
from .choice import get
from .cv_plus import CVPlus
from .marginal import Marginal
from .mondrian import Mondrian
from .order_statistic import OrderStatistic
from .pac import PAC
from .weighted import Weighted, WeightedCalibration

__all__ = [
    "PAC",
    "CVPlus",
    "Calibrated",
    "Calibration",
    "Certificate",
    "GroupedCalibration",
    "Guarantee",
    "Marginal",
    "Mondrian",
    "OrderStatistic",
    "Weighted",
    "WeightedCalibration",
    "get",
]
