"""Uncertain keys as a file has them: names, sets or losses, budget, promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InvalidParameter
from ...guarantees import Certificate
from ...losses import Loss
from ...sets import UncertaintySet, from_dict
from ...sets.as_dict import loss_from_dict, loss_to_dict
from ..contexts import common_budget
from ..decisions import Named
from ..keys import UncertainKey
from ..sources import AtLevel
from .certificates import certificate_from
from .packing import MOST, Packer, Plain, Unpacker, as_shape, require
from .saved_groups import SavedGroups, groups_from, groups_to, require_promised


@dataclass(frozen=True)
class SavedKey:
    """A key as a file has it.

    Attributes
    ----------
    parts : the uncertain parameters
    nonneg : declared signs
    region : its set, if that is a value
    losses : its losses otherwise
    budget : the budget of all contexts, or None
    groups : groups of contexts with budgets of their own, or None
    certificate : what its sets promise, or None
    """

    parts: tuple[Named, ...]
    nonneg: np.ndarray[Any, Any]
    region: UncertaintySet | None
    losses: tuple[Loss, ...] | None
    budget: float | None
    certificate: Certificate | None
    groups: SavedGroups | None = None

    @property
    def name(self) -> str:
        """The key in words."""
        return ", ".join(part.name for part in self.parts)


def named_to(name: Named) -> Plain:
    """Name and shape."""
    return {"name": name.name, "shape": list(name.shape)}


def names_from(about: list[Plain], first: int) -> tuple[Named, ...]:
    """Names that were written, numbered below zero, where CVXPY has no number."""
    names = []
    for k, one in enumerate(about, first):
        names.append(Named(-1 - k, str(one["name"]), as_shape(one["shape"])))
    require(sum(name.size for name in names) < MOST, "a shape")
    return tuple(names)


def key_to(
    key: UncertainKey,
    losses: tuple[Loss, ...] | None,
    nonneg: np.ndarray[Any, Any],
    void: bool,
    packer: Packer,
) -> Plain:
    """A key as plain values; without its certificate where that is `void`."""
    about: Plain = {
        "parameters": [named_to(part) for part in key.parts],
        "nonneg": packer.array(nonneg),
    }
    if losses is None:
        assert isinstance(key.source, UncertaintySet)
        return {**about, "set": key.source.to_dict()}
    source, budget = key.predicted, budget_in_file(key)
    groups = groups_to(source, packer)
    if isinstance(source, AtLevel) and budget is None and groups is None:
        raise InvalidParameter(
            "Policy.save() cannot write a function, and with this guarantee the budget "
            "of each context is one of its covariates. Calibrate with 'marginal' or "
            "'pac', or with Mondrian(groups)."
        )
    certificate = None if void else key.certificate
    unit = source.unit if isinstance(source, AtLevel) else 1.0
    return {
        **about,
        "losses": [loss_to_dict(loss) for loss in losses],
        # JSON has no infinity.
        "budget": "inf" if budget == np.inf else budget,
        "unit": unit,
        "groups": groups,
        "certificate": None if certificate is None else certificate.to_dict(),
    }


def budget_in_file(key: UncertainKey) -> float | None:
    """The budget of all contexts of a key; None where it differs, or there is none."""
    return None if key.predicted is None else common_budget(key.predicted)


def keys_from(about: list[Plain], reader: Unpacker, count: int) -> tuple[SavedKey, ...]:
    """Keys that were written; `count` names came before them."""
    keys = []
    for key in about:
        parts = names_from(key["parameters"], count)
        count += len(parts)
        size = sum(part.size for part in parts)
        nonneg = reader.flags(key["nonneg"], size)
        if "set" in key:
            region = from_dict(key["set"])
            require(region.dim == size, "dimension of a set")
            keys.append(SavedKey(parts, nonneg, region, None, None, None))
            continue
        losses = tuple(map(loss_from_dict, key["losses"]))
        budget = None if key["budget"] is None else float(key["budget"])
        require(budget is None or not np.isnan(budget), "a budget")
        certificate = key["certificate"]
        promise = None if certificate is None else certificate_from(certificate)
        groups = groups_from(key["groups"], reader)
        require(groups is None or budget is None, "a budget")
        if promise is not None:
            unit = float(key["unit"])
            require(0 < unit < np.inf, "a unit")
        if promise is not None and groups is not None:
            require_promised(groups, promise, unit)
        if promise is not None and budget is not None:
            level = (
                promise.budget if np.isinf(promise.budget) else unit * promise.budget
            )
            require(level == budget, "a budget, which is not that of its certificate,")
        keys.append(SavedKey(parts, nonneg, None, losses, budget, promise, groups))
    return tuple(keys)
