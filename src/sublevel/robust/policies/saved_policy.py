"""A policy read from a file: no CVXPY model behind it, and no model unless given."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from ...errors import CertificateVoid, InvalidParameter
from ...predictions import predict
from ..auditing.telling import told
from ..calibrating.at_budget import AtBudget
from ..calibrating.standing import says_the_same
from ..modelling.sets_at import named, predicted_sets
from .policy import Policy, Recipe
from .policy_file import read_file, refused
from .policy_layout import Contents, from_layout

#: What a file cannot know of what it is given.
SAME = "What predicts is the model that the saved policy was calibrated with."


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
        self._fallback, self._asked = contents.fallback, contents.probe

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

    def _told(self) -> Any:
        """As saved; nothing, with a warning, if a model is not the one calibrated."""
        contexts, said = self._asked or (None, [None] * len(self._sets))
        for key, source, before in zip(self._keys(), self._sets, said, strict=True):
            given = before is not None and getattr(source, "model", source) is not None
            if given and not says_the_same(source, contexts, before):
                warnings.warn(
                    f"The policy's certificate is void: the model of {named(key)!r} is "
                    "not the one it was calibrated with. Give load_policy that one, or "
                    "calibrate and save again.",
                    CertificateVoid,
                    stacklevel=3,
                )
                return None
        return told(self._keys(), self._sets)

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
    budget, promised = found.budgets[k], found.certificates[k]
    if promised is not None:
        promised = replace(promised, assumptions=(*promised.assumptions, SAME))
    if hasattr(model, "predict_set"):
        # A LossSet may have a budget of its own; the saved policy's counts.
        return model if budget is None else AtBudget(model, budget, promised)
    return SavedSets(found.losses[k], budget, promised, model)
