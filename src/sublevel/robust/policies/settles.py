"""The sets a policy decides with, and what it may say of its decisions."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import CertificateVoid, InvalidParameter
from ..auditing.telling import told
from ..calibrating.at_budget import AtWeightedBudget
from ..calibrating.settling import Settled
from ..modelling.sets_at import is_predicted
from .judged import Judged


class Settles(Judged):
    """A policy that may have a calibration of its own."""

    _settled: Settled | None = None
    _override: list[Any] | None = None
    _fallback: Any = None

    def _settling(self, settled: Settled) -> Any:
        """The same policy, as settled."""
        found = copy.copy(self)
        found._override = None
        found._take(settled)
        return found

    def _take(self, settled: Settled) -> None:
        """Decide as settled from now on."""
        self._settled, self._fallback = settled, settled.fallback
        self.certificate_ = settled.certificate
        budgets = settled.budgets
        self.budget_ = budgets[0] if len(budgets) == 1 else budgets
        losses = [parts for parts in self._losses() if parts is not None]
        single = len(budgets) == 1 and len(losses[0]) == 1
        self.radius_ = losses[0][0].radius(budgets[0]) if single else None

    def _sources(self) -> list[Any]:
        """For each key what gives its sets, at the policy's own budget if any."""
        if self._override is not None:
            return self._override
        return self._given() if self._settled is None else self._settled.sources

    def _told(self) -> Any:
        """What is promised of decisions: of all, or by name of each key's sets.

        Nothing, with a warning, if the decision rule is not the one calibrated.
        """
        if self._override is not None or self._settled is None:
            return told(self._keys(), self._sources())
        return None if self._is_void() else self._settled.certificate

    def _to_save(self) -> list[Any]:
        """The sources, without their certificate if that is void."""
        found = self._sources()
        if any(isinstance(source, AtWeightedBudget) for source in found):
            raise InvalidParameter(
                "Policy.save() cannot write a function, and with weights the budget of "
                "each context is one of its covariates. Calibrate without weights."
            )
        if self._settled is None or not self._is_void():
            return found
        return [
            replace(source, certificate_=None) if is_predicted(source) else source
            for source in found
        ]

    def _probe(self) -> tuple[Any, list[Any]] | None:
        """Contexts, as numbers, with what models said there when calibrated, if known.

        What a file needs to tell whether it is given the same models.
        """
        standing = None if self._settled is None else self._settled.standing
        if standing is None:
            return None
        contexts = np.asarray(standing.X)
        return (contexts, standing.said) if contexts.dtype.kind in "biuf" else None

    def _is_void(self) -> bool:
        """Whether the decision rule is not the one calibrated; then with a warning."""
        standing = None if self._settled is None else self._settled.standing
        changed = None if standing is None else standing.changed(self)
        if changed is not None:
            warnings.warn(
                f"The policy's certificate is void: {changed} since it was calibrated. "
                "Calibrate it again; data that vary from context to context belong to "
                "X.",
                CertificateVoid,
                stacklevel=4,
            )
        return changed is not None

    def _over(self, sources: list[Any], fallback: Any = None) -> Any:
        """The same policy over other sets."""
        found = copy.copy(self)
        found._override, found._fallback = sources, fallback
        return found

    def _given(self) -> list[Any]:
        raise NotImplementedError

    def _keys(self) -> Any:
        raise NotImplementedError

    def _losses(self) -> list[Any]:
        raise NotImplementedError
