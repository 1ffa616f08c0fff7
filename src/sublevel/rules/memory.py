"""What decisions did, kept in memory and, if asked, in a file that survives a kill.

The file is written all or nothing under a name of its own and then put in place. It
names what it belongs to, a hash of contexts, outcomes, levels and the rule's code, and
is refused by anything else.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from ..errors import CannotWrite, InvalidParameter
from .behaviour import Look
from .parts import parts_of

#: Seconds between two writings of a file while a level is being looked at.
PAUSE = 5.0
#: What the file calls itself, with the version of its layout.
FORMAT = "sublevel rule 1"

#: A level and the number of a row.
Place = tuple[float, int]


@dataclass(eq=False)
class Memory:
    """Looks that need not be taken again.

    Attributes
    ----------
    path : file they are kept in, or None
    mark : what the file belongs to
    looks : from level and row to what the decision did
    """

    path: Path | None = None
    mark: str = ""
    looks: dict[Place, Look] = field(default_factory=dict)
    _written: float = field(default=0.0, repr=False)
    _fresh: int = field(default=0, repr=False)

    def keep(self, place: Place, look: Look) -> None:
        """Remember a look; now and then, write all of them."""
        self.looks[place] = look
        self._fresh += 1
        if self.path is not None and time.monotonic() - self._written >= PAUSE:
            self.write()

    def write(self) -> None:
        """Put what is not in the file yet there, all or nothing."""
        if self.path is None or not self._fresh:
            return
        places = list(self.looks)
        looks = [self.looks[place] for place in places]
        own = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.part")
        try:
            with own.open("wb") as file:
                np.savez(
                    file,
                    mark=np.array([FORMAT, self.mark]),
                    levels=np.array([level for level, _ in places], dtype=float),
                    rows=np.array([row for _, row in places], dtype=int),
                    miss=np.array([look.miss for look in looks], dtype=float),
                    decided=np.array([look.decided for look in looks], dtype=bool),
                    errors=np.array([look.error for look in looks], dtype=str),
                )
                file.flush()
                os.fsync(file.fileno())
            own.replace(self.path)
        except OSError as error:
            raise CannotWrite(
                f"calibrate_rule(resume={str(self.path)!r}) cannot be written: "
                f"{error}. Decisions computed so far are lost if this process ends."
            ) from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                own.unlink()
        self._written, self._fresh = time.monotonic(), 0


def open_memory(
    owner: str, resume: str | PathLike[str] | None, belongs_to: Callable[[], str]
) -> Memory:
    """What a file has kept, or an empty memory that will be written to it.

    Parameters
    ----------
    owner : who complains
    resume : path of the file, or None to keep looks in memory only
    belongs_to : gives the mark of what is calibrated
    """
    if resume is None:
        return Memory()
    if not isinstance(resume, str | PathLike):
        raise InvalidParameter(
            f"{owner}(resume=...) must be the path of a file, got {resume!r}."
        )
    path, mark = Path(resume), belongs_to()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidParameter(
            f"{owner}(resume={str(path)!r}) must be a file in a folder that exists."
        )
    return Memory(path, mark, _read(owner, path, mark) if path.exists() else {})


def _read(owner: str, path: Path, mark: str) -> dict[Place, Look]:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            given = file["mark"].tolist()
            columns = [
                file[name].tolist()
                for name in ("levels", "rows", "miss", "decided", "errors")
            ]
        rows = list(zip(*columns, strict=True))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidParameter(
            f"{owner}(resume={str(path)!r}) must be a file that it wrote itself, got "
            f"one that cannot be read: {error}. Name another file."
        ) from error
    if given != [FORMAT, mark]:
        raise InvalidParameter(
            f"{owner}(resume={str(path)!r}) must be of the same X, Y, levels, decide, "
            "violates and fallback, got the file of another calibration. Name another "
            "file."
        )
    return {
        (level, row): Look(miss, yes, error) for level, row, miss, yes, error in rows
    }


def mark_of(owner: str, given: object, functions: tuple[Any, ...]) -> str:
    """A hash of contexts, outcomes, levels, and of what functions are made of.

    What functions read by other ways, a model's weights, say, is not in there.
    """
    try:
        parts = [parts_of(each) if callable(each) else each for each in functions]
        return str(joblib.hash((given, parts)))
    except Exception as error:
        raise InvalidParameter(
            f"{owner}(resume=...) needs contexts and outcomes that can be pickled, to "
            f"recognise them: {error}. Give arrays, or go without."
        ) from error
