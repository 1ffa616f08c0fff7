"""Worst cases and optima by our own formulas: nothing of the library is imported.

The worst outcome of a row is sought direction by direction: a row of finitely many
affine parts is worst where one of them is, and a region knows its worst outcome in any
direction. Every such outcome is a member of the region, so what it breaks is broken.
The optimum is bounded by cutting planes over these outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import cvxpy as cp
import numpy as np

from .model import Flat, Model, Row, flat, rule_signs

#: Rounds of cutting planes before the oracle says it does not know.
ROUNDS = 60
#: Where decisions end that nothing else bounds.
FAR = 1e4
#: Directions in which the worst case of a Euclidean norm is sought.
DIRECTIONS = 24


def values(kind: str, f: np.ndarray) -> float:
    """The function of the pieces f, shape (k,), that a row bounds."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if kind in ("abs", "norm1"):
            return float(np.abs(f).sum())
        if kind == "pos":
            return float(np.maximum(f, 0).sum())
        if kind == "norm2":
            return float(np.linalg.norm(f))
        if kind in ("norm_inf", "equality"):
            return float(np.abs(f).max())
        if kind in ("square", "sum_squares"):
            return float(f @ f)
        if kind == "exp":
            return float(np.exp(f[0]))
        if kind == "log_sum_exp":
            return float(np.logaddexp.reduce(f))
        if kind == "log":
            return float(-np.log(f[0])) if f[0] > 0 else np.inf
        if kind == "sqrt":
            return float(-np.sqrt(f[0])) if f[0] >= 0 else np.inf
        return float(f.max())


def combinations_of(kind: str, k: int) -> np.ndarray:
    """Weights of the pieces, one of which is largest where the row is, (n, k)."""
    if kind in ("abs", "norm1"):
        return np.array(list(product((-1.0, 1.0), repeat=k)))
    if kind == "pos":
        return np.array(list(product((0.0, 1.0), repeat=k))[1:])
    if kind in ("norm2", "sum_squares", "log_sum_exp"):
        rng = np.random.default_rng(k)
        many = rng.normal(size=(DIRECTIONS, k))
        many = np.abs(many) if kind == "log_sum_exp" else many
        signs = np.array(list(product((-1.0, 1.0), repeat=k)))
        return np.vstack([np.eye(k), -np.eye(k), signs, many])
    if kind in ("norm_inf", "equality", "square"):
        return np.vstack([np.eye(k), -np.eye(k)])
    if kind in ("log", "sqrt"):
        return -np.eye(k)
    return np.eye(k)


def gradient(kind: str, f: np.ndarray) -> np.ndarray:
    """Weights that rise fastest at f, for curved rows."""
    if kind == "log_sum_exp":
        return np.exp(f - values(kind, f))
    return f


@dataclass(frozen=True)
class Worst:
    """A row at its worst: its value, the outcome, and the net size of its terms."""

    value: float
    outcome: np.ndarray
    size: float


