"""Methods in turns on the same contexts, CPU time, every objective compared."""

import time
from dataclasses import dataclass
from statistics import median

import numpy as np
from problems.methods import Decider, differences

#: Seconds of CPU that a method's turn may take, beyond one context.
TURN = 1.0
#: Contexts that a policy is given at least, where the case has them.
TOGETHER = 16
#: Relative difference from the reference at which an objective is wrong.
CLOSE = 1e-6


@dataclass
class Timed:
    """One method on one case: CPU seconds a context, one number a turn."""

    case: str
    method: str
    size: int
    contexts: int
    seconds: list
    ratios: list
    differ: float
    handed: float | None = None  # share of contexts that went to Clarabel after all

    @property
    def cost(self):
        return median(self.seconds)

    @property
    def ratio(self):
        """Of its time to the reference's in the same turn."""
        return median(self.ratios)

    @property
    def is_wrong(self):
        return not self.differ <= CLOSE


def cpu(task):
    start = time.process_time()
    result = task()
    return time.process_time() - start, result


def take_turns(case, methods, repetitions, turn=TURN):
    """What each method takes that can solve the case; the first is the reference."""
    every = np.arange(len(case.X))
    ways = {m.name: way for m in methods if (way := m.prepare(case)) is not None}
    rows = {}
    for name, way in ways.items():
        # A policy that solves contexts together is given some to put together.
        least = TOGETHER if _asks(way) else 1
        rows[name] = every[: max(least, _count(way, len(every), turn))]
    reference = next(iter(ways))
    seconds = {name: [] for name in ways}
    ratios = {name: [] for name in ways}
    differ = dict.fromkeys(ways, 0.0)
    expected = {}
    for _ in range(repetitions):
        for name, way in ways.items():
            spent, objectives = cpu(lambda way=way, name=name: way(rows[name]))
            seconds[name].append(spent / len(rows[name]))
            ratios[name].append(seconds[name][-1] / seconds[reference][-1])
            if name == reference:
                expected = dict(zip(rows[name].tolist(), objectives, strict=True))
            both = [k for k, i in enumerate(rows[name].tolist()) if i in expected]
            wanted = np.array([expected[i] for i in rows[name][both].tolist()])
            apart = np.max(differences(objectives[both], wanted))
            differ[name] = float(np.fmax(differ[name], apart))
            if not np.isfinite(objectives).all():
                differ[name] = float("inf")
    handed = {n: way.handed_over(rows[n]) for n, way in ways.items() if _asks(way)}
    return [
        Timed(
            case.name,
            n,
            case.size,
            len(rows[n]),
            seconds[n],
            ratios[n],
            differ[n],
            handed.get(n),
        )
        for n in ways
    ]


def _asks(way):
    """Whether a way is a policy of ours, and can say what it handed over."""
    return isinstance(way, Decider)


def _count(way, most, turn):
    """How many contexts a turn has room for, by trying more and more of them."""
    if _asks(way):
        # What many contexts are the first to need is prepared once, not every turn.
        way(np.arange(most))
    way(np.arange(1))
    n = 1
    while True:
        n = min(4 * n, most)
        spent, _ = cpu(lambda n=n: way(np.arange(n)))
        if n == most or spent > turn / 4:
            # A policy that begins to put contexts together loads what that takes, once.
            spent = min(spent, cpu(lambda n=n: way(np.arange(n)))[0])
            return int(np.clip(n * turn / max(spent, 1e-7), 1, most))


def grow(case, methods, counts, repetitions):
    """CPU seconds of a whole call, by number of contexts: method -> [(n, seconds)]."""
    ways = {m.name: way for m in methods if (way := m.prepare(case)) is not None}
    for way in ways.values():
        way(np.arange(1))
    curves = {name: [] for name in ways}
    for n in counts:
        rows = np.arange(n) % len(case.X)
        for name, way in ways.items():
            if curves[name] and curves[name][-1][1] > 5 * TURN:
                continue
            spent = [cpu(lambda way=way, rows=rows: way(rows))[0]]
            if spent[0] < TURN:
                spent += [
                    cpu(lambda w=way, r=rows: w(r))[0] for _ in range(repetitions)
                ]
            curves[name].append((n, median(spent)))
    return curves
