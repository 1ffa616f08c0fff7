"""What was decided at one context or many, its worst case and its audit."""

from .arrays import DecisionArrays
from .audit import Audit
from .audits import Audits
from .background import Background
from .decision import Decision
from .decisions import Decisions
from .layout import Layout
from .named import ModelLeaf, Named, named
from .promise import Promise, in_short
from .reacting import Rule

__all__ = [
    "Audit",
    "Audits",
    "Background",
    "Decision",
    "DecisionArrays",
    "Decisions",
    "Layout",
    "ModelLeaf",
    "Named",
    "Promise",
    "Rule",
    "in_short",
    "named",
]
