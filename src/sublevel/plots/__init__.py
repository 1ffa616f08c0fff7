"""Pictures of sets and promises, each with a companion that returns its facts.

| picture             | facts               | shows                                   |
|---------------------|---------------------|-----------------------------------------|
| `plot_set`          | `set_table`         | a set in two dimensions, its prediction |
| `calibration_curve` | `calibration_table` | nominal level against realised coverage |
| `budget_curve`      | `budget_table`      | budget against alpha, marginal and PAC  |
| `plot_choice`       | `sl.choose`         | candidates behind the best of them      |
| `plot_comparison`   | `comparison_table`  | regret and violations of policies       |
| `frontier`          | `Policy.frontier`   | what each violation level costs         |
| `plot_band`         | `Policy.band_`      | what may be promised at each level      |
| `plot_groups`       | `by_group`          | violations in each group of contexts    |
| `plot_findings`     | `sl.diagnose`       | evidence against strong assertions      |
| `plot_explanation`  | `Decision.explain`  | a decision's worst outcome, and its set |
| `plot_steps`        | `Policy.explain`    | what a step of alpha or data would buy  |
| `plot_over_time`    | `over_time_table`   | a policy's promises, row after row      |

Every picture takes `ax=` and returns the Axes it drew on. Matplotlib is imported only
when a picture is drawn.
"""

from .choices import plot_choice
from .comparison import comparison_table, plot_comparison
from .explained import plot_explanation, plot_steps
from .findings import plot_findings
from .groups import plot_groups
from .outline import plot_set, set_table
from .over_time import over_time_table, plot_over_time
from .promises import (
    budget_curve,
    budget_table,
    calibration_curve,
    calibration_table,
)
from .trade_off import frontier, plot_band

__all__ = [
    "budget_curve",
    "budget_table",
    "calibration_curve",
    "calibration_table",
    "comparison_table",
    "frontier",
    "over_time_table",
    "plot_band",
    "plot_choice",
    "plot_comparison",
    "plot_explanation",
    "plot_findings",
    "plot_groups",
    "plot_over_time",
    "plot_set",
    "plot_steps",
    "set_table",
]
