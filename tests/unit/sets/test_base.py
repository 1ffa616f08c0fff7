"""A set that gives only dim, constraints and membership has everything else."""

from dataclasses import dataclass
from math import inf, pi

import cvxpy as cp
import numpy as np
import pytest

from sublevel.errors import Unbounded
from sublevel.sets import Box, UncertaintySet


@dataclass(frozen=True, eq=False)
class Lens(UncertaintySet):
    """{ y : y_1^2 + 4 y_2^2 <= size^2 }, and nothing else known."""

    size: float = 1.0

    @property
    def dim(self):
        return 2

    def conditions(self, outcome):
        return [cp.sum_squares(cp.hstack([outcome[0], 2 * outcome[1]])) <= self.size**2]

    def membership(self, outcomes, tol):
        return outcomes[:, 0] ** 2 + 4 * outcomes[:, 1] ** 2 <= self.size**2 + tol


class Slab(Lens):
    """{ y : y_1 <= size }: open."""

    def conditions(self, outcome):
        return [outcome[0] <= self.size]

    def membership(self, outcomes, tol):
        return outcomes[:, 0] <= self.size + tol


def test_defaults():
    lens = Lens(2.0)
    assert lens.support([0.0, 3.0]) == pytest.approx(3.0)
    assert lens.worst_case([1e-9, 0.0]) == pytest.approx([2, 0], abs=1e-4)
    lower, upper = lens.bounds()
    assert lower == pytest.approx([-2, -1])
    assert upper == pytest.approx([2, 1])
    assert lens.is_bounded
    assert lens.volume() == pytest.approx(2 * pi, rel=0.02)
    draws = lens.sample(3000, random_state=0)
    assert lens.contains(draws).all()
    # E[y_1^2] = size^2 / 4 for a uniform point of an ellipse.
    squares = draws**2
    error = squares.std(axis=0) / np.sqrt(3000)
    assert (np.abs(squares.mean(axis=0) - [1.0, 0.25]) <= 5 * error).all()


def test_the_same_draws_fail_for_a_smaller_set():
    squares = Lens(1.9).sample(3000, random_state=0)[:, 0] ** 2
    assert abs(squares.mean() - 1.0) > 3 * squares.std() / np.sqrt(3000)


def test_open_sets():
    slab = Slab()
    assert slab.support([1.0, 0.0]) == pytest.approx(1.0)
    assert slab.support([0.0, 1.0]) == inf
    assert not slab.is_bounded
    with pytest.raises(Unbounded, match="over Slab is infinite"):
        slab.worst_case([-1.0, 0.0])
    with pytest.raises(Unbounded, match=r"Slab\.volume"):
        slab.volume()


def test_operators_compose():
    both = Slab(0.5) & Lens(1.0) & Box([-1.0, 0.0], [1.0, 1.0])
    assert both.support([1.0, 0.0]) == pytest.approx(0.5, abs=1e-6)
    assert (Lens(1.0) | Lens(3.0)).support([1.0, 0.0]) == pytest.approx(3.0)


def test_a_set_thinner_than_its_basis_has_no_volume():
    flat = Box([0.0, 0.0], [1.0, 1.0]) & Box([1.0, 0.0], [2.0, 1.0])
    assert flat.volume() == pytest.approx(0.0, abs=1e-6)
