"""What is compared or asserted: the paper's bounds, and those they are held against.

None of it is on the way from a model to a calibrated decision. Every bound that can
calibrate is a guarantee all the same: `LossSet.calibrate(guarantee=TheoremA(...))`.

| bound                    | is                                                     |
|--------------------------|--------------------------------------------------------|
| `TheoremA`, `TheoremA1`  | Theorem 3.2 corrected: at every context, if what you   |
|                          | vouch for is true                                      |
| `TheoremA3`              | the same, with part of it estimated                    |
| `PaperGeneral`           | the paper's Theorem 3.1: `Marginal` by another name    |
| `PaperFirst`, `PaperLLN` | the two inequalities of its Theorem 3.2: heuristics    |

`study_residuals` looks for evidence against what Theorem A asserts. Modules of plain
functions: `mean_bounds` (upper confidence bounds for a mean in [0, 1]), `envelope` (the
best bound behind Theorem 3.2), `classical` (the ellipsoid and predict-then-calibrate)
and `divergences` (balls around an observed law).
"""

from . import classical, divergences, envelope, mean_bounds
from .component_bound import ComponentBound, PlugIn, SampleBound
from .paper_bounds import PaperFirst, PaperGeneral, PaperLLN
from .residual_study import Diagnosis, study_residuals
from .subgaussian import kappa_of_coin, kappa_of_range
from .theorem_a import Asserted, TheoremA, TheoremA1, conditional_level
from .theorem_a3 import TheoremA3

__all__ = [
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
    "study_residuals",
]
