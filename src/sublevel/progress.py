"""A bar that shows how far things are."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any

#: What stands around the bar: what is counted, the time passed and the time left.
FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} {unit} [{elapsed}, {remaining} left]"


class Bar:
    """How far things are and how long they will take, on a terminal or in a notebook.

    Parameters
    ----------
    total : how many there are
    unit : what is counted
    """

    def __init__(self, total: int, unit: str = "contexts") -> None:
        self._shown = _tqdm(total, unit)

    def __enter__(self) -> Bar:
        return self

    def advance(self, more: int) -> None:
        """So many more are done."""
        self._shown.update(more)

    def expect(self, more: int) -> None:
        """So many more than was thought are to be done; fewer, if negative."""
        self._shown.total += more
        self._shown.refresh()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._shown.close()


def _tqdm(total: int, unit: str) -> Any:
    # Only those who ask for a bar wait for its import.
    with warnings.catch_warnings():
        # In notebooks without widgets it says so, and draws text all the same.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    return tqdm(total=total, unit=unit, bar_format=FORMAT, dynamic_ncols=True)
