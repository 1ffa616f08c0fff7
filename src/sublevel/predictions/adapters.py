"""Predictions from any model: scikit-learn style, torch modules, plain callables.

X is handed to the model as it came: a DataFrame stays a DataFrame.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from ..checks import Array, are_laws, as_numbers, briefly
from ..errors import InvalidParameter
from .abilities import (
    Model,
    can,
    chosen_by,
    classes_of,
    is_classifier,
    is_torch_module,
    last_step,
    margins_asked_for,
    name_of,
    predicts,
)
from .classes import outcomes_of
from .outcomes import Labels
from .prediction import AnyPrediction, JointPrediction, LabelPrediction, Prediction
from .several import LowerUpper, Needs, SideBySide
from .tables import (
    Column,
    Table,
    count_rows,
    index_of,
    is_frame,
    require_aligned,
    take_rows,
)


def predict(model: Model, X: Table, needs: Needs) -> AnyPrediction:
    """The model's prediction at every row of X, checked for shape and finiteness.

    Examples
    --------
    >>> predict(lambda X: X[:, :1] * 2, np.ones((2, 3)), "location").location
    array([[2.],
           [2.]])
    """
    if isinstance(needs, tuple):
        return _joint(model, X, needs)
    if isinstance(model, SideBySide):
        return _side_by_side([predict(part, X, needs) for part in model.parts])
    if isinstance(model, LowerUpper) and needs == "interval":
        return _between([predict(end, X, "location").point for end in model.parts])
    if "torch" in sys.modules and is_torch_module(model):
        return _read(_run_torch(model, X), model, X, needs)
    if isinstance(model, type) or not (predicts(model) or callable(model)):
        raise InvalidParameter(
            f"A model must be an estimator, a torch module or a function, got "
            f"{briefly(model)}, which cannot predict."
        )
    if not predicts(model):
        return _read(cast(Any, model)(X), model, X, needs)
    if needs == "labels":
        return _labels(model, X)
    if is_classifier(model):
        raise InvalidParameter(
            f"A regression loss needs a regressor, got {name_of(model)}, a classifier. "
            "Use loss='cross_entropy', 'hinge' or 'zero_one'."
        )
    if needs == "spread":
        return _pair(_with_spread(model)(X), model, X)
    return _read(model.predict(X), model, X, needs)


def _joint(model: Model, X: Table, needs: tuple[Needs, ...]) -> JointPrediction:
    if not isinstance(model, SideBySide) or len(model.parts) != len(needs):
        count = len(model.parts) if isinstance(model, SideBySide) else 1
        raise InvalidParameter(
            f"Combined has {len(needs)} losses and needs a list of as many models, "
            f"got {count}."
        )
    pairs = zip(model.parts, needs, strict=True)
    return JointPrediction(tuple(predict(part, X, need) for part, need in pairs))


def _side_by_side(parts: list[AnyPrediction]) -> AnyPrediction:
    if isinstance(parts[0], LabelPrediction):
        kinds = {part.probabilities is None for part in parts}  # type: ignore[union-attr]
        if len(kinds) > 1:
            raise InvalidParameter(
                "ModelBlocks must hold classifiers that all have predict_proba, or "
                "all lack it."
            )
        values = tuple(block for part in parts for block in part.values)  # type: ignore[union-attr]
        return LabelPrediction(None, values) if kinds.pop() else LabelPrediction(values)
    location = np.concatenate([part.location for part in parts], axis=1)  # type: ignore[union-attr]
    scales = [part.scale for part in parts]  # type: ignore[union-attr]
    if any(scale is None for scale in scales):
        return Prediction(location)
    scale = np.concatenate(scales, axis=1)
    return Prediction(location, scale, factor=_block_factor(parts, scale))


def _block_factor(parts: Sequence[Any], scale: Array) -> Array | None:
    """Factors of models side by side, which know nothing of one another's errors."""
    if all(part.factor is None for part in parts):
        return None
    factor = scale[:, :, None] * np.eye(scale.shape[1])
    start = 0
    for part in parts:
        stop = start + part.width
        if part.factor is not None:
            factor[:, start:stop, start:stop] = part.factor
        start = stop
    return factor


def _between(ends: Sequence[Array]) -> Prediction:
    """Intervals from the predictions of a lower and an upper model."""
    lower, upper = ends
    if lower.shape != upper.shape:
        raise InvalidParameter(
            "A lower and an upper quantile model must predict the same components, got "
            f"shapes {lower.shape} and {upper.shape}."
        )
    return Prediction.between(lower, upper)


def _labels(model: Any, X: Table) -> AnyPrediction:
    if can(model, "predict_proba"):
        given = model.predict_proba(X)
        return _labelled(given if isinstance(given, list) else [given], model, X)
    if can(model, "decision_function"):
        margins = LabelPrediction(None, (class_margins(model, X),))
        return _checked(margins, model, X, "labels")
    raise InvalidParameter(
        f"A label loss needs a classifier with predict_proba or decision_function, "
        f"got {name_of(model)}."
    )


