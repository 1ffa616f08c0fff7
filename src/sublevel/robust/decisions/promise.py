"""What is promised of decisions, and the same in a few words."""

from __future__ import annotations

from ...guarantees import Certificate

#: What is promised: the Certificate of the only set, of several one by name; of a
#: calibrated policy its own; None if nothing is.
Promise = Certificate | dict[str, Certificate | None] | None


def in_short(certificate: Promise) -> str:
    """A promise in a few words.

    Examples
    --------
    >>> in_short(None)
    'none'
    """
    if certificate is None:
        return "none"
    if isinstance(certificate, dict):
        return "; ".join(f"{k}: {in_short(v)}" for k, v in certificate.items())
    about = "about" if certificate.heuristic else "at most"
    return f"{certificate.guarantee}, {about} {certificate.alpha:.4g}"
