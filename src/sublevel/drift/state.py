"""Writing and reading the state of what watches a policy: plain JSON."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import Array, is_whole
from ..errors import CannotWrite, InvalidParameter

#: What a file calls itself, and the version of its layout.
_FORMAT, _VERSION = "sublevel drift", 1
_ENDLESS = {"inf": np.inf, "-inf": -np.inf}


def numbers_to(values: Array) -> list[float | str]:
    """Numbers as JSON has them, infinities as words."""
    return [v if np.isfinite(v) else str(v) for v in np.asarray(values).tolist()]


def numbers_from(values: Sequence[Any]) -> Array:
    """Numbers that `numbers_to` wrote."""
    if not isinstance(values, list):
        raise TypeError("numbers must be a list")
    return np.array([_ENDLESS[v] if isinstance(v, str) else float(v) for v in values])


def count_from(value: object) -> int:
    """A whole number of at least 0."""
    if not is_whole(value):
        raise TypeError(f"{value!r} is no count")
    return int(value)


@contextmanager
def reading(owner: str) -> Iterator[None]:
    """Whatever is wrong with a state is one sentence."""
    try:
        yield
    except InvalidParameter:
        raise
    except Exception as error:
        raise InvalidParameter(
            f"{owner}(state) must be what to_dict wrote, and something in it cannot be "
            f"({error!r})."
        ) from error


def write_state(path: str | PathLike[str], kind: str, state: Mapping[str, Any]) -> None:
    """Write a state, all or nothing."""
    text = json.dumps(
        {"format": _FORMAT, "version": _VERSION, "kind": kind, **state}, allow_nan=False
    )
    target = Path(os.path.realpath(path))
    own = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        own.write_text(text, encoding="utf-8")
        os.replace(own, target)
    except OSError as error:
        own.unlink(missing_ok=True)
        raise CannotWrite(
            f"{kind}.save({str(path)!r}) cannot write there: "
            f"{error.strerror or error}. Name a file in a folder that exists."
        ) from error


def read_state(path: str | PathLike[str], kind: str) -> dict[str, Any]:
    """The state that `write_state` wrote."""
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        fits = (state["format"], state["version"], state["kind"])
    except OSError:
        raise
    except Exception as error:
        raise InvalidParameter(
            f"{kind}.load({str(path)!r}) must be a file written by {kind}.save, and "
            f"cannot be read as one ({error!r})."
        ) from error
    if fits != (_FORMAT, _VERSION, kind):
        raise InvalidParameter(
            f"{kind}.load({str(path)!r}) must be a file written by {kind}.save of this "
            f"version, got {fits}."
        )
    return dict(state)
