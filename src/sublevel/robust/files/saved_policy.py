"""A policy read from a file: no CVXPY model behind it, and no model unless given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...checks import require_bool
from ...errors import CertificateVoid, InvalidParameter
from ...guarantees import Calibration, Certificate
from ...guarantees.groups import Groups
from ...loss_set.batch import Batch
from ...loss_set.source import PredictsSets
from ...losses import Loss
from ...predictions import Table, as_model, index_of, predict
from ...progress import Bar
from ...tables import html_table
from ..contexts import (
    Contexts,
    ContextSets,
    contexts_to_decide,
    predicted_sets,
)
from ..deciding import decide_chunks, require_chunk
from ..decisions import Decisions, Promise, in_short
from ..fallback import fall_back
from ..keys import UncertainKey, promise_of
from ..sources import AtLevel
from ..workers import decide_lazily
from .layout import Contents, from_layout
from .policy_file import FilePath, read_file, refused
from .saved_groups import grouped_levels, require_given, require_recognised
from .saved_keys import SavedKey

if TYPE_CHECKING:
    import dask.dataframe as dd

#: What a file cannot know of what it is given.
SAME = "What predicts is the model that the saved policy was calibrated with."
#: What a Policy does, and a policy from a file does not.
_REFUSED = (
    "problem",
    "calibrate",
    "calibrated_again",
    "at",
    "at_alpha",
    "under",
    "band_",
    "evaluate",
    "certify",
    "frontier",
    "envelope_scores",
    "save",
)


class NotInFile(InvalidParameter, AttributeError):
    """Something that needs the model a policy was made from."""


@dataclass(frozen=True, eq=False)
class SavedSets:
    """The calibrated sets of a saved policy; a source of sets like a LossSet."""

    losses_: tuple[Loss, ...]
    budget_: float | None
    certificate_: Certificate | None
    model: Any = None
    training_marks: None = None
    calibration_marks: None = None

    def predict_set(self, X: Table, budget: npt.ArrayLike | None = None) -> Batch:
        """The sets at every row of X."""
        if self.model is None:
            raise InvalidParameter(
                "A policy from a file has no models, so it takes predictions: "
                "decide(sl.Prediction(location, scale)). To give it covariates, load "
                "it with sl.load_policy(path, models={name: fitted model})."
            )
        prediction = predict(self.model, X, self.losses_[0].needs)
        level = self.budget_ if budget is None else np.asarray(budget, dtype=float)
        return predicted_sets(self.losses_, level, prediction)


class SavedPolicy:
    """What `load_policy` returns: decides like the policy that was saved.

    Calibrating, evaluating and saving need the model the policy was made from, which is
    not in the file.
    """

    def __init__(self, contents: Contents, keys: tuple[UncertainKey, ...]) -> None:
        self._contents, self.keys = contents, keys

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            raise NotInFile(
                "A policy from a file can only decide: the model it was made from is "
                "not in the file. Calibrate, evaluate and save the policy before."
            )
        raise AttributeError(f"'SavedPolicy' object has no attribute {name!r}")

    @property
    def one_by_one(self) -> None:
        """None: only compiled policies are saved."""
        return None

    def decide(
        self,
        X: Contexts | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        chunk: int | None = None,
        trusted: bool = False,
    ) -> Decisions:
        """The decision at every row of X, as `Policy.decide`."""
        require_chunk("SavedPolicy.decide", chunk)
        require_bool("SavedPolicy.decide", trusted=trusted)
        require_bool("Policy.decide", progress=progress)
        losses = tuple(key.losses for key in self._contents.keys)
        owner, probes = "SavedPolicy.decide", self._contents.probes
        sets = contexts_to_decide(owner, self.keys, losses, X, probes)
        with Bar(sets.rows) if progress else nullcontext() as bar:
            arrays = decide_chunks(self._contents.task, sets, chunk, n_jobs, bar)
        return Decisions(
            fall_back(arrays, self._contents.fallback),
            self._contents.task.layout,
            self._promise(sets, trusted),
            index_of(X),
        )

    def decide_lazily(self, X: dd.DataFrame) -> dd.DataFrame:
        """The decisions at the rows of a Dask DataFrame, as `Policy.decide_lazily`."""
        own = self._contents
        losses = tuple(key.losses for key in own.keys)
        if own.probes is not None:
            self._promise(ContextSets(self.keys, losses, None), trusted=False)
        owner = "SavedPolicy.decide_lazily"
        rule = own.task, self.keys, losses, own.fallback, own.probes
        return decide_lazily(owner, X, *rule)

    def _promise(self, sets: ContextSets, trusted: bool) -> Promise:
        """As saved; nothing, with a warning, if a model is not the one calibrated."""
        if sets.foreign:
            return self._certificate() if trusted else None
        probes = self._contents.probes
        other = None if probes is None else probes.stranger(self.keys, sets.riders)
        if other is None:
            return self._certificate()
        warnings.warn(
            f"The policy's certificate is void: the model of {other[0]!r} is not the "
            f"one it was calibrated with, it {other[1]}. Give load_policy that one, or "
            "calibrate and save again.",
            CertificateVoid,
            stacklevel=3,
        )
        return None

    def _certificate(self) -> Promise:
        """What was promised of decisions, or by name of each key's sets."""
        if not self._contents.joint:
            return promise_of(self.keys)
        return next(key.certificate for key in self.keys if key.predicted is not None)

    def __repr__(self) -> str:
        facts = "; ".join(f"{name} {what}" for name, what in self._facts())
        return f"SavedPolicy({facts})"

    def _repr_html_(self) -> str:
        return html_table("SavedPolicy", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("uncertain", ", ".join(key.name for key in self.keys)),
            ("promise", in_short(self._certificate())),
        ]