class Oracle:
    """What a decision is worth, and what the best one is."""

    def __init__(self, model: Model) -> None:
        self.model, self.region = model, model.region
        self.rows = [*model.rows, *rule_signs(model)]
        # The row is kept too, so that its id is not given to another.
        self._flats: dict[int, tuple[Row, list[Flat]]] = {}

    def flats(self, row: Row) -> list[Flat]:
        """The pieces of a row over the whole decision."""
        if id(row) not in self._flats:
            pieces = [flat(self.model, piece) for piece in row.pieces]
            self._flats[id(row)] = row, pieces
        return self._flats[id(row)][1]

    def worst(self, row: Row, decision: np.ndarray) -> Worst:
        """The worst case of a row (less its limit) over the region."""
        flats = self.flats(row)
        slopes = np.array([piece.slope(decision) for piece in flats])
        best, outcome = -np.inf, None
        for weights in combinations_of(row.kind, len(flats)):
            y = self.region.worst(weights @ slopes)
            value = values(row.kind, self._pieces(flats, decision, y))
            for _ in range(
                8 if row.kind in ("norm2", "sum_squares", "log_sum_exp") else 0
            ):
                f = self._pieces(flats, decision, y)
                other = self.region.worst(gradient(row.kind, f) @ slopes)
                risen = values(row.kind, self._pieces(flats, decision, other))
                if not risen > value + 1e-12 * abs(value):
                    break
                y, value = other, risen
            if value > best:
                best, outcome = value, y
        size = max(piece.size(decision, outcome) for piece in flats)
        power = 2 if row.kind in ("square", "sum_squares") else 1
        return Worst(best - row.limit, outcome, max(size**power, abs(row.limit)))

    def piece_misses(self, row: Row, decision: np.ndarray) -> list[tuple[float, float]]:
        """For each piece of a vector row its worst value and its own size."""
        out = []
        for piece in self.flats(row):
            y = self.region.worst(piece.slope(decision))
            out.append((piece.value(decision, y), piece.size(decision, y)))
        return out

    def objective(self, decision: np.ndarray) -> Worst:
        """The worst case of the objective, to be minimised."""
        return self.worst(self.model.objective, decision)

    def misses(self, decision: np.ndarray) -> list[tuple[str, float, float]]:
        """Each row's kind, worst miss (at most 0 where it is kept), and size."""
        out = []
        for row in self.rows:
            if row.kind in ("vector", "min"):
                parts = self.piece_misses(row, decision)
                out += [(row.kind, value, size) for value, size in parts]
            else:
                worst = self.worst(row, decision)
                out.append((row.kind, worst.value, worst.size))
        model = self.model
        x = decision[: model.n]
        size = np.maximum(np.abs(model.lower), np.abs(model.upper))
        size = np.where(np.isfinite(size), size, 1.0)
        out += [("bound", m, s) for m, s in zip(model.lower - x, size, strict=True)]
        out += [("bound", m, s) for m, s in zip(x - model.upper, size, strict=True)]
        if model.total is not None:
            total = max(abs(model.total), np.abs(x).max())
            out.append(("total", abs(x.sum() - model.total), total))
        return out

    def best(self, start: list[np.ndarray], enough: float | None) -> Best:
        """The least worst case of the objective over all decisions.

        Parameters
        ----------
        start : decisions at whose worst outcomes to begin
        enough : value that is attained; the search ends once nothing beats it
        """
        options = list(product((0.0, 1.0), repeat=self.model.booleans))
        bests = [self._best(start, enough, np.array(z)) for z in options]
        if any(best.status == "unknown" for best in bests):
            return Best("unknown", np.nan)
        feasible = [best for best in bests if best.status == "optimal"]
        if any(best.status == "unbounded" for best in bests):
            return Best("unbounded", -np.inf)
        if not feasible:
            return Best("infeasible", np.inf)
        return min(feasible, key=lambda best: best.value)

    def _best(self, start, enough, z) -> Best:
        rows = [self.model.objective, *self.rows]
        cuts: list[list[np.ndarray]] = [[] for _ in rows]
        middle = np.clip(np.zeros(self._width), -1, 1)
        for decision in [*start, middle]:
            for mine, row in zip(cuts, rows, strict=True):
                mine += self._cuts(row, decision)
        for _ in range(ROUNDS):
            status, bound, decision = self._master(rows, cuts, z)
            if status not in ("optimal", "far"):
                return Best(status, bound)
            scale = max(abs(bound), 1e-2)
            if enough is not None and bound >= enough - 2e-6 * scale:
                return Best("optimal", bound)
            worst = [self.worst(row, decision) for row in rows]
            top = worst[0].value
            kept = all(w.value <= 1e-7 * max(w.size, 1e-3) for w in worst[1:])
            if kept and top - bound <= 2e-6 * max(scale, worst[0].size):
                return Best("unbounded" if status == "far" else "optimal", bound)
            for mine, row in zip(cuts, rows, strict=True):
                mine += self._cuts(row, decision)
        return Best("unknown", np.nan)

    @property
    def _width(self):
        return len(self.flats(self.model.objective)[0].decision)

    def _cuts(self, row, decision):
        if row.kind in ("vector", "min"):
            return [self.region.worst(p.slope(decision)) for p in self.flats(row)]
        return [self.worst(row, decision).outcome]

    def _pieces(self, flats, decision, y):
        return np.array([piece.value(decision, y) for piece in flats])

    def _master(self, rows, cuts, z):
        """The best decision if only the outcomes so far could happen."""
        model = self.model
        decision, top = cp.Variable(self._width), cp.Variable()
        # Few outcomes leave much open, which more of them will close.
        constraints = [decision >= -FAR, decision <= FAR]
        low, high = np.isfinite(model.lower), np.isfinite(model.upper)
        x = decision[: model.n]
        if low.any():
            constraints.append(x[low] >= model.lower[low])
        if high.any():
            constraints.append(x[high] <= model.upper[high])
        if model.booleans:
            constraints.append(decision[model.n : model.n + model.booleans] == z)
        if model.total is not None:
            constraints.append(cp.sum(x) == model.total)
        for k, (row, outcomes) in enumerate(zip(rows, cuts, strict=True)):
            limit = top if k == 0 else row.limit
            constraints += self._rows(row, outcomes, decision, limit)
        problem = cp.Problem(cp.Minimize(top), constraints)
        for solver in (cp.CLARABEL, cp.SCS):
            try:
                problem.solve(solver=solver)
            except cp.SolverError:
                continue
            if problem.status == "optimal" and problem.value < -FAR / 100:
                return "far", float(problem.value), np.array(decision.value)
            if problem.status == "optimal":
                return "optimal", float(problem.value), np.array(decision.value)
            if problem.status == "infeasible":
                return "infeasible", np.nan, None
            break
        return "unknown", np.nan, None

    def _rows(self, row, outcomes, decision, limit):
        flats = self.flats(row)
        parts = []
        for piece in flats:
            pairs = [piece.at(y) for y in outcomes]
            constants = np.array([constant for constant, _ in pairs])
            parts.append(constants + np.array([c for _, c in pairs]) @ decision)
        kind = row.kind
        if kind == "equality":
            return [parts[0] == 0]
        if kind in ("affine", "greater", "vector", "min", "max", "maximum"):
            return [part <= limit for part in parts]
        stacked = cp.vstack(parts)  # one row a piece, one column an outcome
        if kind in ("abs", "norm1"):
            return [cp.sum(cp.abs(stacked), axis=0) <= limit]
        if kind == "pos":
            return [cp.sum(cp.pos(stacked), axis=0) <= limit]
        if kind == "norm2":
            return [cp.norm(stacked, 2, axis=0) <= limit]
        if kind == "norm_inf":
            return [cp.max(cp.abs(stacked), axis=0) <= limit]
        if kind in ("square", "sum_squares"):
            return [cp.sum(cp.square(stacked), axis=0) <= limit]
        if kind == "exp":
            return [cp.exp(parts[0]) <= limit]
        if kind == "log_sum_exp":
            return [cp.log_sum_exp(stacked, axis=0) <= limit]
        if kind == "log":
            return [-cp.log(parts[0]) <= limit]
        return [-cp.sqrt(parts[0]) <= limit]


@dataclass(frozen=True)
class Best:
    """The status, and a value no decision beats."""

    status: str
    value: float
