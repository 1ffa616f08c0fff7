"""What policies are worth on test data: violations, costs, regret, comparisons."""

from .comparison import Comparison, evaluate
from .evaluation import Evaluation

__all__ = ["Comparison", "Evaluation", "evaluate"]
