"""A policy read from a file: no CVXPY model behind it, and no model unless given."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidParameter
from ...predictions import predict
from ..calibrating.at_budget import AtBudget
from ..modelling.sets_at import named, predicted_sets
from .policy import Policy, Recipe
from .policy_file import read_file, refused
from .policy_layout import Contents, from_layout


class SavedSets:
    """The calibrated sets of a saved policy; like a LossSet, as far as needed."""

    def __init__(self, losses: Any, budget: Any, certificate: Any, model: Any) -> None:
        self.losses_ = losses
        self.budget_ = budget
        self.certificate_ = certificate
        self.model = model

    def predict_set(self, X: Any) -> Any:
        """The sets at every row of X."""
        if self.model is None:
            raise InvalidParameter(
                "A policy from a file has no models, so it takes predictions: "
                "decide(sl.Prediction(location, scale)). To give it covariates, load "
                "it with sl.load_policy(path, models={name: fitted model})."
            )
        said = predict(self.model, X, self.losses_[0].needs)
        return predicted_sets(self.losses_, self.budget_, said)


class SavedPolicy(Policy):
    """What `load_policy` returns: decides like the policy that was saved."""

    def __init__(self, recipe: Recipe, sources: list[Any], contents: Contents) -> None:
        self.engine, self.solver = "auto", None
        self._saved, self._sets, self._known = recipe, sources, contents.losses
        self._fallback = contents.fallback

    @property
    def problem(self) -> Any:
        """No model is in the file, so what needs one is refused."""
        raise InvalidParameter(
            "A policy from a file can only decide: the model it was made from is not "
            "in the file. Calibrate, evaluate and save the policy before."
        )

    @property
    def one_by_one(self) -> None:
        """None: only compiled policies are saved."""
        return None

    def _recipe(self, sets: Any) -> Recipe:
        del sets
        return self._saved

    def _keys(self) -> Any:
        return self._saved.keys

    def _given(self) -> list[Any]:
        return self._sets

    def _named_variables(self) -> list[Any]:
        return list(self._saved.variables)

    def _losses(self) -> list[Any]:
        return self._known


def load_policy(path: Any, models: dict[str, Any] | None = None) -> SavedPolicy:
    """Read a policy that `Policy.save` wrote.

    Parameters
    ----------
    path : file name
    models : dict, optional
        From names of uncertain parameters to fitted models, or to LossSets. Without
        a model, `decide` takes predictions in place of covariates.

    Raises
    ------
    InvalidParameter
        If the file is damaged, or was not written by Policy.save.
    """
    about, arrays = read_file(path)
    try:
        found = from_layout(about, arrays)
    except Exception as error:
        raise refused(path, f"something in it cannot be ({error!r})") from error
    names = [named(key) for key in found.keys]
    models = dict(models or {})
    unknown = set(models) - set(names)
    if unknown:
        raise InvalidParameter(
            f"load_policy(models=...) must name uncertain parameters of the policy, "
            f"{names}, got {sorted(unknown)}."
        )
    sources = [_source(found, k, models.get(name)) for k, name in enumerate(names)]
    recipe = Recipe(found.compiled, found.fixed, found.variables, found.keys)
    return SavedPolicy(recipe, sources, found)


def _source(found: Contents, k: int, model: Any) -> Any:
    """What gives the sets of a key: a set value, a LossSet, or losses and a model."""
    if found.losses[k] is None:
        return found.compiled.regions[k]
    if hasattr(model, "predict_set"):
        budget, told = found.budgets[k], found.certificates[k]
        # A LossSet may have a budget of its own; the saved policy's counts.
        return model if budget is None else AtBudget(model, budget, told)
    return SavedSets(found.losses[k], found.budgets[k], found.certificates[k], model)
