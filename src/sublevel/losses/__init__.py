"""Losses: what a model was trained to make small, and the shape of its sets."""

from ..errors import InvalidParameter
from .absolute import Absolute
from .base import Loss, LossLike
from .combined import Combined
from .custom import Custom
from .epsilon_insensitive import EpsilonInsensitive
from .gamma import Gamma
from .gaussian import Gaussian
from .huber import Huber
from .interval import Interval
from .labels import CrossEntropy, Hinge, LabelLoss, ZeroOne
from .log_cosh import LogCosh
from .mahalanobis import Mahalanobis
from .nll import NLL
from .pinball import Pinball
from .poisson import Poisson
from .separable import SeparableLoss, SmoothLoss, SteepLoss
from .squared import Squared
from .weighted import WeightedLoss

#: Losses that can be asked for by name.
NAMES: dict[str, type[Loss]] = {
    "squared": Squared,
    "mahalanobis": Mahalanobis,
    "absolute": Absolute,
    "huber": Huber,
    "gaussian": Gaussian,
    "nll": NLL,
    "pinball": Pinball,
    "epsilon_insensitive": EpsilonInsensitive,
    "interval": Interval,
    "log_cosh": LogCosh,
    "poisson": Poisson,
    "gamma": Gamma,
    "cross_entropy": CrossEntropy,
    "hinge": Hinge,
    "zero_one": ZeroOne,
}
#: What other libraries call them.
OTHER_NAMES = {
    "mse": "squared",
    "squared_error": "squared",
    "l2": "squared",
    "mae": "absolute",
    "absolute_error": "absolute",
    "l1": "absolute",
    "log_loss": "cross_entropy",
    "quantile": "interval",
}


def get(loss: LossLike) -> Loss:
    """The loss meant by a name, a loss object or a CVXPY-convex callable.

    Examples
    --------
    >>> get("huber")
    Huber(weights=None, knee=1.0)
    """
    if isinstance(loss, str) and loss in NAMES:
        return NAMES[loss]()
    if isinstance(loss, type):
        raise InvalidParameter(
            f"loss must be an object, got the class {loss.__name__}. Say "
            f"{loss.__name__}()."
        )
    if isinstance(loss, Loss) or hasattr(loss, "components"):
        return loss  # type: ignore[return-value]
    if callable(loss):
        return Custom(loss)
    ours = OTHER_NAMES.get(loss) if isinstance(loss, str) else None
    raise InvalidParameter(
        f"loss must be one of {sorted(NAMES)}, a loss object or a callable that "
        f"returns a convex CVXPY expression, got {loss!r}."
        + ("" if ours is None else f" Here it is called {ours!r}.")
    )


__all__ = [
    "NAMES",
    "NLL",
    "Absolute",
    "Combined",
    "CrossEntropy",
    "Custom",
    "EpsilonInsensitive",
    "Gamma",
    "Gaussian",
    "Hinge",
    "Huber",
    "Interval",
    "LabelLoss",
    "LogCosh",
    "Loss",
    "Mahalanobis",
    "Pinball",
    "Poisson",
    "SeparableLoss",
    "SmoothLoss",
    "Squared",
    "SteepLoss",
    "WeightedLoss",
    "ZeroOne",
    "get",
]
