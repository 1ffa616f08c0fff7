"""What a calibration comes to: sources at their levels, under a certificate."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any

from ..calibration.certificates import given_certificate, with_sentence
from ..calibration.request import Request
from ..checks import Array, is_number
from ..errors import InvalidParameter
from ..guarantees import Calibrated, Calibration, Certificate
from ..guarantees.in_time import with_times
from ..loss_set.marks import Hashes
from ..losses import Loss
from .calibration_points import PolicyPoints
from .fallback import exceptions
from .judge.ruler import IN_WORDS
from .keys import UncertainKey
from .recognition import Recognition
from .sources import AtLevel

if TYPE_CHECKING:
    from .problem import RobustProblem


@dataclass(frozen=True, eq=False)
class Settled:
    """What a calibration came to.

    Attributes
    ----------
    keys : the uncertain keys, with the sources it settled on
    budgets : for each key with a LossSet its budget; of those that differ between
        contexts a typical one
    fallback : what is done where there is no decision, or None
    certificate : what is promised of decisions
    recognition : what decisions depended on; None where nothing is promised
    marks : for each key marks of the rows that were used
    scores : losses of the outcomes that were used; None where several sets have them
    request : what was asked, so that it can be asked of other rows; None where the
        level was given
    """

    keys: tuple[UncertainKey, ...]
    budgets: tuple[float, ...]
    fallback: Array | None
    certificate: Certificate
    recognition: Recognition | None = None
    marks: Sequence[Hashes | None] = ()
    scores: Array | None = None
    request: Request | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but a request with functions that cannot be pickled: none is needed to
        decide.
        """
        state = dict(vars(self))
        try:
            pickle.dumps(self.request)
        except Exception:
            # Whatever a guarantee of the user's raises.
            state["request"] = None
        return state

    @property
    def budget(self) -> float | tuple[float, ...]:
        """The budget of the only LossSet; of several all of them."""
        return self.budgets[0] if len(self.budgets) == 1 else self.budgets

    def radius(self, losses: Sequence[tuple[Loss, ...] | None]) -> float | None:
        """The norm radius at the budget, where one loss that is a norm has it.

        Parameters
        ----------
        losses : for each key the losses it was compiled for, or None
        """
        given = [parts for parts in losses if parts is not None]
        if len(self.budgets) != 1 or len(given[0]) != 1:
            return None
        return given[0][0].radius(self.budgets[0])


def settled_at_level(
    problem: RobustProblem,
    points: PolicyPoints,
    calibration: Calibrated,
    recognition: Recognition,
    marks: Sequence[Hashes | None],
    request: Request,
) -> Settled:
    """The sets at calibrated levels, under a certificate."""
    certificate = with_sentence(calibration.certificate, IN_WORDS)
    certificate = with_times(certificate, points.X)
    prepared = problem.prepared()
    broken = exceptions(
        prepared.ruler,
        prepared.layout.variables,
        points.fallback,
        prepared.ordinary(),
    )
    if broken:
        certificate = with_sentence(
            certificate,
            f"The fallback, as declared, breaks {'; '.join(broken)}: that is not "
            "counted.",
        )
    keys, budgets = [], []
    for key, unit in zip(problem.keys, points.units, strict=True):
        source = key.predicted
        if source is None:
            keys.append(key)
            continue
        sets = AtLevel(source, unit, calibration, certificate)
        keys.append(key.with_source(sets))
        typical = certificate.budget
        budgets.append(typical if isinf(typical) else unit * typical)
    return Settled(
        tuple(keys),
        tuple(budgets),
        points.fallback,
        certificate,
        recognition,
        marks,
        points.scores if len(budgets) == 1 else None,
        request,
    )


def settled_at_budget(
    given: Sequence[UncertainKey],
    budget: float | Mapping[str, float],
    certificate: Certificate | None,
    recognition: Recognition | None,
    fallback: Array | None,
) -> Settled:
    """The sets at budgets that someone chose.

    Parameters
    ----------
    given : the uncertain keys, with the sources before any calibration
    budget : float, or dict by name where several parameters have LossSets
    certificate : what is promised all the same; None for nothing
    recognition : what decisions depended on when that was promised, or None
    fallback : what is done where there is no decision, or None
    """
    names = [key.name for key in given if key.predicted is not None]
    budgets = _by_name(budget, names)
    promise = certificate
    if promise is None:
        promise = given_certificate(tuple(budgets.values()))
    keys = []
    for key in given:
        source = key.predicted
        if source is None:
            keys.append(key)
            continue
        level = Calibration(budgets[key.name], promise)
        keys.append(key.with_source(AtLevel(source, 1.0, level, promise)))
    every = tuple(budgets[name] for name in names)
    return Settled(
        tuple(keys),
        every,
        fallback,
        promise,
        None if certificate is None else recognition,
    )


def _by_name(
    budget: float | Mapping[str, float], names: Sequence[str]
) -> dict[str, float]:
    if isinstance(budget, Mapping):
        budgets, fits = dict(budget), True
    else:
        budgets, fits = dict.fromkeys(names, budget), len(names) == 1
    numbers = all(is_number(value) and value == value for value in budgets.values())
    if not (fits and numbers and set(budgets) == set(names)):
        raise InvalidParameter(
            f"Policy.at(budget) must be a number where one LossSet is used, or a dict "
            f"with a number for each of {names}, got {budget!r}."
        )
    return {name: float(value) for name, value in budgets.items()}
