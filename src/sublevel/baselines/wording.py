"""Certificates of methods that promise less than they are sold for, or nothing."""

from __future__ import annotations

from typing import Any

from ..guarantees import Certificate


def heuristic(owner: Any, alpha: float, size: int, **said: Any) -> Certificate:
    """A certificate that says no theorem backs the level.

    Parameters
    ----------
    owner : the source of sets it is for
    alpha : level the method aims at, 1.0 if at none
    size : outcomes it learned from
    said : reference, note and whatever else differs from the defaults
    """
    facts: dict[str, Any] = {
        "guarantee": type(owner).__name__,
        "alpha": float(alpha),
        "confidence": None,
        "budget": float(owner.budget_),
        "sample_size": size,
        "minimum_sample_size": 1,
        "rank": None,
        "random": "The past outcomes and the new one with its context.",
        "assumptions": (),
        "heuristic": True,
        "beta_law": False,
        "holds": "as an aim, not a promise",
    }
    return Certificate(**{**facts, **said})
