"""What a rule decided at many contexts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..checks import Array, BoolArray
from ..guarantees import Certificate
from ..tables import html_table
from .behaviour import Action


@dataclass(frozen=True, eq=False)
class RuleDecisions(Sequence[Any]):
    """The decisions of a rule, one a context, in a sequence.

    Attributes
    ----------
    actions : what is done at each of n contexts
    levels : shape (n,), the level each was decided at
    certificate : what is promised of them

    Examples
    --------
    >>> import sublevel as sl
    >>> rule = sl.calibrate_rule(
    ...     decide=lambda x, level: x + level,
    ...     violates=lambda stock, demand: demand > stock,
    ...     X=[5.0] * 20,
    ...     Y=[5.0 + k for k in range(20)],
    ...     levels=range(31),
    ... )
    >>> decisions = rule([1.0, 2.0])
    >>> decisions, list(decisions), decisions.status.tolist()
    (RuleDecisions(2 contexts: 2 decided), [19.0, 20.0], ['decided', 'decided'])
    """

    actions: tuple[Action, ...]
    levels: Array
    certificate: Certificate

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """Of each context "decided", "fallback", "no_decision" or "failed", (n,)."""
        return np.array([action.status for action in self.actions], dtype=str)

    @property
    def decided(self) -> BoolArray:
        """Whether there is something to act on, shape (n,)."""
        return np.array([action.acts for action in self.actions], dtype=bool)

    @property
    def errors(self) -> dict[int, str]:
        """From the numbers of the contexts where the rule failed to what went wrong."""
        return {k: a.error for k, a in enumerate(self.actions) if a.error}

    def __len__(self) -> int:
        return len(self.actions)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [action.decision for action in self.actions[at]]
        return self.actions[at].decision

    def __repr__(self) -> str:
        counts = Counter(action.status for action in self.actions)
        each = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        return f"RuleDecisions({len(self)} contexts: {each})"

    def _repr_html_(self) -> str:
        counts = Counter(action.status for action in self.actions)
        rows = [(status, f"{n}") for status, n in sorted(counts.items())]
        return html_table(f"{len(self)} decisions", rows)
