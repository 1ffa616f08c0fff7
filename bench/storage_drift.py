"""A promise under shift, and what following the drift makes of it.

    python bench/storage_drift.py [alpha] [seed]
    python bench/storage_drift.py --power     # would a Monitor alarm at such rates?

Battery storage on real prices, the published shift split: trained and calibrated on
days of 2011 to 2015, deployed week by week on the 438 days after. Every row decides a
week knowing the outcomes of all days before it. `late` is the violation in the second
half. Results are kept in data/storage_drift.json; `--show` prints them.

Whether a Monitor that does not alarm is right not to: violations are drawn at the rates
that were seen, and watched for as long as it takes.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from problems import storage
from problems.storage_model import grid_of, sets_and_policies

import sublevel as sl

KEPT = Path(__file__).parent / "data" / "storage_drift.json"
WEEK = 7
#: How often violations are drawn, and for how many days at most.
RUNS, LONGEST = 100, 2000


def frozen(policy, X, Y):
    """The policy as it was calibrated, which learns nothing."""

    class Frozen:
        problem = policy.problem
        decide = staticmethod(policy.decide)

        def update(self, X, Y, decisions=None):
            return self

    return sl.drift.replay(Frozen(), X, Y, batch=len(X))


def show():
    """The table of what is kept."""
    kept = json.loads(KEPT.read_text())
    print(f"alpha {kept['alpha']:g}, seed {kept['seed']}, {kept['days']} days after")
    columns = ("violation", "late", "certified", "task loss", "robust", "CPU s")
    print(f"{'':<34}" + "".join(f"{column:>11}" for column in columns) + "  alarms at")
    for name, row in kept["rows"].items():
        values = "".join(f"{row[column]:>11.4g}" for column in columns)
        print(f"{name:<34}{values}  {', '.join(map(str, row['alarms']))}")
    if "power" in kept:
        print(sentence(kept))


def alarms_at(early, late, half, alpha, longest):
    """Days after which monitors alarm, inf for those that do not, shape (RUNS,).

    Violations are independent: at one rate on the first days, at another after them.
    """
    rates = np.where(np.arange(longest) < half, early, late)
    rng, days = np.random.default_rng(0), []
    for _ in range(RUNS):
        monitor = sl.drift.Monitor(alpha)
        for violated in rng.uniform(size=longest) < rates:
            monitor.watch(violated)
            if monitor.alarm:
                break
        days.append(np.inf if monitor.alarm_at is None else monitor.alarm_at)
    return np.array(days)


def power():
    """What a Monitor does at the rates that were seen, kept beside the table."""
    kept = json.loads(KEPT.read_text())
    alpha, seen = kept["alpha"], kept["rows"]["as calibrated"]
    half, late = kept["days"] // 2, seen["late"]
    early = (seen["violation"] * kept["days"] - late * (kept["days"] - half)) / half
    cases = {"seen": (early, late), "kept": (alpha, alpha), "double": (2 * alpha,) * 2}
    kept["power"] = {}
    for name, rates in cases.items():
        longest = LONGEST if name == "seen" else kept["days"]
        days = alarms_at(*rates, half, alpha, longest)
        # A median beyond the longest run is not one: inf has no place in JSON.
        middle = float(np.median(days))
        kept["power"][name] = {
            "rates": [round(float(rate), 4) for rate in rates],
            "within": float(np.mean(days <= kept["days"])),
            "median": middle if np.isfinite(middle) else None,
        }
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    print(sentence(kept))


def sentence(kept):
    """How likely an alarm was, in words."""

    def after(case):
        days = case["median"]
        return f"not within {LONGEST}" if days is None else f"after {days:.0f}"

    seen, held, double = (kept["power"][name] for name in ("seen", "kept", "double"))
    return (
        f"Monitor, {RUNS} runs of independent violations, alarms within "
        f"{kept['days']} days:\n"
        f"  at the rates seen, {seen['rates'][0]:.3f} and then {seen['rates'][1]:.3f}, "
        f"in {seen['within']:.0%}; if the second goes on, half have {after(seen)} "
        f"days\n"
        f"  at {double['rates'][0]:g} from the first day in {double['within']:.0%}, "
        f"half {after(double)} days; at {held['rates'][0]:g}, as promised, in "
        f"{held['within']:.0%}"
    )


def main(alpha=0.1, seed=0):
    train_days, calibration, test = storage.split(storage.load(), seed, shift=True)
    X_cal, Y_cal = calibration.features, calibration.prices
    X, Y = test.features, test.prices
    # Coarser than in storage.py: every week has rows to score.
    grid = grid_of(alpha, ratio=1.08)

    def trained(days):
        ((_, policy),) = sets_and_policies(days, [alpha]).values()
        return policy

    policy = trained(train_days)
    policy.calibrate(X_cal, Y_cal, alpha=alpha, grid=grid)

    def retrain(X_recent, Y_recent):
        """On all days but the latest 60, which calibrate."""
        X_all = np.vstack([train_days.features, X_cal, X_recent[:-60]])
        Y_all = np.vstack([train_days.prices, Y_cal, Y_recent[:-60]])
        days = storage.Days(X_all, Y_all, np.arange(len(X_all)))
        return trained(days).calibrate(
            X_recent[-60:], Y_recent[-60:], alpha=alpha, grid=grid
        )

    def monitored(on_alarm, window):
        return sl.drift.MonitoredPolicy(policy, on_alarm=on_alarm, window=window)

    def sliding(window):
        return sl.drift.SlidingPolicy(
            policy, X_cal, Y_cal, alpha, window=window, grid=grid
        )

    def adaptive(gamma, window=None):
        return sl.drift.AdaptivePolicy(policy, X_cal, Y_cal, alpha, gamma, window, grid)

    ways = {
        "as calibrated": lambda: None,
        "Monitor, then the fallback": lambda: monitored("fallback", 60),
        "Monitor, calibrated on 60 days": lambda: monitored("recalibrate", 60),
        "Monitor, trained again": lambda: monitored(retrain, 400),
        "calibrated on the last 351 days": lambda: sliding(None),
        "calibrated on the last 100 days": lambda: sliding(100),
        "Adaptive, gamma .02": lambda: adaptive(0.02),
        "Adaptive, gamma .05, 100 days": lambda: adaptive(0.05, 100),
    }
    rows = {}
    for name, make in ways.items():
        began, live = time.process_time(), make()
        if live is None:
            seen = frozen(policy, X, Y)
        else:
            seen = sl.drift.replay(live, X, Y, batch=WEEK)
        is_watched = isinstance(live, sl.drift.MonitoredPolicy)
        robust = np.isfinite(seen.certified)
        # A day without a decision leaves the battery alone, which costs nothing.
        loss = np.where(seen.decided, seen.realised, 0.0).mean()
        numbers = {
            "violation": seen.violation,
            "late": seen.violated[len(X) // 2 :].mean(),
            "certified": seen.certified[robust].mean(),
            "task loss": loss,
            "robust": robust.mean(),
            "CPU s": time.process_time() - began,
        }
        rows[name] = {key: round(float(value), 4) for key, value in numbers.items()}
        rows[name]["alarms"] = [int(a.at) for a in live.alarms] if is_watched else []
        kept = {"alpha": alpha, "seed": seed, "days": len(X), "rows": rows}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        print(name, rows[name], flush=True)
    power()


if __name__ == "__main__":
    if "--show" in sys.argv:
        show()
    elif "--power" in sys.argv:
        power()
    else:
        given = zip((float, int), sys.argv[1:], strict=False)
        main(*(kind(word) for kind, word in given))
