"""Decision rules of any kind, in any modelling language: calibrated, with one knob."""

from .calibrate_episodes import calibrate_episodes
from .calibrate_rule import calibrate_rule
from .decisions import RuleDecisions
from .rule import Rule
from .run_episode import EpisodeRun, run_episode

__all__ = [
    "EpisodeRun",
    "Rule",
    "RuleDecisions",
    "calibrate_episodes",
    "calibrate_rule",
    "run_episode",
]
