"""Which models are ready to predict."""

import sys
from typing import Any


def is_fitted(model: Any) -> bool:
    """Whether the model has been trained, or has nothing to train.

    Anything without `fit` (a function) and any torch module is taken as ready;
    otherwise scikit-learn's convention decides: what was learned has a name that ends
    in an underscore. A Gaussian process that predicts from its prior counts as not
    fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> is_fitted(LinearRegression()), is_fitted(lambda X: X)
    (False, True)
    """
    if not hasattr(model, "fit") or is_torch_module(model):
        return True
    if hasattr(model, "__sklearn_is_fitted__"):
        return bool(model.__sklearn_is_fitted__())
    # An object with slots has no __dict__.
    learned = (name for name in getattr(model, "__dict__", ()) if name[:2] != "__")
    return any(name.endswith("_") for name in learned)


def is_torch_module(model: Any) -> bool:
    """Whether the model is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)