def load_policy(
    path: FilePath,
    models: Mapping[str, Any] | None = None,
    groups: Mapping[str, Groups] | None = None,
) -> SavedPolicy:
    """Read a policy that `Policy.save` wrote.

    Parameters
    ----------
    path : file name
    models : dict, optional
        From names of uncertain parameters to fitted models, or to LossSets. Without
        a model, `decide` takes predictions in place of covariates; these come without
        a certificate unless `decide(..., trusted=True)` vouches for them.
    groups : dict, optional
        From names of uncertain parameters to what `Mondrian` was given, where that is a
        function, or has one: a file holds nothing that runs. It is recognised at a few
        contexts of the calibration. Groups that are columns of X are in the file, and
        a LossSet among the models has its own.

    Raises
    ------
    InvalidParameter
        If the file is damaged, or was not written by Policy.save.
    """
    about, arrays = read_file(path)
    try:
        contents = from_layout(about, arrays)
    except Exception as error:
        raise refused(path, f"something in it cannot be ({error!r})") from error
    names = [key.name for key in contents.keys]
    predicting = _by_name("models", models, names)
    telling = _by_name("groups", groups, names)
    sources = []
    for saved, before in zip(contents.keys, contents.probed, strict=True):
        model = predicting.get(saved.name)
        readers = _readers(saved, telling.get(saved.name), model)
        if saved.groups is not None and contents.probes and before is not None:
            X = contents.probes.X
            require_recognised(saved.name, saved.groups, readers, X, before)
        sources.append(_source(saved, model, readers))
    keys = [
        UncertainKey(saved.parts, saved.nonneg, source)
        for saved, source in zip(contents.keys, sources, strict=True)
    ]
    return SavedPolicy(contents, tuple(keys))


def _by_name(
    argument: str, given: Mapping[str, Any] | None, names: list[str]
) -> dict[str, Any]:
    """What was given for some of the uncertain parameters."""
    if not (given is None or isinstance(given, Mapping)):
        raise InvalidParameter(
            f"load_policy({argument}=...) must be a dict from names of uncertain "
            f"parameters to {argument}, got {type(given).__name__}. Say {argument}="
            f"{{{names[0]!r}: ...}}."
        )
    unknown = set(given or ()) - set(names)
    if unknown:
        raise InvalidParameter(
            f"load_policy({argument}=...) must name uncertain parameters of the "
            f"policy, {names}, got {sorted(unknown)}."
        )
    return dict(given or {})


def _readers(saved: SavedKey, given: object, model: object) -> Any:
    """What tells the groups of a key; None where it has none."""
    if saved.groups is None:
        if given is not None:
            raise InvalidParameter(
                f"load_policy(groups=...) must name parameters calibrated by group, "
                f"got {saved.name!r}, which has one budget or a set value."
            )
        return None
    if given is None and saved.groups.readers is None:
        levels = grouped_levels(model)
        given = None if levels is None else levels.groups
    return require_given(saved.name, saved.groups, given)


def _source(saved: SavedKey, model: object, readers: Any) -> Any:
    """What gives the sets of a key: a set value, a LossSet, or losses and a model."""
    if saved.losses is None:
        return saved.region
    promise = saved.certificate
    if promise is not None:
        promise = replace(promise, assumptions=(*promise.assumptions, SAME))
    if saved.groups is not None:
        budgets = tuple(saved.groups.budgets.values())
        levels = saved.groups.calibration(readers, promise or _nothing(budgets))
        sets: Any = model
        if not isinstance(model, PredictsSets):
            sets = SavedSets(saved.losses, None, None, _predictor(saved.losses, model))
        return AtLevel(sets, 1.0, levels, promise)
    if isinstance(model, PredictsSets):
        if saved.budget is None or promise is None:
            return model if saved.budget is None else _at(model, saved.budget, None)
        # A LossSet may have a budget of its own; the saved policy's counts.
        return _at(model, saved.budget, promise)
    own = _predictor(saved.losses, model)
    return SavedSets(saved.losses, saved.budget, promise, own)


def _predictor(losses: tuple[Loss, ...], model: object) -> Any:
    return None if model is None else as_model(model, losses[0].needs)


def _at(model: Any, budget: float, promise: Certificate | None) -> AtLevel:
    level = Calibration(budget, promise or _nothing((budget,)))
    return AtLevel(model, 1.0, level, promise)


def _nothing(budgets: tuple[float, ...]) -> Certificate:
    from ...calibration.certificates import given_certificate

    return given_certificate(budgets)
