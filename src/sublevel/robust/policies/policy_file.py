"""Policies in files: arrays and JSON in one zip, nothing that runs when it is read."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidParameter

#: What the file calls itself, and the version of its layout.
FORMAT, VERSION = "sublevel policy", 2


def write_file(path: Any, about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a description and arrays, with a checksum of all of it.

    All or nothing: an older file is replaced only once the new one is complete.
    """
    said = {"format": FORMAT, "version": VERSION, **about}
    text = json.dumps(said, allow_nan=False).encode()
    arrays = {**arrays, "about": np.frombuffer(text, dtype=np.uint8)}
    seal = np.frombuffer(_checksum(arrays), dtype=np.uint8)
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(file, **arrays, checksum=seal)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def read_file(path: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Description and arrays; InvalidParameter if anything was changed since."""
    raw = Path(path).read_bytes()
    try:
        arrays = _arrays(raw)
        about = json.loads(arrays["about"].tobytes())
        kind, version = about["format"], about["version"]
    except Exception as error:
        # A damaged file can fail in any way.
        raise refused(path, f"it cannot be read as one ({error!r})") from error
    if kind != FORMAT:
        raise refused(path, f"it calls itself {kind!r}")
    if version != VERSION:
        raise refused(path, f"its layout is version {version}, this reads {VERSION}")
    seal = arrays.pop("checksum", None)
    if seal is None or seal.tobytes() != _checksum(arrays):
        raise refused(path, "its checksum does not fit: it was damaged or edited")
    del arrays["about"]
    return about, arrays


def refused(path: Any, why: str) -> InvalidParameter:
    """The error for a file that is not a policy, or not a sound one."""
    return InvalidParameter(
        f"load_policy({str(path)!r}) must be a file written by Policy.save, and {why}."
    )


def _arrays(raw: bytes) -> dict[str, Any]:
    """The arrays of an npz file; each is read whole, so that its CRC is checked."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        for name in file.namelist():
            content = io.BytesIO(file.read(name))
            array = np.lib.format.read_array(content, allow_pickle=False)
            found[name.removesuffix(".npy")] = array
    return found


def _checksum(arrays: dict[str, Any]) -> bytes:
    """SHA-256 of names, types, shapes and contents."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        head = f"{name}|{array.dtype.str}|{array.shape}|"
        found.update(head.encode())
        found.update(array.tobytes())
    return found.digest()
