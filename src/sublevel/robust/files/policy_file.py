"""One zip of arrays and JSON, written all or nothing, and read with suspicion."""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
import zipfile
from collections.abc import Mapping
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CannotWrite, InvalidParameter

#: What the file calls itself, and the version of its layout.
FORMAT, VERSION = "sublevel policy", 4
#: Arrays in a file, at most, and bytes up to which they are packed tightly. What takes
#: more is as large in the file as it is in memory.
MOST_ARRAYS, MOST_PACKED = 1_000_000, 2**26
#: Types that arrays of a policy have.
KINDS = "biufUmM"
#: A file that nobody else has.
_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)

FilePath = str | PathLike[str]
Arrays = dict[str, np.ndarray[Any, Any]]


def write_file(path: FilePath, about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a description and arrays, with a checksum of all of it.

    All or nothing: an older file is replaced only once the new one is on the disk. It
    is written under a name of its own, so that several writers of one path do not harm
    each other; the last one wins. Links are followed, and permissions kept.
    """
    text = json.dumps({"format": FORMAT, "version": VERSION, **about}, allow_nan=False)
    arrays = {**arrays, "about": np.frombuffer(text.encode(), dtype=np.uint8)}
    seal = np.frombuffer(_checksum(arrays), dtype=np.uint8)
    target = _target(path)
    own = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        # The permissions any file would get, until those of the old one are known.
        number = os.open(own, _CREATE, 0o666)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with os.fdopen(number, "wb") as file:
            if target.exists():
                shutil.copymode(target, own)
            pack = np.savez_compressed if _is_small(arrays) else np.savez
            pack(file, **arrays, checksum=seal)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(own, target)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        own.unlink(missing_ok=True)


def read_file(path: FilePath) -> tuple[dict[str, Any], Arrays]:
    """Description and arrays; InvalidParameter if anything was changed since."""
    try:
        arrays = _arrays(_target(path))
        about = json.loads(arrays["about"].tobytes())
        kind, version = about["format"], about["version"]
    except (FileNotFoundError, IsADirectoryError, PermissionError, InvalidParameter):
        raise
    except Exception as error:
        # A damaged file can fail in any way.
        raise refused(path, f"it cannot be read as one ({error!r})") from error
    if kind != FORMAT:
        raise refused(path, f"it calls itself {kind!r}")
    if version != VERSION:
        raise refused(
            path,
            f"its layout is version {version}, and this reads {VERSION}. Save the "
            "policy again with this version",
        )
    seal = arrays.pop("checksum", None)
    if seal is None or seal.tobytes() != _checksum(arrays):
        raise refused(path, "its checksum does not fit: it was damaged or edited")
    del arrays["about"]
    return about, arrays


def refused(path: FilePath, why: str) -> InvalidParameter:
    """The error for a file that is not a policy, or not a sound one."""
    return InvalidParameter(
        f"load_policy({str(path)!r}) must be a file written by Policy.save, and {why}."
    )


def _target(path: object) -> Path:
    """Where to write or read: what a link points to."""
    if not isinstance(path, str | PathLike) or not str(path) or "\0" in str(path):
        raise InvalidParameter(
            f"The path of a policy must be a file name, got {path!r}."
        )
    return Path(os.path.realpath(path))


def _is_small(arrays: Arrays) -> bool:
    # Heads, names and the checksum are not counted, and take less than half.
    return sum(array.nbytes + 1000 for array in arrays.values()) < MOST_PACKED // 2


def _cannot_write(path: object, error: OSError) -> CannotWrite:
    return CannotWrite(
        f"Policy.save({str(path)!r}) cannot write there: {error.strerror or error}. "
        "Name a file in a folder that exists and takes files."
    )


def _arrays(path: Path) -> Arrays:
    """The arrays of an npz file; each is read whole, so that its CRC is checked."""
    arrays: Arrays = {}
    with zipfile.ZipFile(path) as file:
        members, most = file.infolist(), max(MOST_PACKED, path.stat().st_size)
        if len(members) > MOST_ARRAYS or sum(m.file_size for m in members) > most:
            raise ValueError("it would unpack to more than a policy ever takes")
        for member in members:
            arrays[member.filename.removesuffix(".npy")] = _array(file.read(member))
    return arrays


def _array(raw: bytes) -> np.ndarray[Any, Any]:
    """One array, whose head must not promise more than there is."""
    content = io.BytesIO(raw)
    version = np.lib.format.read_magic(content)
    read = np.lib.format.read_array_header_1_0
    shape, _, dtype = read(content) if version == (1, 0) else _head(content)
    left = len(raw) - content.tell()
    if dtype.kind not in KINDS or not dtype.itemsize:
        raise ValueError(f"an array of type {dtype}")
    if prod(shape) * dtype.itemsize != left:
        raise ValueError("the head of an array does not fit its content")
    content.seek(0)
    array: np.ndarray[Any, Any] = np.lib.format.read_array(content, allow_pickle=False)
    return array


def _head(content: io.BytesIO) -> Any:
    return np.lib.format.read_array_header_2_0(content)


def _checksum(arrays: Arrays) -> bytes:
    """SHA-256 of names, types, shapes and contents."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        head = f"{name}|{array.dtype.str}|{array.shape}|"
        total.update(head.encode())
        total.update(array.tobytes())
    return total.digest()
