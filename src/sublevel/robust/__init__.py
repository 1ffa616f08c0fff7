"""Ordinary CVXPY models made robust, exactly, and audited."""

from .decision import Audit, Decision
from .problem import RobustProblem
from .uncertain import Uncertain

__all__ = ["Audit", "Decision", "RobustProblem", "Uncertain"]
