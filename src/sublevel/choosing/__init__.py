"""Which of several shapes is best for a decision, told on data of their own."""

from .choice import Choice
from .choose import choose
from .rationed import Rationed
from .weights import WeightChoice, choose_weights

__all__ = ["Choice", "Rationed", "WeightChoice", "choose", "choose_weights"]
