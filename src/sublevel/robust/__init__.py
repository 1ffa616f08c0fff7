"""Ordinary CVXPY models made robust, exactly, and audited."""

from typing import TYPE_CHECKING

from ..conic.batched.solver import Batched
from ..conic.program import ProgramData
from ..conic.solver import STATUSES, Clarabel, Solutions, Solver
from ..deferred import deferred_names
from .decisions import Audit, Audits, Decision, Decisions
from .files.saved_policy import SavedPolicy, load_policy
from .model.reaction import Reaction

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

#: Where the names are that only a model needs, and a policy from a file does not.
_LATER = {
    "CertifiedCost": "certified_cost",
    "Cuts": "solve.cuts.cuts",
    "Evaluation": "policy",
    "Integers": "solve.mixed.integers",
    "LargestBudget": "largest_budget",
    "Oracle": "model.oracle",
    "Policy": "policy",
    "PolicyStep": "policy_steps",
    "RobustProblem": "problem",
    "Uncertain": "model.uncertain",
    "affine_rule": "model.affine_rule",
}

if TYPE_CHECKING:
    from ..evaluation.evaluation import Evaluation
    from .certified_cost import CertifiedCost
    from .largest_budget import LargestBudget
    from .model.affine_rule import affine_rule
    from .model.oracle import Oracle
    from .model.uncertain import Uncertain
    from .policy import Policy
    from .policy_steps import PolicyStep
    from .problem import RobustProblem
    from .solve.cuts.cuts import Cuts
    from .solve.mixed.integers import Integers
else:
    __getattr__, __dir__ = deferred_names(__name__, _LATER)
