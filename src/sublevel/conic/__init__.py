"""Cone programs as arrays: read from CVXPY once, scaled, solved for many contexts."""

from .program import ConeProgram, ProgramData, Uncompilable, Varying, fill
from .solver import STATUSES, Clarabel, Solutions, Solver

__all__ = [
    "STATUSES",
    "Clarabel",
    "ConeProgram",
    "ProgramData",
    "Solutions",
    "Solver",
    "Uncompilable",
    "Varying",
    "fill",
]
