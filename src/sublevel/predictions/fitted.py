"""Which models are ready to predict."""

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted


def is_fitted(model: Any) -> bool:
    """Whether the model can predict as it is.

    Anything without `fit` (a function, a torch module) is taken as ready.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> is_fitted(LinearRegression()), is_fitted(lambda X: X)
    (False, True)
    """
    if not hasattr(model, "fit") or isinstance(model, type):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True
