"""A policy read from a file: no CVXPY model behind it, and no model unless given."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidParameter
from ..predictions import predict
from .policy import Policy, Recipe
from .policy_file import described, read_certificate, read_recipe
from .sets_at import predicted_sets


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

    def __init__(self, recipe: Recipe, sources: list[Any], losses: list[Any]) -> None:
        self._saved, self._sets, self._known = recipe, sources, losses

    @property
    def one_by_one(self) -> None:
        """None: only compiled policies are saved."""
        return None

    def _recipe(self, X: Any) -> Recipe:
        del X
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
    about, compiled, fixed = read_recipe(path)
    variables, keys, losses = described(about)
    names = [", ".join(part.name for part in key) for key in keys]
    models = dict(models or {})
    unknown = set(models) - set(names)
    if unknown:
        raise InvalidParameter(
            f"load_policy(models=...) must name uncertain parameters of the policy, "
            f"{names}, got {sorted(unknown)}."
        )
    certificates = {
        k: read_certificate(said) for k, said in zip(keys, about["keys"], strict=True)
    }
    sources = [
        _source(said, parts, region, certificates[key], models.get(name))
        for said, parts, region, key, name in zip(
            about["keys"], losses, compiled.regions, keys, names, strict=True
        )
    ]
    recipe = Recipe(compiled, fixed, variables, keys, certificates)
    return SavedPolicy(recipe, sources, losses)


def _source(
    said: dict[str, Any], losses: Any, region: Any, certificate: Any, model: Any
) -> Any:
    if losses is None:
        return region
    if hasattr(model, "predict_set"):
        return model
    return SavedSets(losses, said["budget"], certificate, model)
