"""What a decision says of the promises behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modelling.sets_at import named


def told(keys: Sequence[Any], sources: Sequence[Any]) -> Any:
    """The certificate of the only set; of several sets a dict by name.

    None for a set value, which promises nothing.
    """
    found = [getattr(source, "certificate_", None) for source in sources]
    if len(found) == 1:
        return found[0]
    return {named(key): one for key, one in zip(keys, found, strict=True)}
