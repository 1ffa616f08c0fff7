"""A model as a short script in the library's words: what is run is what is printed."""

from __future__ import annotations

import numpy as np

from .model import Model, Piece, Row
from .text import constant, number

HEAD = """import cvxpy as cp
import numpy as np
import sublevel as sl
from sublevel.sets import divergence_ball
"""

JOINS = {
    "vector": "cp.hstack([{}])",
    "max": "cp.max(cp.hstack([{}]))",
    "maximum": "cp.maximum({})",
    "min": "cp.hstack([{}])",
    "pos": "cp.sum(cp.pos(cp.hstack([{}])))",
    "abs": "cp.sum(cp.abs(cp.hstack([{}])))",
    "norm1": "cp.norm1(cp.hstack([{}]))",
    "norm2": "cp.norm(cp.hstack([{}]), 2)",
    "norm_inf": "cp.norm_inf(cp.hstack([{}]))",
    "square": "cp.square({})",
    "sum_squares": "cp.sum_squares(cp.hstack([{}]))",
    "exp": "cp.exp({})",
    "log_sum_exp": "cp.log_sum_exp(cp.hstack([{}]))",
    "log": "-cp.log({})",
    "sqrt": "-cp.sqrt({})",
}


def written(model: Model) -> str:
    """The script; it ends with `problem`, `sets` by name, and the context `X`."""
    lines = [HEAD]
    pairs, named = [], []
    names = parameter_names(model)
    for k, key in enumerate(model.keys):
        for name, shape in zip(names[k], key.shapes, strict=True):
            nonneg = ", nonneg=True" if key.nonneg else ""
            lines.append(f'{name} = sl.Uncertain({shape}, name="{name}"{nonneg})')
        region = key.region.scaled(key.unit)
        text = region.source() if key.through == "value" else region.loss_set_source()
        lines.append(f"U{k} = {text}")
        joined = ", ".join(names[k])
        pairs.append(f"({joined}): U{k}" if len(names[k]) > 1 else f"{joined}: U{k}")
        if key.through != "value":
            named.append(f'"{", ".join(names[k])}": U{k}')
    sign = ", nonneg=True" if model.declared else ""
    lines.append(f'x = cp.Variable({model.n}, name="x"{sign})')
    if model.booleans:
        lines.append(f'z = cp.Variable({model.booleans}, boolean=True, name="z")')
    if model.rule is not None:
        lines.append(_rule(model, names))
    writer = _Writer(model, names)
    constraints = _bounds(model) + [writer.row(row) for row in model.rows]
    sense, sign = ("Maximize", "-") if model.maximise else ("Minimize", "")
    objective = f"cp.{sense}({sign}({writer.joined(model.objective)}))"
    lines += writer.parameters
    lines.append(f"objective = {objective}")
    lines.append("constraints = [")
    lines += [f"    {text}," for text in constraints]
    lines.append("]")
    inside = ", ".join(pairs)
    lines.append(f"problem = sl.RobustProblem(objective, constraints, {{{inside}}})")
    lines.append(f"sets = {{{', '.join(named)}}}")
    lines.append("X = np.zeros((1, 1))" if named else "X = None")
    return "\n".join(lines) + "\n"


def parameter_names(model: Model) -> list[list[str]]:
    """Names of the uncertain parameters of each key."""
    return [
        [
            f"r{k}" if len(key.shapes) == 1 else f"r{k}_{i}"
            for i in range(len(key.shapes))
        ]
        for k, key in enumerate(model.keys)
    ]


def _rule(model, names):
    every = ", ".join(name for key in names for name in key)
    rule = model.rule
    sees = "" if rule.sees.all() else f", sees=np.array({rule.sees.tolist()})"
    sign = ", nonneg=True" if rule.nonneg else ""
    return f'w = sl.affine_rule([{every}], {len(rule.sees)}, name="w"{sign}{sees})'


def _bounds(model):
    lines = []
    for sign, ends in ((">=", model.lower), ("<=", model.upper)):
        kept = np.flatnonzero(np.isfinite(ends))
        side = constant((ends * model.x_unit)[kept])
        x = "x" if len(kept) == model.n else f"x[{kept.tolist()}]"
        if len(kept):
            lines.append(f"{x} {sign} {side}")
    if model.total is not None:
        lines.append(f"{constant(1 / model.x_unit)} @ x == {number(model.total)}")
    return lines


class _Writer:
    def __init__(self, model: Model, names: list[list[str]]) -> None:
        self.model, self.names = model, names
        self.parameters: list[str] = []

    def row(self, row: Row) -> str:
        """A constraint."""
        kind, unit = row.kind, row.pieces[0].unit
        if kind == "equality":
            return f"{self.piece(row.pieces[0])} == 0"
        if kind == "min":
            inside = ", ".join(f"-({self.piece(p)})" for p in row.pieces)
            return f"cp.min(cp.hstack([{inside}])) >= 0"
        if kind == "greater":
            return f"{number(row.limit * unit)} >= {self.piece(row.pieces[0])}"
        if kind == "vector":
            return f"{self.joined(row)} <= 0"
        power = 2 if kind in ("square", "sum_squares") else 1
        return f"{self.joined(row)} <= {number(row.limit * unit**power)}"

    def joined(self, row: Row) -> str:
        """The function of the pieces."""
        inside = ", ".join(self.piece(p) for p in row.pieces)
        return JOINS.get(row.kind, "{}").format(inside)

    def piece(self, piece: Piece) -> str:
        """An affine function."""
        model, unit = self.model, piece.unit
        terms = []
        if piece.x.any():
            terms.append(f"{constant(unit * piece.x / model.x_unit)} @ x")
        if piece.z.any():
            terms.append(f"{constant(unit * piece.z)} @ z")
        if piece.w.any():
            terms.append(f"{constant(unit * piece.w / model.rule.unit)} @ w")
        own = unit * piece.y / model.y_unit
        products = unit * piece.yx / model.y_unit[:, None] / model.x_unit
        at = 0
        for key, names in zip(model.keys, self.names, strict=True):
            for name, shape in zip(names, key.shapes, strict=True):
                size = int(np.prod(shape, dtype=int))
                entries = slice(at, at + size)
                terms += self._outcome(
                    name, shape, own[entries], products[entries], piece
                )
                at += size
        if piece.constant or not terms:
            terms.append(number(unit * piece.constant))
        return " + ".join(terms)

    def _outcome(self, name, shape, own, products, piece):
        flat = f'cp.vec({name}, order="F")' if len(shape) == 2 else name
        terms = []
        if products.any():
            if shape == ():
                term = f"{name} * ({constant(products[0])} @ x)"
            else:
                inner = constant(products)
                term = (
                    f"{flat} @ ({inner} @ x)",
                    f"cp.sum(cp.multiply({flat}, {inner} @ x))",
                    f"({inner} @ x) @ {flat}",
                    f"x @ ({constant(products.T)} @ {flat})",
                )[piece.style % 4]
            if piece.multiplier is not None:
                parameter = f"p{len(self.parameters)}"
                value = number(piece.multiplier)
                self.parameters.append(f"{parameter} = cp.Parameter(value={value})")
                term = f"{parameter} * ({term})"
            terms.append(term)
        if own.any():
            terms.append(
                f"{number(own[0])} * {name}"
                if shape == ()
                else f"{constant(own)} @ {flat}"
            )
        return terms
