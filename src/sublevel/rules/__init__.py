"""Decision rules of any kind, in any modelling language: calibrated, with one knob."""

from .calibrate_episodes import calibrate_episodes
from .calibrate_rule import calibrate_rule
from .cross_calibrate import cross_calibrate
from .cross_rule import CrossRule
from .decisions import RuleDecisions
from .rule import Rule
from .run_episode import EpisodeRun, run_episode

__all__ = [
    "CrossRule",
    "EpisodeRun",
    "Rule",
    "RuleDecisions",
    "calibrate_episodes",
    "calibrate_rule",
    "cross_calibrate",
    "run_episode",
]