def _with_spread(model: Model) -> Callable[[Table], Any]:
    """The model's way to predict location and spread together."""
    inner = chosen_by(model)
    taken = _parameters_of(last_step(inner).predict)
    if "return_factor" in taken:
        return lambda X: inner.predict(X, return_factor=True)
    if "return_std" in taken:
        return lambda X: inner.predict(X, return_std=True)
    raise InvalidParameter(
        f"This loss needs a predicted spread, and {name_of(model)} has no "
        "predict(X, return_std=True). Use a model that has it, a callable that "
        "returns (location, scale), or loss='squared'."
    )


#: Names of the parameters of functions that were looked at: that is dear.
_PARAMETERS: WeakKeyDictionary[FunctionType, frozenset[str]] = WeakKeyDictionary()


def _parameters_of(method: Callable[..., Any]) -> frozenset[str]:
    """Names of what a method, or a function, takes."""
    function = getattr(method, "__func__", method)
    if not isinstance(function, FunctionType):
        return frozenset(inspect.signature(method).parameters)
    if function not in _PARAMETERS:
        _PARAMETERS[function] = frozenset(inspect.signature(function).parameters)
    return _PARAMETERS[function]


def _run_torch(module: Any, X: Table) -> Any:
    torch = sys.modules["torch"]
    like = next(iter(module.parameters()), torch.empty(0))
    raw = X if torch.is_tensor(X) else np.array(X)
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            given = module(torch.as_tensor(raw, dtype=like.dtype, device=like.device))
    finally:
        module.train(training)
    if isinstance(given, tuple):
        return tuple(part.cpu().numpy() for part in given)
    return given.cpu().numpy()


def _read(given: Any, model: Model, X: Table, needs: str) -> AnyPrediction:
    """What a callable, a torch module or `predict` returned."""
    if isinstance(given, Prediction | LabelPrediction | JointPrediction):
        return _checked(given, model, X, needs)
    if needs == "labels":
        blocks = given if isinstance(given, tuple | list) else (given,)
        return _labelled(blocks, model, X)
    if needs == "interval":
        return _ends(given, model, X)
    if isinstance(given, tuple) and len(given) == 2:
        return _pair(given, model, X)
    if needs == "spread":
        raise InvalidParameter(
            f"This loss needs a predicted spread: {name_of(model)} must return a pair "
            "(location, scale), got one array."
        )
    location = _numbers(given, model, X)
    if location.ndim == 1:
        location = location.reshape(-1, 1)
    _check_array(location, count_rows(X), model, "predictions")
    return Prediction(location)


def _labelled(blocks: Sequence[Any], model: Model, X: Table) -> AnyPrediction:
    """Class probabilities, one array a block."""
    numbers = tuple(_numbers(block, model, X) for block in blocks)
    return _checked(LabelPrediction(numbers), model, X, "labels")


def _ends(given: object, model: Model, X: Table) -> Prediction:
    """A lower and an upper end."""
    if not isinstance(given, tuple) or len(given) != 2:
        raise InvalidParameter(
            f"This loss needs a lower and an upper quantile, and {name_of(model)} gave "
            f"{briefly(given)}. Give two models, LossSet([lower, upper], "
            "loss='interval'), or a function that returns a pair (lower, upper)."
        )
    lower, upper = (_columns(part, model, X) for part in given)
    for end in (lower, upper):
        _check_array(end, count_rows(X), model, "quantiles")
    return _between([lower, upper])


