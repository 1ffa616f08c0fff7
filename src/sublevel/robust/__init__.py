"""Ordinary CVXPY models made robust, exactly, and audited."""

from .affine_rule import affine_rule
from .certified_cost import CertifiedCost
from .cuts import Cuts
from .decision import Audit, Decision
from .decisions import Audits, Decisions
from .evaluation import Evaluation
from .largest_budget import LargestBudget
from .oracle import Oracle
from .policy import Policy
from .problem import RobustProblem
from .reaction import Reaction
from .saved_policy import load_policy
from .uncertain import Uncertain

__all__ = [
    "Audit",
    "Audits",
    "CertifiedCost",
    "Cuts",
    "Decision",
    "Decisions",
    "Evaluation",
    "LargestBudget",
    "Oracle",
    "Policy",
    "Reaction",
    "RobustProblem",
    "Uncertain",
    "affine_rule",
    "load_policy",
]
