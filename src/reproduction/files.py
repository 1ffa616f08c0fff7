"""Text files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from sublevel.errors import CannotWrite


def try_folder(folder: Path) -> None:
    """Make a folder and write to it, before hours of work and not after."""
    trial = folder / "can-be-written"
    write_whole(trial, "")
    trial.unlink()


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old one or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True) if path.parent.is_dir() else None
        raise CannotWrite(
            f"{path.parent} cannot be written to: {error.strerror or error}. Free some "
            "space or choose another folder with --out. What is finished is kept; the "
            "same command goes on from there."
        ) from error
