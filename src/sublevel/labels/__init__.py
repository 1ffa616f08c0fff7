"""Label combinations within a budget: laid out, listed, and the worst of them found."""

from .frontier import Choices, promising, undominated
from .oracle import best_labels, best_of, milp_labels, pareto_labels
from .table import (
    TOLERANCE,
    LabelCosts,
    Labels,
    LabelTable,
    are_affordable,
    excess_costs,
)

__all__ = [
    "TOLERANCE",
    "Choices",
    "LabelCosts",
    "LabelTable",
    "Labels",
    "are_affordable",
    "best_labels",
    "best_of",
    "excess_costs",
    "milp_labels",
    "pareto_labels",
    "promising",
    "undominated",
]
