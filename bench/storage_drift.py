"""A promise under shift, and what following the drift makes of it.

    python bench/storage_drift.py [alpha] [seed]

Battery storage on real prices, the published shift split: trained and calibrated on
days of 2011 to 2015, deployed day by day on the 438 days after. Every row decides each
day knowing the outcomes of all days before it. `late` is the violation in the second
half.
"""

import sys
import time

import numpy as np
from problems import storage
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import cross_val_predict

import sublevel as sl


def trees(leaf, seed):
    return ExtraTreesRegressor(100, min_samples_leaf=leaf, random_state=seed)


def train(features, prices, seed=0):
    """A mean and a spread of the prices, each by a forest."""
    mean = trees(3, seed).fit(features, prices)
    aside = cross_val_predict(trees(3, seed), features, prices, cv=5)
    spread = trees(10, seed).fit(features, np.log(np.abs(prices - aside) + 0.5))
    return lambda X: (mean.predict(X), np.exp(spread.predict(X)))


def make_policy(model):
    return storage.pose(sl.LossSet(model, loss="gaussian")).compile()


def frozen(policy, X, Y):
    """The policy as it was calibrated, which learns nothing."""

    class Frozen:
        problem = policy.problem
        decide = staticmethod(policy.decide)

        def update(self, X, Y, decisions=None):
            return self

    return sl.drift.replay(Frozen(), X, Y, batch=len(X))


def main(alpha=0.1, seed=0):
    train_days, calibration, test = storage.split(storage.load(), seed, shift=True)
    X_cal, Y_cal = calibration.features, calibration.prices
    X, Y = test.features, test.prices
    model = train(train_days.features, train_days.prices)
    policy = make_policy(model).calibrate(X_cal, Y_cal, alpha=alpha)

    def retrain(X_recent, Y_recent):
        """On all days but the latest 60, which calibrate."""
        X_all = np.vstack([train_days.features, X_cal, X_recent[:-60]])
        Y_all = np.vstack([train_days.prices, Y_cal, Y_recent[:-60]])
        policy = make_policy(train(X_all, Y_all))
        return policy.calibrate(X_recent[-60:], Y_recent[-60:], alpha=alpha)

    def monitored(on_alarm, window):
        return sl.drift.MonitoredPolicy(policy, on_alarm=on_alarm, window=window)

    def sliding(window):
        return sl.drift.SlidingPolicy(policy, X_cal, Y_cal, alpha, window=window)

    def adaptive(gamma, window=None):
        return sl.drift.AdaptivePolicy(policy, X_cal, Y_cal, alpha, gamma, window)

    print(f"alpha {alpha:g}, seed {seed}, {len(X)} days after the shift")
    print(
        f"{'':<34}{'violation':>10}{'late':>7}{'certified':>11}{'task loss':>11}"
        f"{'robust':>8}{'alarms at':>12}{'CPU s':>8}"
    )
    rows = {
        "as calibrated": lambda: None,
        "Monitor, then the fallback": lambda: monitored("fallback", 60),
        "Monitor, calibrated on 60 days": lambda: monitored("recalibrate", 60),
        "Monitor, trained again": lambda: monitored(retrain, 400),
        "calibrated on the last 351 days": lambda: sliding(None),
        "calibrated on the last 100 days": lambda: sliding(100),
        "Adaptive, gamma .02": lambda: adaptive(0.02),
        "Adaptive, gamma .05, 100 days": lambda: adaptive(0.05, 100),
    }
    for name, make in rows.items():
        began, live = time.process_time(), make()
        if live is None:
            seen = frozen(policy, X, Y)
        else:
            seen = sl.drift.replay(live, X, Y)
        late = seen.violated[len(X) // 2 :].mean()
        is_watched = isinstance(live, sl.drift.MonitoredPolicy)
        alarms = [a.at for a in live.alarms] if is_watched else []
        robust = np.isfinite(seen.certified)
        # A day without a decision leaves the battery alone, which costs nothing.
        loss = np.where(seen.decided, seen.realised, 0.0).mean()
        print(
            f"{name:<34}{seen.violation:>10.3f}{late:>7.3f}"
            f"{seen.certified[robust].mean():>11.2f}{loss:>11.2f}"
            f"{robust.mean():>8.2f}{', '.join(map(str, alarms)):>12}"
            f"{time.process_time() - began:>8.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((float, int), sys.argv[1:], strict=False)))
