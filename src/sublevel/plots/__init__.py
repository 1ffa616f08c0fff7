"""Pictures of sets and promises, each with a companion that returns its facts.

| picture             | facts               | shows                                   |
|---------------------|---------------------|-----------------------------------------|
| `plot_set`          | `set_table`         | a set in two dimensions, its prediction |
| `calibration_curve` | `calibration_table` | nominal level against realised coverage |
| `budget_curve`      | `budget_table`      | budget against alpha, marginal and PAC  |
| `plot_choice`       | `sl.choose`         | candidates behind the best of them      |
| `plot_comparison`   | `comparison_table`  | regret and violations of policies       |
| `frontier`          | `Policy.frontier`   | what each violation level costs         |
| `plot_findings`     | `sl.diagnose`       | evidence against strong assertions      |

Every picture takes `ax=` and returns the Axes it drew on. Matplotlib is imported only
when a picture is drawn.
"""

from .choices import plot_choice
from .comparison import comparison_table, plot_comparison
from .findings import plot_findings
from .outline import plot_set, set_table
from .promises import (
    budget_curve,
    budget_table,
    calibration_curve,
    calibration_table,
)
from .trade_off import frontier

__all__ = [
    "budget_curve",
    "budget_table",
    "calibration_curve",
    "calibration_table",
    "comparison_table",
    "frontier",
    "plot_choice",
    "plot_comparison",
    "plot_findings",
    "plot_set",
    "set_table",
]
