"""After deployment: follow a drifting world, and raise an alarm when promises fail."""

from .adaptive import Adaptive
from .monitor import Monitor

__all__ = ["Adaptive", "Monitor"]
