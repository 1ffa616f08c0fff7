"""After deployment: follow a drifting world, and raise an alarm when promises fail.

| to                                                | use               |
|---------------------------------------------------|-------------------|
| know when a promise is refuted                    | `Monitor`         |
| have the fallback, or another policy, act on it   | `MonitoredPolicy` |
| calibrate on the latest rows as they come         | `SlidingPolicy`   |
| keep a long-run share whatever the world does     | `AdaptivePolicy`  |
| try any of them on a stretch of the past          | `replay`          |
"""

from .adaptive import Adaptive
from .adaptive_policy import AdaptivePolicy
from .monitor import Monitor
from .monitored_policy import Alarm, MonitoredPolicy
from .replay import Replay, replay
from .sliding_policy import SlidingPolicy

__all__ = [
    "Adaptive",
    "AdaptivePolicy",
    "Alarm",
    "Monitor",
    "MonitoredPolicy",
    "Replay",
    "SlidingPolicy",
    "replay",
]
