"""Random models: one for each seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .joined_regions import AffineImage, Combined, Intersection, Product, Union
from .law_regions import DIVERGENCES, Laws
from .loss_regions import NAMES, POSITIVE, Loss, label_loss
from .model import SEPARATE, UNITLESS, Key, Model, Piece, Row, Rule, blank, flat
from .oracle import Oracle
from .regions import Ball, Box, Budget, Finite, Labels, Polytope, Region

SETS = (
    "Ellipsoid",
    "Box",
    "L1Ball",
    "Budget",
    "Polytope",
    "Finite",
    "LabelSet",
    "Laws",
    "Intersection",
    "Union",
    "Product",
    "AffineImage",
    "Combined",
    "Mixed",
    "loss",
    "loss",
    "loss",
    "label loss",
)
ROWS = (
    *["affine"] * 4,
    *["vector"] * 4,
    "greater",
    "min",
    "max",
    "maximum",
    "pos",
    "abs",
    "norm1",
    "norm2",
    "norm_inf",
    "square",
    "sum_squares",
    "exp",
    "log_sum_exp",
    "log",
    "sqrt",
)
OBJECTIVES = (*["affine"] * 5, "max", "maximum", "pos", "abs", "norm2", "square", "exp")
#: Rows that a solver with integers takes.
POLYHEDRAL = ("affine", "vector", "greater", "min", "max", "pos", "abs", "norm_inf")
#: Rows that are exact only if no two of their pieces meet the same outcome, or if they
#: are sums of maxima.
SUMS = ("norm2", "sum_squares", "log_sum_exp")
MAXIMA = ("pos", "abs", "norm1")
#: Rows whose arguments must have a sign for the worst case to be at an end.
CURVED = ("abs", "norm1", "norm2", "square", "sum_squares", "norm_inf")
TWISTS = (
    "zero budget",
    "singleton",
    "zero slope",
    "redundant rows",
    "empty set",
    "unbounded set",
    "unbounded",
    "infeasible",
    "rule at zero",
    "merged sets",
)


def draw(seed: int) -> Model:
    """The model of a seed."""
    return _Draw(np.random.default_rng(seed), seed).model()


class _Draw:
    def __init__(self, rng: np.random.Generator, seed: int) -> None:
        self.rng, self.seed = rng, seed
        self.units = rng.random() < 0.6
        #: Nothing is negative, so that the signs of arguments are known.
        self.positive = rng.random() < 0.3
        self.twist = str(rng.choice(TWISTS)) if rng.random() < 0.3 else "plain"

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def unit(self, size: int | None = None):
        """Units from 1e-4 to 1e5, the same for all of a model or none."""
        if not self.units:
            return 1.0 if size is None else np.ones(size)
        return 10.0 ** self.rng.integers(-4, 6, size=size)

    # -- sets -----------------------------------------------------------------------

    def region(self, kind: str, dim: int) -> Region:
        rng = self.rng
        far = self.positive or self.chance(0.5)
        center = rng.uniform(3, 5, dim) if far else rng.uniform(-2, 2, dim)
        center, radius = center.round(3), round(rng.uniform(0.2, 1), 3)
        if self.twist in ("zero budget", "singleton"):
            radius = 0.0
        if kind in ("Ellipsoid", "L1Ball"):
            scale = rng.uniform(0.5, 1.5, dim).round(3)
            if self.chance(0.4):
                scale = np.diag(scale) + np.tril(rng.uniform(-0.5, 0.5, (dim, dim)), -1)
                scale = scale.round(3)
            return Ball(center, scale, radius, 2 if kind == "Ellipsoid" else 1)
        if kind == "Box":
            half = radius * rng.uniform(0.5, 1.5, dim)
            return Box((center - half).round(3), (center + half).round(3))
        if kind == "Budget":
            deviation = rng.uniform(0.2, 1, dim).round(3)
            gamma = round(rng.uniform(0.5, dim), 1) if radius else 0.0
            return Budget(center, deviation, gamma)
        if kind == "Polytope":
            rows = np.vstack([np.eye(dim), -np.eye(dim), rng.normal(size=(2, dim))])
            reach = rng.uniform(0.3, 1, len(rows)) if radius else np.zeros(len(rows))
            return Polytope(rows.round(3), (rows.round(3) @ center + reach).round(6))
        if kind == "Finite":
            count = 1 if radius == 0 else int(rng.integers(2, 6))
            return Finite((center + rng.uniform(-1, 1, (count, dim))).round(3))
        if kind == "Laws":
            return self._laws(dim, radius)
        if kind == "LabelSet":
            costs = tuple(rng.exponential(size=k).round(3) for k in self._blocks(dim))
            return Labels(costs, round(rng.uniform(0, 3), 3) if radius else 0.0)
        if kind == "label loss":
            return self._labels(dim, radius)
        if kind == "loss":
            return self._loss(str(rng.choice(list(NAMES))), dim, radius)
        return self._joined(kind, dim, radius)

    def _laws(self, dim, radius):
        law = self.rng.uniform(0.2, 1, dim)
        law = (law / law.sum()).round(3)
        law[-1] = 1 - law[:-1].sum()
        name = str(self.rng.choice(list(DIVERGENCES)))
        return Laws(name, law, round(0.3 * radius, 4))

    def _blocks(self, dim):
        return (2, dim - 2) if dim >= 4 else (dim,)

    def _labels(self, dim, radius):
        laws = []
        for k in self._blocks(dim):
            law = self.rng.uniform(0.05, 1, k)
            law = (law / law.sum()).round(3)
            law[-1] = 1 - law[:-1].sum()
            laws.append(law)
        loss = str(self.rng.choice(["cross_entropy", "hinge", "zero_one"]))
        budget = round(self.rng.uniform(0, 3), 3) if radius else 0.0
        return label_loss(loss, laws, budget)

    def _loss(self, loss, dim, radius):
        rng = self.rng
        location = rng.uniform(-2, 2, dim).round(3)
        if self.positive or loss in POSITIVE:
            location = rng.uniform(3, 5, dim).round(3)
        shape = rng.uniform(0.5, 2, dim).round(3)
        if loss == "mahalanobis":
            shape = (
                np.diag(shape) + np.tril(rng.uniform(-0.5, 0.5, (dim, dim)), -1)
            ).round(3)
        if loss == "custom":
            shape = np.ones(dim)
        knob = round(rng.uniform(0.1, 0.9), 2)
        budget = radius * float(rng.choice([0.1, 1.0, 2.0]))
        if loss == "log_cosh" and self.units:
            budget *= float(10.0 ** rng.integers(-4, 4))
        if loss == "nll":
            budget += float(np.log(shape**2).sum())
        if loss == "interval":
            budget -= knob * float(rng.choice([0.0, 0.5, 1.0]))
        return Loss(loss, location, shape, knob, budget)

    def _joined(self, kind, dim, radius):
        rng = self.rng
        simple = ["Ellipsoid", "Box", "L1Ball", "Budget", "Polytope"]
        if kind == "Intersection":
            first = self.region(str(rng.choice(simple)), dim)
            other = self.region(str(rng.choice(simple)), dim)
            if self.twist == "empty set":
                far = Box(np.full(dim, 40.0), np.full(dim, 41.0))
                return Intersection((first, far))
            near = first.bounds()
            middle = (near[0] + near[1]) / 2
            half = np.maximum((near[1] - near[0]) / 2, 0.1) * rng.uniform(0.4, 0.9, dim)
            if isinstance(other, Ball):
                other = replace(other, center=middle, radius=float(half.max() * 0.9))
            else:
                other = Box(middle - half, middle + half)
            return Intersection((first, other))
        if kind == "Union":
            kinds = rng.choice([*simple, "Finite", "loss"], 2)
            return Union(tuple(self.region(str(k), dim) for k in kinds))
        if kind == "Product":
            if dim == 1:
                return Product((self.region("Box", 1),))
            left = int(rng.integers(1, dim))
            kinds = rng.choice([*simple, "Finite", "loss"], 2)
            sizes = (left, dim - left)
            pairs = zip(kinds, sizes, strict=True)
            return Product(tuple(self.region(str(k), d) for k, d in pairs))
        if kind == "AffineImage":
            inner = int(rng.integers(1, 4))
            base = str(
                rng.choice([*simple, "Finite", "Laws" if inner > 1 else "Box", "loss"])
            )
            matrix = rng.uniform(-1, 1, (dim, inner)).round(3)
            return AffineImage(
                self.region(base, inner), matrix, rng.uniform(-1, 3, dim).round(3)
            )
        plain = [n for n in NAMES if n not in ("nll", "log_cosh", "interval")]
        first = self._loss(str(rng.choice(plain)), max(1, dim - 2), radius)
        weights = tuple(rng.uniform(0.5, 2, 2).round(2).tolist())
        budget = max(radius, 0.05) * float(rng.choice([0.3, 1.0, 2.0]))
        if kind == "Mixed" and dim >= 3:
            return Combined(first, self._labels(2, 1.0), weights, budget)
        second = self._loss(str(rng.choice(plain)), 2 if dim >= 3 else 1, radius)
        return Combined(first, second, weights, budget)

    def key(self) -> Key:
        rng = self.rng
        dim = int(rng.choice([1, 2, 2, 3, 3, 4]))
        kind = str(rng.choice(SETS))
        if self.twist == "empty set":
            kind = "Intersection"
        if kind in ("Laws", "LabelSet", "label loss"):
            dim = max(dim, 2)
        region = self.region(kind, dim)
        if self.twist == "unbounded set" and dim >= 2:
            upper = rng.uniform(1, 2, dim).round(3)
            upper[0] = np.inf
            region = Box(np.zeros(dim), upper)
        dim = region.dim
        unit = self.unit(dim)
        if region.common_unit:
            unit = np.full(dim, unit[0])
        if region.own_unit:
            unit = np.ones(dim)
        through = "value"
        if isinstance(region, Loss) and self.chance(0.7):
            through = "loss_set"
        nonneg = False
        if (self.positive or self.chance(0.2)) and self.twist not in (
            "empty set",
            "unbounded set",
        ):
            nonneg = bool((region.bounds()[0] >= 0).all())
        return Key(region, unit, self._shapes(dim), nonneg, through)

    def _shapes(self, dim):
        if dim == 1:
            return ((),) if self.chance(0.5) else ((1,),)
        if dim == 4 and self.chance(0.3):
            return ((2, 2),)
        if self.chance(0.15):
            return ((1,), (dim - 1,))
        return ((dim,),)

    # -- rows -----------------------------------------------------------------------

    def piece(self, model: Model, unit: float, keys: list[int]) -> Piece:
        rng = self.rng
        n = model.n
        y, yx = np.zeros(model.m), np.zeros((model.m, n))
        at = 0
        for k, key in enumerate(model.keys):
            entries = slice(at, at + key.region.dim)
            at += key.region.dim
            if k in keys and self.twist != "zero slope":
                if self.chance(0.8):
                    yx[entries] = rng.uniform(-1, 1, (key.region.dim, n)).round(2)
                    if self.chance(0.3):
                        yx[entries] *= rng.random((key.region.dim, n)) < 0.5
                if self.chance(0.4) or not yx[entries].any():
                    y[entries] = rng.uniform(-1, 1, key.region.dim).round(2)
        w = np.zeros(0 if model.rule is None else len(model.rule.sees))
        if model.rule is not None and self.chance(0.7):
            w = rng.uniform(-1, 1, len(w)).round(2)
        return Piece(
            round(rng.uniform(-1, 1), 2),
            rng.uniform(-2, 2, n).round(2),
            np.zeros(model.booleans),
            w,
            y,
            yx,
            unit,
            round(rng.uniform(0.5, 2), 2) if self.chance(0.12) else None,
            int(rng.integers(4)),
        )

    def row(self, model: Model, kinds, oracle_decision) -> Row:
        rng = self.rng
        kind = str(rng.choice(kinds))
        single = ("affine", "greater", "square", "exp", "log", "sqrt")
        count = 1 if kind in single else int(rng.integers(2, 4))
        unit = 1.0 if kind in UNITLESS else self.unit()
        pieces = []
        owners = rng.integers(count, size=len(model.keys))
        chance = 0.85 if kind in SUMS else 0.3 if kind in MAXIMA else 0.0
        apart = self.chance(chance)
        for k in range(count):
            own = self.unit() if kind in SEPARATE else unit
            keys = [j for j in range(len(model.keys)) if self.chance(0.7)] or [0]
            if apart:
                keys = np.flatnonzero(owners == k).tolist()
            pieces.append(self.piece(model, own, keys))
            if apart and model.rule is not None:
                pieces[-1] = replace(pieces[-1], w=0 * pieces[-1].w)
        if self.positive and kind in CURVED:
            pieces = [_without_signs(p) for p in pieces]
        row = Row(kind, tuple(pieces))
        if kind in ("exp", "log_sum_exp"):
            pieces = [_times(p, 0.3) for p in pieces]
            row = Row(kind, tuple(pieces))
        oracle = Oracle(model)
        if kind in ("log", "sqrt"):
            least = -oracle.worst(
                Row("affine", (_times(pieces[0], -1.0),)), oracle_decision
            ).value
            shift = 1.0 - least
            row = Row(kind, (replace(pieces[0], constant=pieces[0].constant + shift),))
        if kind in SEPARATE:
            moved = []
            for piece in pieces:
                top = oracle.worst(Row("affine", (piece,)), oracle_decision).value
                slack = float(rng.uniform(0.05, 1))
                moved.append(replace(piece, constant=piece.constant - top - slack))
            return Row(kind, tuple(moved))
        worst = oracle.worst(row, oracle_decision)
        slack = float(rng.uniform(0.05, 0.6)) * max(abs(worst.value), 0.3)
        if kind in ("log", "sqrt"):
            slack = 0.3
        return replace(row, limit=float(worst.value + slack))

    # -- the whole ------------------------------------------------------------------

    def model(self) -> Model:
        rng = self.rng
        n = int(rng.integers(1, 4))
        keys = tuple(self.key() for _ in range(int(rng.choice([1, 1, 1, 2, 2, 3]))))
        if self.twist == "merged sets" and len(keys) == 1:
            keys = (keys[0], replace(keys[0], region=_other(keys[0].region)))
        lower = np.where(self.positive | (rng.random(n) < 0.6), 0.0, -1.0)
        upper = (lower + rng.uniform(1, 3, n)).round(2)
        booleans = int(rng.integers(1, 3)) if self.chance(0.12) else 0
        m = sum(key.region.dim for key in keys)
        rule = None
        if (self.chance(0.12) or self.twist == "rule at zero") and not booleans:
            count = int(rng.integers(1, 3))
            sees = np.ones((count, m), dtype=bool)
            if self.chance(0.4):
                sees = rng.random((count, m)) < 0.6
            rule = Rule(sees, float(self.unit()), self.chance(0.5))
        model = Model(
            self.seed, keys, lower, upper, self.unit(n), booleans, rule, (), None,
            self.chance(0.4), None, self.twist, self.positive,
        )  # fmt: skip
        width = (
            n
            + booleans
            + (0 if rule is None else len(rule.sees) + int(rule.sees.sum()))
        )
        start = np.zeros(width)
        start[:n] = (lower + (upper - lower) * rng.uniform(0.2, 0.8, n)).round(2)
        if rule is not None:
            start[n : n + len(rule.sees)] = rng.uniform(0, 1, len(rule.sees)).round(2)
        if self.twist == "empty set":
            return self._over_nothing(model)
        kinds = POLYHEDRAL if booleans and self.chance(0.8) else ROWS
        rows = [self.row(model, kinds, start) for _ in range(int(rng.integers(1, 4)))]
        if rule is not None and rule.sees[0].all() and self.chance(0.4):
            rows.append(self._equality(model, start))
        if booleans:
            rows.append(self._big_m(model, start))
        kinds = ("affine", "max", "pos") if booleans else OBJECTIVES
        objective = self.row(model, kinds, start)
        objective = replace(objective, limit=0.0)
        objective = self._with_costs(model, objective, rule, booleans)
        if self.chance(0.15):
            model = replace(model, total=float(start[:n].sum()))
        model = replace(model, rows=tuple(rows), objective=objective)
        return self._twisted(model)

    def _over_nothing(self, model):
        plain = [replace(k, region=k.region.members[0]) for k in model.keys]
        whole = replace(model, keys=tuple(plain))
        start = np.zeros(len(flat(whole, blank(whole)).decision))
        rows = (self.row(whole, ("affine",), start),)
        return replace(model, rows=rows, objective=replace(rows[0], limit=0.0))

    def _equality(self, model, start):
        """w_0 + own'y + x'... == constant, which the rule can answer."""
        piece = self.piece(model, self.unit(), list(range(len(model.keys))))
        w = np.zeros(len(model.rule.sees))
        w[0] = 1.0
        piece = replace(piece, w=w, yx=0 * piece.yx, multiplier=None)
        return Row("equality", (piece,))

    def _big_m(self, model, start):
        """Piece <= M (1 - z)."""
        piece = self.piece(model, self.unit(), list(range(len(model.keys))))
        big = float(10.0 ** self.rng.integers(2, 7))
        z = np.zeros(model.booleans)
        z[0] = big
        return Row("affine", (replace(piece, z=z, constant=piece.constant - big),))

    def _with_costs(self, model, row, rule, booleans):
        first = row.pieces[0]
        if booleans:
            z = -self.rng.uniform(0.2, 2, booleans).round(2)
            first = replace(first, z=z)
        if rule is not None and row.kind in ("affine", "max"):
            cost = 3.0 if self.twist == "rule at zero" else 0.5
            first = replace(first, w=np.full(len(rule.sees), cost))
        return replace(row, pieces=(first, *row.pieces[1:]))

    def _twisted(self, model):
        rows = list(model.rows)
        if self.twist == "redundant rows":
            rows += [rows[0], replace(rows[-1])]
        if self.twist == "infeasible":
            bad = self.piece(model, self.unit(), [0])
            empty = blank(model)
            floor = replace(empty, y=bad.y, yx=bad.yx, unit=bad.unit, constant=60.0)
            rows.append(Row("affine", (floor,)))
        if self.twist == "unbounded" and model.objective.kind == "affine":
            upper = model.upper.copy()
            upper[0] = np.inf
            first = model.objective.pieces[0]
            x, yx = first.x.copy(), first.yx.copy()
            x[0], yx[:, 0] = -1.0, 0.0
            rows = []
            objective = replace(model.objective, pieces=(replace(first, x=x, yx=yx),))
            model = replace(model, upper=upper, objective=objective, total=None)
        return replace(model, rows=tuple(rows))


def _times(piece: Piece, factor: float) -> Piece:
    return replace(
        piece,
        constant=factor * piece.constant,
        x=factor * piece.x,
        z=factor * piece.z,
        w=factor * piece.w,
        y=factor * piece.y,
        yx=factor * piece.yx,
    )


def _without_signs(piece: Piece) -> Piece:
    return replace(
        piece,
        constant=abs(piece.constant),
        x=np.abs(piece.x),
        w=0 * piece.w,
        y=np.abs(piece.y),
        yx=np.abs(piece.yx),
    )


def _other(region: Region) -> Region:
    """Another set of the same kind, to meet the same slopes."""
    try:
        return region.shrunk(0.5)
    except NotImplementedError:
        return region
