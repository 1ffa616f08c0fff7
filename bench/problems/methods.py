"""Ways to solve the same contexts: a column of the table each.

A method has a name, and from a case makes a function of row numbers that gives the
objectives there; or None, where it cannot. To add one is to add a line to METHODS.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec

import cvxpy as cp
import numpy as np
from problems import by_moreau, by_rsome

import sublevel as sl
from sublevel.conic.solver import Clarabel


@dataclass(frozen=True)
class Ours:
    """A policy, as `compile(**options)` makes it."""

    name: str
    options: dict = field(default_factory=dict)

    def prepare(self, case):
        try:
            policy = case.pose().compile(**self.options)
        except (sl.errors.InvalidParameter, sl.errors.NotRobustifiable):
            return None
        return Decider(policy, case)


class Decider:
    """The objectives of a policy's decisions, and who had to solve for them again."""

    def __init__(self, policy, case):
        self.policy, self.case = policy, case

    def __call__(self, rows):
        return self.policy.decide(self.case.X[rows]).objective

    def handed_over(self, rows):
        """Share of contexts that went to Clarabel: not certified, or solved again.

        None where another reference stands in its place: a tree of whole numbers asks
        it at every branch.
        """
        if self.case.by_hand is None:
            return None
        counted = []
        honest = Clarabel.solve

        def solve(own, data):
            counted.append(len(data))
            return honest(own, data)

        Clarabel.solve = solve
        try:
            self(rows)
        finally:
            Clarabel.solve = honest
        return sum(counted) / len(rows)


@dataclass(frozen=True)
class Raw:
    """A live Clarabel, its matrices prepared by hand."""

    name: str = "raw Clarabel"

    def prepare(self, case):
        return case.raw


@dataclass(frozen=True)
class Resolved:
    """CVXPY with parameters: what its users do to solve again and again."""

    name: str
    solver: str

    def prepare(self, case):
        if case.by_hand is None or self.solver not in cp.installed_solvers():
            return None
        return case.resolve(self.solver)


@dataclass(frozen=True)
class ByOther:
    """Another package, where it is installed and can pose the problem."""

    name: str
    packages: tuple[str, ...]
    pose: Callable

    def prepare(self, case):
        return None if self.missing() else self.pose(case)

    def missing(self):
        """Packages that its column needs and that are not installed."""
        return [package for package in self.packages if find_spec(package) is None]


METHODS = (
    Raw(),
    Ours("ours"),
    Ours("ours, one by one", {"solver": sl.robust.Clarabel()}),
    Resolved("CVXPY DPP", "CLARABEL"),
    ByOther("moreau", ("moreau",), by_moreau.prepare),
    ByOther("RSOME", ("rsome", "ecos"), by_rsome.prepare),
)


def foot(methods):
    """Why a column is empty and how to fill it, as lines."""
    return [
        f"{m.name} is empty: it needs {' and '.join(missing)}, not installed here. "
        f"pip install {' '.join(missing)}"
        for m in methods
        if isinstance(m, ByOther) and (missing := m.missing())
    ]


def differences(objectives, expected):
    """Relative to one and the size of the objective."""
    return np.abs(objectives - expected) / (1 + np.abs(expected))
