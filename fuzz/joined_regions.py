"""Regions made of others: products, unions, intersections, images, combined losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize_scalar

from .loss_regions import LabelLoss, Loss
from .regions import Labels, Region, boxed
from .text import array, number


def split(values, regions):
    """An array cut into the regions' components."""
    return np.split(np.asarray(values), np.cumsum([r.dim for r in regions])[:-1])


@dataclass(frozen=True, eq=False)
class Joined(Region):
    """What several members share."""

    members: tuple[Region, ...]

    def source(self):
        inside = ", ".join(member.source() for member in self.members)
        return f"sl.sets.{self.kind}([{inside}])"

    def parts(self):
        return [self.kind, *(k for member in self.members for k in member.parts())]

    @property
    def common_unit(self):
        return any(member.common_unit for member in self.members)

    @property
    def own_unit(self):
        return any(member.own_unit for member in self.members)

    def shrunk(self, share):
        return replace(self, members=tuple(m.shrunk(share) for m in self.members))

    def _with_simpler_member(self):
        for k, member in enumerate(self.members):
            for other in member.simpler():
                yield replace(
                    self, members=(*self.members[:k], other, *self.members[k + 1 :])
                )


@dataclass(frozen=True, eq=False)
class Product(Joined):
    """Blocks of components, each in a region of its own."""

    @property
    def dim(self):
        return sum(member.dim for member in self.members)

    def worst(self, v):
        pairs = zip(self.members, split(v, self.members), strict=True)
        return np.concatenate([member.worst(part) for member, part in pairs])

    def excess(self, y):
        pairs = zip(self.members, split(y, self.members), strict=True)
        return max(member.excess(part) for member, part in pairs)

    def conditions(self, y):
        ends = np.cumsum([member.dim for member in self.members])
        parts = [
            member.conditions(y[end - member.dim : end])
            for member, end in zip(self.members, ends, strict=True)
        ]
        return None if None in parts else [c for part in parts for c in part]

    def scaled(self, unit):
        pairs = zip(self.members, split(unit, self.members), strict=True)
        return replace(self, members=tuple(m.scaled(part) for m, part in pairs))

    def simpler(self):
        yield boxed(self)
        yield from self._with_simpler_member()


@dataclass(frozen=True, eq=False)
class Union(Joined):
    """Outcomes in at least one member."""

    @property
    def dim(self):
        return self.members[0].dim

    def worst(self, v):
        return max((m.worst(v) for m in self.members), key=lambda y: float(v @ y))

    def excess(self, y):
        return min(member.excess(y) for member in self.members)

    def scaled(self, unit):
        return replace(self, members=tuple(m.scaled(unit) for m in self.members))

    def simpler(self):
        yield from self.members
        yield from self._with_simpler_member()


@dataclass(frozen=True, eq=False)
class Intersection(Joined):
    """Outcomes in every member, all of them convex."""

    @property
    def dim(self):
        return self.members[0].dim

    @cached_property
    def _program(self):
        slope, y = cp.Parameter(self.dim), cp.Variable(self.dim)
        return cp.Problem(cp.Maximize(slope @ y), self.conditions(y)), slope, y

    @cached_property
    def _inner(self):
        """A member well inside, to which a solver's answers are drawn back."""
        axes = np.vstack([np.eye(self.dim), -np.eye(self.dim)])
        return np.mean([self._raw(axis) for axis in axes], axis=0)

    def _raw(self, v):
        problem, slope, y = self._program
        slope.value = v / (np.abs(v).max() or 1.0)
        problem.solve(solver=cp.CLARABEL)
        return np.array(y.value)

    def worst(self, v):
        worst = self._raw(v)
        for back in (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5):
            drawn = worst + back * (self._inner - worst)
            if self.excess(drawn) <= 0:
                return drawn
        return self._inner.copy()

    def excess(self, y):
        return max(member.excess(y) for member in self.members)

    def conditions(self, y):
        return [c for member in self.members for c in member.conditions(y)]

    def scaled(self, unit):
        return replace(self, members=tuple(m.scaled(unit) for m in self.members))

    def simpler(self):
        yield from self.members
        yield from self._with_simpler_member()


