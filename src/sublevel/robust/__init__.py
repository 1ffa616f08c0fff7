"""Ordinary CVXPY models made robust, exactly, and audited."""

from ..conic.batched.solver import Batched
from ..conic.program import ProgramData
from ..conic.solver import STATUSES, Clarabel, Solutions, Solver
from ..evaluation.evaluation import Evaluation
from .certified_cost import CertifiedCost
from .decisions import Audit, Audits, Decision, Decisions
from .files.saved_policy import SavedPolicy, load_policy
from .largest_budget import LargestBudget
from .model.affine_rule import affine_rule
from .model.oracle import Oracle
from .model.reaction import Reaction
from .model.uncertain import Uncertain
from .policy import Policy
from .policy_steps import PolicyStep
from .problem import RobustProblem
from .solve.cuts.cuts import Cuts
from .solve.mixed.integers import Integers

__all__ = [
    "STATUSES",
    "Audit",
    "Audits",
    "Batched",
    "CertifiedCost",
    "Clarabel",
    "Cuts",
    "Decision",
    "Decisions",
    "Evaluation",
    "Integers",
    "LargestBudget",
    "Oracle",
    "Policy",
    "PolicyStep",
    "ProgramData",
    "Reaction",
    "RobustProblem",
    "SavedPolicy",
    "Solutions",
    "Solver",
    "Uncertain",
    "affine_rule",
    "load_policy",
]
