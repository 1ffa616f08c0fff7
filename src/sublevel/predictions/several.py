"""What counts as a model, and several models as one.

What such models have in common is here; the estimators themselves, in `models`, are
scikit-learn's, which a policy from a file may do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..errors import InvalidParameter
from .abilities import Model, Several, can, is_fitted, predicts

#: What a loss asks of a model: "location", "spread" (location and standard deviation),
#: "interval" (lower and upper quantile), "labels" (class probabilities or margins), or
#: a tuple of these, one a block.
Needs = str | tuple["Needs", ...]


class SideBySide(Several):
    """Models of which each predicts its own block of the outcome."""

    models: Sequence[object]
    widths: list[int] | None

    @property
    def parts(self) -> list[Any]:
        """The models that predict."""
        raise NotImplementedError


class LowerUpper(Several):
    """A lower and an upper model of the same outcomes."""

    @property
    def parts(self) -> list[Any]:
        """The lower and the upper model."""
        raise NotImplementedError

    @property
    def given(self) -> list[Model]:
        """The lower and the upper model as they were given, checked."""
        raise NotImplementedError


class OneForAll(Several):
    """One model that predicts every component."""

    @property
    def count(self) -> int | None:
        """How many components there are; None before it is told."""
        raise NotImplementedError


_RULE = (
    "LossSet(model=...) must be an estimator, a torch module, a function, or a "
    "non-empty list of these"
)


def as_model(model: object, needs: Needs = "location") -> Model:
    """A list of models becomes one, as a loss needs it; any other model is itself.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> as_model([LinearRegression(), LinearRegression()]).parts
    [LinearRegression(), LinearRegression()]
    """
    several = isinstance(model, list | tuple)
    whole = _together(model, needs) if isinstance(model, list | tuple) else model
    if isinstance(whole, LowerUpper):
        _ = whole.given
        return cast(Model, whole)
    if not isinstance(whole, SideBySide):
        return require_model(whole)
    if not isinstance(whole.models, list | tuple) or not whole.parts:
        raise InvalidParameter(f"{_RULE}, got {model!r}.")
    if isinstance(needs, tuple) and len(needs) == len(whole.models) and several:
        whole.models = [
            as_model(*pair) for pair in zip(whole.models, needs, strict=True)
        ]
    for part in whole.parts:
        if not isinstance(part, LowerUpper):
            require_model(part)
    return cast(Model, whole)


def _together(models: Sequence[object], needs: Needs) -> object:
    """A list of models as one estimator."""
    # These are scikit-learn's, which a single model does without.
    from .models import ModelBlocks, QuantilePair

    if needs != "interval":
        return ModelBlocks(list(models))
    if len(models) != 2:
        raise InvalidParameter(
            "LossSet(model=[lower, upper], loss='interval') must be given two models, "
            f"or two lists of models with one a column of Y, got {len(models)}. Say "
            "[[lower_0, lower_1, ...], [upper_0, upper_1, ...]] for several columns."
        )
    return QuantilePair(*models)


def require_model(model: object, owner: str = "LossSet") -> Model:
    """The model, if it can predict, and can be trained where it is not trained yet."""
    rule = _RULE.replace("LossSet", owner)
    if isinstance(model, type):
        raise InvalidParameter(
            f"{rule}, got the class {model.__name__}. Say {model.__name__}()."
        )
    if not (predicts(model) or callable(model)):
        raise InvalidParameter(
            f"{rule}, got {model!r}, which cannot predict. Say "
            "LossSet(LinearRegression()), for example."
        )
    if not is_fitted(model) and not can(model, "get_params"):
        name = type(model).__name__
        raise InvalidParameter(
            f"{rule}, got {name}, which has fit but no get_params: it cannot be "
            "copied for training, nor asked whether it is trained. Train it, then "
            "pass its predict function: LossSet(model.predict)."
        )
    return model
