"""What a promise made of rows with times assumes of the rows to come."""

from __future__ import annotations

from dataclasses import replace

from ..folds import stretch_of, times_of
from ..predictions import Table
from .certificate import Certificate

_WATCH = "sl.drift.Monitor watches for it."


def with_times(certificate: Certificate, X: Table | None) -> Certificate:
    """The same, saying what the times of the rows mean for it; as it is without times.

    Rows that drift cost a marginal promise at most the mean total variation distance
    between the sample and the sample with a row exchanged for the new one; of
    independent rows, twice that between a row and the new one (Barber, Candes, Ramdas
    and Tibshirani 2023, Theorem 2 and Lemma 1).

    Examples
    --------
    >>> import pandas as pd
    >>> from sublevel.guarantees import Marginal
    >>> X = pd.DataFrame(index=pd.date_range("2024-01-01", periods=19))
    >>> certificate = Marginal().calibrate(range(19), alpha=0.1).certificate
    >>> print(with_times(certificate, X).assumptions[-1])
    The rows are of 2024-01-01 to 2024-01-19: later ones are assumed to be like these,
    and rows near each other no more alike than others (else calibrate whole days:
    guarantee=sl.guarantees.UnitAverage('days')). If the world drifts, alpha grows: of
    independent rows by at most twice the mean total variation distance between those
    calibrated on and a new one. sl.drift.Monitor watches for it.
    """
    times = times_of(X)
    if times is None or not len(times) or certificate.heuristic:
        return certificate
    near = (
        ""
        if certificate.scope
        else ", and rows near each other no more alike than others (else calibrate "
        "whole days: guarantee=sl.guarantees.UnitAverage('days'))"
    )
    what = "units" if certificate.scope else "rows"
    drift = (
        f"If the world drifts, alpha grows: of independent {what} by at most twice the "
        "mean total variation distance between those calibrated on and a new one."
        if certificate.confidence is None
        else "If the world drifts, no confidence is left."
    )
    sentence = (
        f"The rows are of {stretch_of(times)}: later ones are assumed to be like "
        f"these{near}. {drift} {_WATCH}"
    )
    return replace(certificate, assumptions=(*certificate.assumptions, sentence))
