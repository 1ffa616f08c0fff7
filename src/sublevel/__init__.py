"""Sublevel: calibrated uncertainty sets from any model and its loss.

sets = sl.LossSet(model, loss="squared").fit(X_train, Y_train)
sets.calibrate(X_cal, Y_cal, alpha=0.1)
U = sets.predict_set(X_new)[0]
"""

from typing import TYPE_CHECKING, Any

from . import errors, guarantees, losses, predictions, robust, rules, sets
from .choosing import choose, choose_weights
from .diagnose import diagnose
from .evaluation import evaluate
from .loss_set import LossSet
from .predictions import ModelBlocks, Prediction, QuantilePair, SharedModel
from .robust import RobustProblem, Uncertain, affine_rule, load_policy
from .rules import calibrate_episodes, calibrate_rule, run_episode

__version__ = "0.1.0"

__all__ = [
    "LossSet",
    "MeanCovarianceRegressor",
    "MeanVarianceRegressor",
    "ModelBlocks",
    "Prediction",
    "QuantilePair",
    "RobustProblem",
    "SharedModel",
    "Uncertain",
    "affine_rule",
    "baselines",
    "calibrate_episodes",
    "calibrate_rule",
    "choose",
    "choose_weights",
    "diagnose",
    "drift",
    "errors",
    "evaluate",
    "guarantees",
    "load_policy",
    "losses",
    "models",
    "plots",
    "predictions",
    "robust",
    "rules",
    "run_episode",
    "sets",
    "testing",
    "theory",
]


#: Packages that most programs do without: loaded when first asked for.
_LATER = ("baselines", "drift", "models", "plots", "testing", "theory")

if TYPE_CHECKING:
    from . import baselines, drift, models, plots, testing, theory
    from .models import MeanCovarianceRegressor, MeanVarianceRegressor
else:

    def __getattr__(name: str) -> Any:
        """Load what most programs do without when it is first asked for."""
        from importlib import import_module

        if name in _LATER:
            return import_module(f".{name}", __name__)
        if name in ("MeanCovarianceRegressor", "MeanVarianceRegressor"):
            return getattr(import_module(".models", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
