"""Which models are ready to predict."""

from typing import Any


def is_fitted(model: Any) -> bool:
    """Whether the model has been trained, or has nothing to train.

    Anything without `fit` (a function, a torch module) is taken as ready; otherwise
    scikit-learn's convention decides: what was learned has a name that ends in an
    underscore. A Gaussian process that predicts from its prior counts as not fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> is_fitted(LinearRegression()), is_fitted(lambda X: X)
    (False, True)
    """
    if not hasattr(model, "fit") or isinstance(model, type):
        return True
    if hasattr(model, "__sklearn_is_fitted__"):
        return bool(model.__sklearn_is_fitted__())
    learned = (name for name in vars(model) if not name.startswith("__"))
    return any(name.endswith("_") for name in learned)