@dataclass(frozen=True, eq=False)
class AffineImage(Region):
    """matrix z + offset for z in a region."""

    inner: Region
    matrix: np.ndarray
    offset: np.ndarray

    @property
    def dim(self):
        return len(self.matrix)

    def worst(self, v):
        return self.matrix @ self.inner.worst(self.matrix.T @ v) + self.offset

    def excess(self, y):
        if np.linalg.matrix_rank(self.matrix) < self.inner.dim:
            return 0.0  # which factor led there is not to be told
        factor = np.linalg.lstsq(self.matrix, y - self.offset)[0]
        away = float(np.abs(self.matrix @ factor + self.offset - y).max())
        return max(away - 1e-12, self.inner.excess(factor))

    def conditions(self, y):
        factor = cp.Variable(self.inner.dim)
        inside = self.inner.conditions(factor)
        image = y == self.matrix @ factor + self.offset
        return None if inside is None else [image, *inside]

    def scaled(self, unit):
        return replace(
            self, matrix=self.matrix * unit[:, None], offset=self.offset * unit
        )

    def source(self):
        numbers = f"{array(self.matrix)}, {array(self.offset)}"
        return f"sl.sets.AffineImage({self.inner.source()}, {numbers})"

    def parts(self):
        return [self.kind, *self.inner.parts()]

    def shrunk(self, share):
        return replace(self, inner=self.inner.shrunk(share))

    def simpler(self):
        yield boxed(self)
        if self.matrix.shape[0] == self.matrix.shape[1]:
            yield self.inner
        for other in self.inner.simpler():
            yield replace(self, inner=other)


@dataclass(frozen=True, eq=False)
class Combined(Region):
    """Losses that share a budget: sum of loss / weight; the second may be of labels."""

    first: Loss
    second: Loss | LabelLoss
    weights: tuple[float, float]
    budget: float

    @property
    def kind(self):
        return "Mixed" if self.has_labels else "Combined"

    @property
    def has_labels(self):
        """Whether the second block is one of labels."""
        return isinstance(self.second, Labels)

    @property
    def dim(self):
        return self.first.dim + self.second.dim

    @property
    def own_unit(self):
        return True

    def _numbers(self, budget):
        return replace(self.first, budget=budget * self.weights[0])

    def worst(self, v):
        one, two = split(v, (self.first, self.second))
        if self.has_labels:
            options = []
            for y, cost in self._labels():
                left = max(self.budget - cost / self.weights[1], 0.0)
                worst = self._numbers(left).worst(one)
                options.append(np.concatenate([worst, y]))
            return max(options, key=lambda y: float(v @ y))

        def outcome(share):
            second = replace(
                self.second, budget=(self.budget - share) * self.weights[1]
            )
            return np.concatenate([self._numbers(share).worst(one), second.worst(two)])

        # What a share is worth is concave in it.
        size = np.abs(v).max() or 1.0
        best = minimize_scalar(
            lambda share: -(v @ outcome(share)) / size,
            bounds=(0.0, self.budget),
            method="bounded",
            options={"xatol": 1e-9 * self.budget},
        ).x
        ends = [outcome(s) for s in (0.0, best, self.budget)]
        return max(ends, key=lambda y: float(v @ y))

    def _labels(self):
        every = replace(self.second, budget=np.inf).points
        least = min(cost for _, cost in every)
        most = max(self.budget * self.weights[1], least) + 1e-12
        return [(y, cost) for y, cost in every if cost <= most]

    def excess(self, y):
        one, two = split(y, (self.first, self.second))
        if self.has_labels:
            every = replace(self.second, budget=np.inf).points
            nearest, paid = min(every, key=lambda p: float(np.abs(p[0] - two).max()))
            away = float(np.abs(nearest - two).max())
        else:
            away, paid = 0.0, self.second.value(two)
        total = self.first.value(one) / self.weights[0] + paid / self.weights[1]
        least = (
            min(c for _, c in self._labels()) / self.weights[1]
            if self.has_labels
            else 0
        )
        most = max(self.budget, least)
        return max(away, (total - most) / max(self.budget, 1e-3))

    def scaled(self, unit):
        return self

    def source(self):
        losses = f"[{self.first.loss_source()}, {self.second.loss_source()}]"
        weights = f"({number(self.weights[0])}, {number(self.weights[1])})"
        inside = f"{self.first.prediction_source()}, {self.second.prediction_source()}"
        return (
            f"sl.sets.sublevel_set(sl.losses.Combined({losses}, weights={weights}), "
            f"sl.predictions.JointPrediction(({inside})), {number(self.budget)})"
        )

    def parts(self):
        return [self.kind, self.first.kind, self.second.kind]

    def shrunk(self, share):
        return replace(self, budget=share * self.budget)

    def simpler(self):
        if not self.has_labels:
            yield boxed(self)
