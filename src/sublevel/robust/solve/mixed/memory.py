"""What earlier contexts leave behind for later ones.

A tangent is kept as the direction it touches the cone in, steps as the order they were
taken in. Coefficients are computed anew from the numbers of each context, so that a cut
is valid wherever it came from. Integers are only tried: they count if they fit.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ....checks import Array
from ....conic.program import Indices

#: Directions and orders kept of a cone, and contexts whose integers are kept.
MOST_TANGENTS, MOST_ORDERS, MOST_CONTEXTS = 8, 40, 300
#: Directions of length 1 that differ by less are kept once.
ALIKE = 1e-3


@dataclass(frozen=True, eq=False)
class Memory:
    """Directions, orders and integers of earlier contexts, the latest last.

    Attributes
    ----------
    tangents : for each cone, directions of shape (m,)
    orders : for each cone, the columns of binaries in an order, with their number
    contexts : numbers of contexts, and the integers that were best there
    """

    tangents: dict[int, deque[Array]] = field(default_factory=dict)
    orders: dict[int, deque[Indices]] = field(default_factory=dict)
    contexts: deque[tuple[Array, Array]] = field(
        default_factory=lambda: deque(maxlen=MOST_CONTEXTS)
    )

    def keep_tangent(self, cone: int, direction: Array) -> None:
        """A direction in which a tangent was of use."""
        kept = self.tangents.setdefault(cone, deque(maxlen=MOST_TANGENTS))
        # The same cone may have fewer entries at another context, where some are zero.
        same = [other for other in kept if len(other) == len(direction)]
        if not any(np.allclose(direction, other, atol=ALIKE) for other in same):
            kept.append(direction)

    def keep_order(self, cone: int, order: Indices) -> None:
        """An order in which the steps of a cone were of use."""
        self.orders.setdefault(cone, deque(maxlen=MOST_ORDERS)).append(order)

    def keep_integers(self, context: Array, whole: Array) -> None:
        """The integers that were best at a context."""
        self.contexts.append((context, whole))

    def nearest(self, context: Array) -> Array | None:
        """The integers of the context whose numbers are nearest, or None."""
        if not self.contexts:
            return None
        apart = [float(np.sum((context - other) ** 2)) for other, _ in self.contexts]
        return self.contexts[int(np.argmin(apart))][1]
