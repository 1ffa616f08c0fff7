"""Decision rules of any kind, in any modelling language: calibrated, with one knob."""

from .calibrate_rule import calibrate_rule
from .decisions import RuleDecisions
from .rule import Rule

__all__ = ["Rule", "RuleDecisions", "calibrate_rule"]
