"""The promise that comes with a budget, in words a team can show an auditor.

A budget is a number; what it is worth depends on what was random, what was assumed and
how many scores it was read from. The certificate keeps all of that next to the number.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from math import inf, isinf
from textwrap import fill
from typing import Any

from ..checks import briefly, is_number, is_whole, require_level
from ..deferred import special
from ..errors import InvalidParameter
from ..tables import html_table

#: The event of guarantees that cover a constraint, and not the outcome itself.
KEPT_ON_THE_SET = "a constraint kept on the whole set is violated"
_GROUPS_SHOWN = 8
#: Columns of the text.
_WIDTH = 88


@dataclass(frozen=True, repr=False)
class Certificate:
    """What a budget promises, for whom, and under which assumptions.

    Parameters
    ----------
    guarantee : str
        Name of the guarantee, such as "Marginal".
    alpha : float
        Violation level promised; 1.0 if nothing is.
    confidence : float or None
        Probability, over the calibration draw, that the promise holds; None if it
        holds on average over the calibration draw.
    budget : float
        Loss level the promise is about; inf if the sample cannot support a finite one.
    sample_size, minimum_sample_size : int
        Calibration scores used, and the fewest that give a finite budget.
    rank : int or None
        The budget is the rank-th smallest score; None if it is not one of them.
    random : str
        One sentence: what is random in the probability.
    assumptions : tuple of str
        What must be true of the data for the promise to hold.
    reference : str
        Author, year, theorem.
    heuristic : bool
        True if no theorem backs the level.
    note : str
        Anything else the reader must know; the way out if the budget is infinite.
    beta_law : bool
        Whether `violation_interval` holds, given a rank and independent scores.
    event : str
        What happens with probability at most alpha.
    holds : str
        When the promise holds, where `confidence` does not say it.
    measure : str
        How alpha measures the event: "with probability", or "is in expectation".
    groups : tuple of (group, Certificate)
        What each group of contexts is promised, where groups have promises of their
        own.
    scope : str
        Of which rows the event is, where not of a new one: "on any row of a new day".

    Examples
    --------
    >>> from sublevel.guarantees import Marginal
    >>> certificate = Marginal().calibrate(range(1, 20), alpha=0.1).certificate
    >>> certificate.budget, certificate.rank, certificate.sample_size
    (18.0, 18, 19)
    >>> print(certificate)  # doctest: +ELLIPSIS
    Marginal: a new outcome leaves its set with probability at most 0.1,
    on average over the calibration draw.
      budget              18
      calibration scores  19 (9 needed)
      order statistic     18 of 19
      realised violation  0.01903 to 0.2264 in 90 % of calibration draws, if the scores
                          are independent and untied
      what is random      The calibration sample and the new outcome with its context.
    ...
    """

    guarantee: str
    alpha: float
    confidence: float | None
    budget: float
    sample_size: int
    minimum_sample_size: int
    rank: int | None
    random: str
    assumptions: tuple[str, ...]
    reference: str
    heuristic: bool = False
    note: str = ""
    beta_law: bool = True
    event: str = "a new outcome leaves its set"
    holds: str = ""
    measure: str = "with probability"
    groups: tuple[tuple[Hashable, Certificate], ...] = ()
    scope: str = ""

    @property
    def is_finite(self) -> bool:
        """Whether the budget excludes anything at all.

        Examples
        --------
        >>> from sublevel.guarantees import Marginal
        >>> Marginal().calibrate(range(9), alpha=0.1).certificate.is_finite
        True
        """
        return self.budget < inf

    def violation_interval(self, level: float = 0.9) -> tuple[float, float]:
        """Central interval of the violation rate that this very calibration achieves.

        Given the calibration sample, the probability that a new score exceeds the
        i-th smallest of N independent scores of a continuous distribution is
        Beta(N + 1 - i, i) distributed; with ties it is only smaller (Vovk
        2012, Proposition 2b).

        Parameters
        ----------
        level : float
            Share of calibration draws whose violation rate lies in the interval.

        Examples
        --------
        >>> from sublevel.guarantees import Marginal
        >>> certificate = Marginal().calibrate(range(500), alpha=0.1).certificate
        >>> low, high = certificate.violation_interval()
        >>> round(low, 3), round(high, 3)
        (0.079, 0.123)
        """
        require_level("Certificate.violation_interval", level=level)
        if not self.is_finite:
            return 0.0, 0.0
        if self.rank is None or not self.beta_law:
            raise InvalidParameter(
                f"Certificate.violation_interval() must be asked of a budget that is "
                f"an order statistic of independent scores, got {self.guarantee} with "
                f"rank={self.rank}. Estimate the violation rate on a test sample."
            )
        shape = (self.sample_size + 1 - self.rank, self.rank)
        tail = (1 - level) / 2
        low, high = (special.betaincinv(*shape, q) for q in (tail, 1 - tail))
        return float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Every field as plain JSON values; infinities become "inf" and "-inf".

        Names of groups that JSON does not have, such as dates, become words.

        Examples
        --------
        >>> import json
        >>> from sublevel.guarantees import Marginal
        >>> certificate = Marginal().calibrate([1.0, 2.0], alpha=0.5).certificate
        >>> json.loads(json.dumps(certificate.to_dict()))["budget"]
        2.0
        """
        values = dict(vars(self))
        values["assumptions"] = list(self.assumptions)
        if isinf(self.budget):
            values["budget"] = str(self.budget)
        values["groups"] = [
            [name if isinstance(name, str | int | float) else str(name), each.to_dict()]
            for name, each in self.groups
        ]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote.

        Examples
        --------
        >>> from sublevel.guarantees import Certificate, Marginal
        >>> certificate = Marginal().calibrate([1.0, 2.0], alpha=0.5).certificate
        >>> Certificate.from_dict(certificate.to_dict()) == certificate
        True
        """
        wanted = {field.name: str(field.type) for field in fields(cls)}
        if not isinstance(values, Mapping) or not set(values) <= set(wanted):
            raise InvalidParameter(
                "Certificate.from_dict(values) must be a dict with the fields of a "
                f"Certificate, got {briefly(values)}."
            )
        parts = dict(values)
        for name in wanted:
            if name in parts:
                parts[name] = _read_field(name, wanted[name], parts[name])
        try:
            return cls(**parts)
        except TypeError as error:
            raise InvalidParameter(
                f"Certificate.from_dict(values): {error}."
            ) from error

    def __repr__(self) -> str:
        """A line: what is promised, at which budget, from how many scores."""
        sure = "" if self.confidence is None else f", confidence {self.confidence:g}"
        few = "" if not self.groups else f", {len(self.groups)} groups"
        return (
            f"Certificate({self.guarantee}, alpha {self.alpha:.6g}{sure}, budget "
            f"{self.budget:.6g}, {self.sample_size} scores{few})"
        )

    def _repr_html_(self) -> str:
        return html_table(_claim(self).replace("\n", " "), _rows(self))

    def __str__(self) -> str:
        claim = _claim(self)
        if max(map(len, claim.splitlines())) > _WIDTH:
            claim = fill(claim, _WIDTH)
        return "\n".join([claim, *(_row(*row) for row in _rows(self))])


def _read_field(name: str, kind: str, value: Any) -> Any:
    """One field as `to_dict` wrote it, checked to be of its kind."""
    if name == "groups":
        return _read_groups(value)
    if kind == "tuple[str, ...]":
        fits = isinstance(value, list | tuple) and all(type(v) is str for v in value)
        value = tuple(value) if fits else value
    elif kind in ("str", "bool"):
        fits = type(value).__name__ == kind
    elif value is None:
        fits = "None" in kind
    elif "int" in kind:
        fits = is_whole(value)
    elif name == "budget" and isinstance(value, str):
        fits = value in ("inf", "-inf")
    else:
        fits = is_number(value) and value == value
        fits = fits and (name == "budget" or 0 <= value <= 1)
    if not fits:
        raise InvalidParameter(
            f"Certificate.from_dict(values[{name!r}]) must be a {kind} as to_dict "
            f"writes it, got {briefly(value)}."
        )
    return float(value) if name == "budget" else value


def _read_groups(value: object) -> tuple[tuple[Hashable, Certificate], ...]:
    """Names of groups with their certificates, which have no groups of their own."""
    pairs = value if isinstance(value, list | tuple) else ()
    fits = isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], Hashable)
        and isinstance(pair[1], Mapping)
        and not pair[1].get("groups")
        for pair in pairs
    )
    if not fits:
        raise InvalidParameter(
            "Certificate.from_dict(values['groups']) must be pairs of a group and its "
            f"certificate as to_dict writes them, got {briefly(value)}."
        )
    return tuple((name, Certificate.from_dict(each)) for name, each in pairs)


def _claim(certificate: Certificate) -> str:
    """The promise in one sentence."""
    how_sure = (
        "on average"
        if certificate.confidence is None
        else f"with confidence {certificate.confidence:g}"
    )
    holds = certificate.holds or f"{how_sure} over the calibration draw"
    at_most = "about" if certificate.heuristic else "at most"
    where = f" {certificate.scope}" if certificate.scope else ""
    return (
        f"{certificate.guarantee}: {certificate.event}{where} {certificate.measure} "
        f"{at_most} {certificate.alpha:.6g},\n{holds}."
    )


def _rows(certificate: Certificate) -> list[tuple[str, str]]:
    """The facts behind the promise, each with its label."""
    size, rank = certificate.sample_size, certificate.rank
    rows = [("budget", f"{certificate.budget:.6g}")]
    if size:
        needed = f"{size} ({certificate.minimum_sample_size} needed)"
        rows.append(("calibration scores", needed))
    for name, each in certificate.groups[:_GROUPS_SHOWN]:
        rows.append((f"group {name!r}"[:20], _of_group(each)))
    if len(certificate.groups) > _GROUPS_SHOWN:
        rows.append(("", f"and {len(certificate.groups) - _GROUPS_SHOWN} more groups"))
    if certificate.heuristic:
        rows.append(("heuristic", "no theorem backs this level"))
    if rank is not None:
        rows.append(("order statistic", f"{rank} of {size}"))
    if rank is not None and certificate.beta_law and certificate.is_finite:
        low, high = certificate.violation_interval(0.9)
        law = (
            f"{low:.4g} to {high:.4g} in 90 % of calibration draws, if the scores are "
            f"independent and untied"
        )
        rows.append(("realised violation", law))
    rows.append(("what is random", certificate.random))
    rows += [("assumption", sentence) for sentence in certificate.assumptions]
    rows.append(("reference", certificate.reference))
    return rows + ([("note", certificate.note)] if certificate.note else [])


def _of_group(certificate: Certificate) -> str:
    size, needed = certificate.sample_size, certificate.minimum_sample_size
    return (
        f"at most {certificate.alpha:.6g} at budget {certificate.budget:.6g}, from "
        f"{size} scores ({needed} needed)"
    )


def _row(label: str, text: str) -> str:
    """A label in a column of its own, the text wrapped beside it."""
    lead = f"  {label:<20}"
    return fill(text, _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead))
