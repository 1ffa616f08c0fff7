"""Ordinary CVXPY models made robust, exactly, and audited."""

from .auditing.decision import Audit, Decision
from .auditing.decisions import Audits, Decisions
from .calibrating.certified_cost import CertifiedCost
from .calibrating.evaluation import Evaluation
from .cutting.cuts import Cuts
from .largest_budget import LargestBudget
from .modelling.affine_rule import affine_rule
from .modelling.oracle import Oracle
from .modelling.reaction import Reaction
from .modelling.uncertain import Uncertain
from .policies.policy import Policy
from .policies.saved_policy import load_policy
from .problem import RobustProblem

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
