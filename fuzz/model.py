"""A robust model as plain numbers of order one, with the units they are written in.

Everything is built of pieces that are affine in the decision and in the outcome:

    piece(x, y) = constant + x' coefficients + y' (own + products x).

Decisions are x (numbers), z (booleans) and w (an affine rule of the outcome).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .joined_regions import Product, split
from .regions import Region

#: Kinds of rows whose pieces may have units of their own.
SEPARATE = ("vector", "min")
#: Kinds of rows that only make sense without units.
UNITLESS = ("exp", "log", "sqrt", "log_sum_exp")


@dataclass(frozen=True, eq=False)
class Key:
    """An uncertain key.

    `shapes` are those of its parameters (several share the set), `through` is "value"
    or "loss_set".
    """

    region: Region
    unit: np.ndarray
    shapes: tuple[tuple[int, ...], ...]
    nonneg: bool = False
    through: str = "value"


@dataclass(frozen=True, eq=False)
class Piece:
    """One affine function of decision and outcome, in the unit `unit`.

    `multiplier` is the value of an ordinary parameter that multiplies the products;
    `style` how they are written.
    """

    constant: float
    x: np.ndarray
    z: np.ndarray
    w: np.ndarray
    y: np.ndarray
    yx: np.ndarray
    unit: float = 1.0
    multiplier: float | None = None
    style: int = 0


@dataclass(frozen=True, eq=False)
class Row:
    """A function of pieces that is at most a limit: a constraint, or the objective."""

    kind: str
    pieces: tuple[Piece, ...]
    limit: float = 0.0


@dataclass(frozen=True, eq=False)
class Rule:
    """An affine rule: k decisions that see some entries of the outcome."""

    sees: np.ndarray
    unit: float
    nonneg: bool


@dataclass(frozen=True, eq=False)
class Model:
    """Minimise (or maximise minus) the worst case of the objective.

    `total` is what x sums to, if anything; `declared` whether its sign is written.
    """

    seed: int
    keys: tuple[Key, ...]
    lower: np.ndarray
    upper: np.ndarray
    x_unit: np.ndarray
    booleans: int
    rule: Rule | None
    rows: tuple[Row, ...]
    objective: Row
    maximise: bool = False
    total: float | None = None
    twist: str = "plain"
    declared: bool = False

    @property
    def region(self) -> Product:
        """Where all the outcomes are, one after another."""
        return Product(tuple(key.region for key in self.keys))

    @property
    def y_unit(self) -> np.ndarray:
        """Unit of every entry of the outcome."""
        return np.concatenate([key.unit for key in self.keys])

    @property
    def n(self) -> int:
        """Number of entries of x."""
        return len(self.lower)

    @property
    def m(self) -> int:
        """Number of entries of the outcome."""
        return len(self.y_unit)

    def labels(self) -> list[str]:
        """What the model is an example of, for the table."""
        sets = {part for key in self.keys for part in key.region.parts()}
        places = {row.kind for row in self.rows} | {f"objective {self.objective.kind}"}
        more = {
            "several keys": len(self.keys) > 1,
            "shared set": any(len(key.shapes) > 1 for key in self.keys),
            "LossSet": any(key.through == "loss_set" for key in self.keys),
            "booleans": self.booleans > 0,
            "affine rule": self.rule is not None,
            "parameter": any(
                p.multiplier is not None
                for row in (*self.rows, self.objective)
                for p in row.pieces
            ),
            f"twist {self.twist}": self.twist != "plain",
        }
        return [
            *sorted(f"set: {name}" for name in sets),
            *sorted(f"place: {name}" for name in places),
            *(f"also: {name}" for name, true in more.items() if true),
        ]


@dataclass(frozen=True, eq=False)
class Flat:
    """A piece over the whole decision (x, z, rule's intercepts and slopes)."""

    constant: float
    decision: np.ndarray
    y: np.ndarray
    products: np.ndarray

    def at(self, y: np.ndarray) -> tuple[float, np.ndarray]:
        """Constant and coefficients of the decision once the outcome is known."""
        return self.constant + self.y @ y, self.decision + y @ self.products

    def slope(self, decision: np.ndarray) -> np.ndarray:
        """Coefficients of the outcome once the decision is taken."""
        return self.y + self.products @ decision

    def value(self, decision: np.ndarray, y: np.ndarray) -> float:
        """The piece itself."""
        constant, coefficients = self.at(y)
        return float(constant + coefficients @ decision)

    def size(self, decision: np.ndarray, y: np.ndarray) -> float:
        """Net size: the largest of what is compared, a big M only where it counts."""
        parts = [
            self.constant,
            self.decision @ decision,
            self.y @ y,
            y @ self.products @ decision,
        ]
        if abs(self.constant) > 90 and abs(parts[0] + parts[1]) < 90:
            parts = [parts[0] + parts[1], *parts[2:]]
        return float(np.abs(parts).max())


def flat(model: Model, piece: Piece) -> Flat:
    """A piece with the rule's numbers among the decisions."""
    times = 1.0 if piece.multiplier is None else piece.multiplier
    decision, products = (
        [piece.x, piece.z],
        [times * piece.yx, np.zeros((model.m, model.booleans))],
    )
    if model.rule is not None:
        rows, entries = np.nonzero(model.rule.sees)
        slopes = np.zeros((model.m, rows.size))
        slopes[entries, np.arange(rows.size)] = piece.w[rows]
        decision += [piece.w, np.zeros(rows.size)]
        products += [np.zeros((model.m, len(piece.w))), slopes]
    return Flat(piece.constant, np.concatenate(decision), piece.y, np.hstack(products))


def rule_signs(model: Model) -> list[Row]:
    """The rows that say a rule is not negative; the library adds its own."""
    if model.rule is None or not model.rule.nonneg:
        return []
    k = len(model.rule.sees)
    empty = blank(model)
    pieces = tuple(replace(empty, w=-np.eye(k)[j]) for j in range(k))
    return [Row("vector", pieces)]


def blank(model: Model) -> Piece:
    """The piece that is zero."""
    k = 0 if model.rule is None else len(model.rule.sees)
    return Piece(
        0.0,
        np.zeros(model.n),
        np.zeros(model.booleans),
        np.zeros(k),
        np.zeros(model.m),
        np.zeros((model.m, model.n)),
    )


def by_key(model: Model, values: np.ndarray) -> list[np.ndarray]:
    """An array over all outcomes, cut into the keys."""
    return split(values, [key.region for key in model.keys])
