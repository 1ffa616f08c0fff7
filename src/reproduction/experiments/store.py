"""Finished cells as small JSON files that a kill cannot spoil.

A file is written under another name, flushed to disk, and renamed: it is there whole or
not at all. It holds a checksum of its contents and the fingerprint of what was asked,
so that a damaged file, or one of another run, counts as not there.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..files import write_whole
from .settings import Cell

#: Raised when cells would come out differently: older files are then computed again.
FORMAT = 2


@dataclass(frozen=True)
class Store:
    """A folder of finished cells.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from reproduction.experiments.settings import EXPERIMENTS, Cell
    >>> cell = Cell(EXPERIMENTS["portfolio"].settings[0], (0, 1))
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     before = store.load(cell)
    ...     store.save(cell, [{"seed": 0}])
    ...     before, store.load(cell)
    (None, [{'seed': 0}])
    """

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Where a cell is kept."""
        return self.folder / f"{cell.name}.json"

    def load(self, cell: Cell) -> Any:
        """The facts of a finished cell, None if there are none to be trusted."""
        try:
            kept = json.loads(self.path(cell).read_text(encoding="utf-8"))
            facts = kept["facts"]
            sound = kept["checksum"] == checksum(facts)
            asked = kept["asked"] == fingerprint(cell)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return facts if sound and asked else None

    def save(self, cell: Cell, facts: Any) -> None:
        """Keep the facts of a cell, whole or not at all."""
        kept = {"asked": fingerprint(cell), "checksum": checksum(facts), "facts": facts}
        write_whole(self.path(cell), json.dumps(kept, allow_nan=False))


def checksum(facts: Any) -> str:
    """A digest of plain data, whatever the order of its keys."""
    text = json.dumps(facts, sort_keys=True, allow_nan=False)
    return sha256(text.encode()).hexdigest()


def fingerprint(cell: Cell) -> str:
    """A digest of all that a cell's result depends on."""
    return checksum({"format": FORMAT, **asdict(cell)})
