"""Sublevel: calibrated uncertainty sets from any model and its loss.

sets = sl.LossSet(model, loss="squared").fit(X_train, Y_train)
sets.calibrate(X_cal, Y_cal, alpha=0.1)
U = sets.predict_set(X_new)[0]
"""

from typing import TYPE_CHECKING

from .deferred import deferred_names

__version__ = "0.1.0"

__all__ = [
    "LossSet",
    "MeanCovarianceRegressor",
    "MeanVarianceRegressor",
    "ModelBlocks",
    "Prediction",
    "QuantilePair",
    "Rationed",
    "RobustProblem",
    "SharedModel",
    "Uncertain",
    "affine_rule",
    "baselines",
    "calibrate_episodes",
    "calibrate_rule",
    "choose",
    "choose_weights",
    "cross_calibrate",
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
    "split",
    "testing",
    "theory",
]

#: Where every name is: loaded when it is first asked for, so that a policy from a file
#: decides without CVXPY, scikit-learn and pandas.
_HOMES = {
    "LossSet": "loss_set",
    "MeanCovarianceRegressor": "models",
    "MeanVarianceRegressor": "models",
    "ModelBlocks": "predictions",
    "Prediction": "predictions",
    "QuantilePair": "predictions",
    "Rationed": "choosing",
    "RobustProblem": "robust",
    "SharedModel": "predictions",
    "Uncertain": "robust",
    "affine_rule": "robust",
    "calibrate_episodes": "rules",
    "calibrate_rule": "rules",
    "choose": "choosing",
    "choose_weights": "choosing",
    "cross_calibrate": "rules",
    "diagnose": "diagnosis",
    "evaluate": "evaluation",
    "load_policy": "robust",
    "run_episode": "rules",
    "split": "folds",
}

if TYPE_CHECKING:
    from . import (
        baselines,
        drift,
        errors,
        guarantees,
        losses,
        models,
        plots,
        predictions,
        robust,
        rules,
        sets,
        testing,
        theory,
    )
    from .choosing.choose import choose
    from .choosing.rationed import Rationed
    from .choosing.weights import choose_weights
    from .diagnosis import diagnose
    from .evaluation import evaluate
    from .folds import split
    from .loss_set import LossSet
    from .models import MeanCovarianceRegressor, MeanVarianceRegressor
    from .predictions import ModelBlocks, Prediction, QuantilePair, SharedModel
    from .robust import RobustProblem, Uncertain, affine_rule, load_policy
    from .rules.calibrate_episodes import calibrate_episodes
    from .rules.calibrate_rule import calibrate_rule
    from .rules.cross_calibrate import cross_calibrate
    from .rules.run_episode import run_episode
else:
    __getattr__, __dir__ = deferred_names(
        __name__, {name: _HOMES.get(name, "") for name in __all__}
    )