def _pair(given: object, model: Model, X: Table) -> Prediction:
    """A location and a spread, or a factor of the covariance."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidParameter(
            f"{name_of(model)} must give a pair (location, scale), got "
            f"{briefly(given)}."
        )
    rows = count_rows(X)
    location, scale = (_columns(part, model, X) for part in given)
    _check_array(location, rows, model, "predictions")
    if scale.ndim == 3:
        return _with_factor(location, scale, model)
    _check_array(scale, rows, model, "spreads")
    if scale.shape != location.shape:
        raise InvalidParameter(
            f"{name_of(model)} must give one spread a component, got shape "
            f"{scale.shape} for predictions of shape {location.shape}."
        )
    _check_spread(scale, model)
    return Prediction(location, scale)


def _with_factor(location: Array, factor: Array, model: Model) -> Prediction:
    """A prediction whose factor may be refused in the name of its model."""
    try:
        return Prediction(location, factor=factor)
    except InvalidParameter as error:
        raise InvalidParameter(f"{name_of(model)}: {error}") from error


def _numbers(values: Table, model: Model, X: Table) -> Array:
    """What a model gave, as numbers in the order of the rows of X."""
    if type(values) is np.ndarray and values.dtype.kind == "f":
        # What is most often given is not looked into.
        return values.astype(float, copy=False)
    owner, what = name_of(model), "its prediction"
    if is_frame(values):
        require_aligned(values, X, owner, what)
        if not values.index.equals(index_of(X)):
            # Rows that the model has numbered itself.
            require_aligned(values, values.reset_index(drop=True), owner, what)
    return as_numbers(owner, "prediction", values)


def _columns(values: Table, model: Model, X: Table) -> Array:
    array = _numbers(values, model, X)
    return array.reshape(-1, 1) if array.ndim == 1 else array


def _checked(
    prediction: AnyPrediction, model: Model, X: Table, needs: str
) -> AnyPrediction:
    """The prediction, if it is what was asked for, of as many rows as X, finite."""
    rows = count_rows(X)
    if isinstance(prediction, LabelPrediction):
        for block in prediction.values:
            _check_array(block, rows, model, "predictions")
        for block in prediction.probabilities or ():
            _check_probabilities(block, model)
    elif isinstance(prediction, Prediction):
        _check_array(prediction.location, rows, model, "predictions")
        if prediction.scale is not None:
            _check_array(prediction.scale, rows, model, "spreads")
            if needs != "interval":
                _check_spread(prediction.scale, model)
    if isinstance(prediction, LabelPrediction) != (needs == "labels"):
        raise InvalidParameter(
            f"The loss needs {needs}, and {name_of(model)} returned a "
            f"{type(prediction).__name__}."
        )
    return prediction


def _check_array(values: Array, rows: int, model: Model, what: str) -> None:
    if values.ndim != 2 or len(values) != rows:
        raise InvalidParameter(
            f"{name_of(model)} must give {what} of shape ({rows}, m) for {rows} rows "
            f"of X, got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values).all(axis=1)))
        raise InvalidParameter(
            f"{name_of(model)} must give finite {what}, got {values[row]} for row "
            f"{row} of X. Check that row."
        )


def _check_probabilities(block: Array, model: Model) -> None:
    wrong = ~are_laws(block)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidParameter(
            f"{name_of(model)} must give class probabilities that are at least 0 and "
            f"sum to 1, got {block[row]} for row {row}. If these are logits, end the "
            "model with a softmax."
        )


def _check_spread(scale: Array, model: Model) -> None:
    if (scale <= 0).any():
        row = int(np.argmax((scale <= 0).any(axis=1)))
        raise InvalidParameter(
            f"{name_of(model)} must give positive spreads, got {scale[row]} for "
            f"row {row} of X. Put a floor under the spread, or add a noise term."
        )


#: Rows on which margins are compared with the labels predicted.
FEWEST_COMPARED, MOST_COMPARED = 10, 100


def class_margins(model: Any, X: Table) -> Array:
    """The model's decision values, shape (n, number of classes).

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> class_margins(LinearSVC().fit(X, y), X).shape
    (4, 2)
    """
    margin = _numbers(cast(Any, model).decision_function(X), model, X)
    if margin.ndim == 1:
        # Two classes: the pair (-f/2, f/2) has difference f, the usual margin.
        return np.stack([-margin / 2, margin / 2], axis=1)
    classes = classes_of(model)[0] if classes_of(model) else None
    if classes is not None and _is_pairwise(model, X, margin, classes):
        raise InvalidParameter(
            f"{type(model).__name__}.decision_function(X) must give one margin a "
            f"class, got {margin.shape[1]} margins of pairs for {len(classes)} "
            "classes. Say decision_function_shape='ovr'."
        )
    return margin


def _is_pairwise(model: Model, X: Table, margin: Array, classes: Column) -> bool:
    """Whether the margins compare pairs of classes, as one-versus-one does."""
    if margin.shape[1] != len(classes):
        return True
    if len(classes) != 3:
        return False
    # Three classes make three pairs: the shapes agree and only the meaning differs.
    if margins_asked_for(model) == "ovo":
        return True
    n = min(count_rows(X), MOST_COMPARED)
    if n < FEWEST_COMPARED:
        return False
    predicted = np.asarray(cast(Any, model).predict(take_rows(X, np.arange(n))))
    top = classes[np.argmax(margin[:n], axis=1)]
    # Votes of pairs can tie, so a few rows may differ for honest margins too.
    return bool(np.mean(top == predicted) < 0.5)


def predict_point(model: Model, X: Table, needs: Needs) -> Any:
    """What `model.predict` says, or would say: numbers, or the likeliest labels.

    Returns
    -------
    array of shape (n,) or (n, columns of Y); of objects where numbers and labels mix.

    Examples
    --------
    >>> predict_point(lambda X: np.full((len(X), 2), [0.3, 0.7]), np.ones(2), "labels")
    array([1, 1])
    """
    blocks = isinstance(model, SideBySide | LowerUpper)
    if predicts(model) and not is_torch_module(model) and not blocks:
        return model.predict(X)
    prediction = predict(model, X, needs)
    columns, start = [], 0
    for block in outcomes_of(model, prediction).blocks:
        part = prediction.point[:, start : start + block.width]
        start += block.width
        if isinstance(block, Labels):
            part = block.classes[np.argmax(part, axis=1)][:, None]
        columns.append(part)
    kinds = {column.dtype.kind for column in columns}
    wide = [column.astype(object) for column in columns] if len(kinds) > 1 else columns
    points = np.concatenate(wide, axis=1)
    return points[:, 0] if points.shape[1] == 1 else points
