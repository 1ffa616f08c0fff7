"""What was promised against what happened, and what a promise costs."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binomtest

from ..checks import Array, as_vector, require_level
from ..errors import InvalidParameter, NotCalibrated
from ..guarantees import PAC, Certificate, Marginal, OrderStatistic
from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..loss_set import LossSet
    from ..predictions import Table

#: Share of calibration draws whose coverage lies in the grey band.
BAND = 0.99
#: Levels drawn when none are given: dense where decisions are taken.
ALPHAS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


def calibration_table(
    sets: LossSet, X_test: Table, Y_test: Table, alphas: npt.ArrayLike | None = None
) -> pd.DataFrame:
    """Coverage that a calibrated `LossSet` realises on test data, level by level.

    The budget of each level is read from the calibration scores the set already has.

    Parameters
    ----------
    sets : LossSet
        Calibrated, with a guarantee that gives one budget to every context.
    X_test, Y_test : arrays or tables of n rows
        Data used neither to train nor to calibrate.
    alphas : sequence of float, optional
        Violation levels, each strictly between 0 and 1.

    Returns
    -------
    DataFrame
        One row a level: `alpha`, `promised` (1 - alpha), `budget`, `covered` and `n`
        (counts), `coverage`, and its exact 95 % Clopper-Pearson interval, `low` to
        `high`, which is about the test draw. About the calibration draw: 99 % of draws
        have a true coverage from `band_low` to `band_high`. Given N independent scores
        without ties, the coverage of the i-th smallest is Beta(i, N + 1 - i); ties and
        labels that a set never loses can only raise it. NaN under `CVPlus`, which has
        no such law.

    Examples
    --------
    >>> import sublevel as sl
    >>> rng = np.random.default_rng(0)
    >>> X, Y = np.zeros((400, 1)), rng.normal(size=(400, 2))
    >>> sets = sl.LossSet(lambda X: np.zeros((len(X), 2))).calibrate(X[:200], Y[:200])
    >>> table = calibration_table(sets, X[200:], Y[200:], alphas=[0.1, 0.2])
    >>> bool(((table["low"] <= table["promised"]) & table["high"].notna()).all())
    True
    """
    scores = _scores(sets, "calibration_table")
    guarantee = _one_budget(sets, "calibration_table")
    rows = []
    for alpha in _levels("calibration_table", alphas):
        certificate = guarantee.certify(scores, alpha)
        budget = certificate.budget
        inside = sets.predict_set(X_test, budget=budget).contains(Y_test)
        covered = int(np.count_nonzero(inside))
        interval = binomtest(covered, len(inside)).proportion_ci(0.95)
        row = {"alpha": alpha, "promised": 1 - alpha, "budget": budget}
        row |= {"covered": covered, "n": len(inside)}
        row |= {"coverage": covered / len(inside)}
        row |= {"low": float(interval.low), "high": float(interval.high)}
        rows.append(row | _band(certificate))
    return pd.DataFrame(rows)


def calibration_curve(
    sets: LossSet,
    X_test: Table,
    Y_test: Table,
    alphas: npt.ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Nominal level against the coverage realised on test data, with intervals.

    One calibration draw scatters: level by level, the coverage of 99 % of draws lies
    in the grey band, the Beta law of `calibration_table`. A bar is the exact 95 %
    interval for the error of the test sample. A marginal promise is about the average
    over draws, so points inside the band agree with it, below the diagonal too; a PAC
    promise is about this draw and moves the whole band up. A bar wholly below the band
    speaks against the promise.

    Parameters
    ----------
    sets, X_test, Y_test, alphas
        As for `calibration_table`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import sublevel as sl
    >>> X, Y = np.zeros((200, 1)), np.random.default_rng(0).normal(size=(200, 2))
    >>> sets = sl.LossSet(lambda X: np.zeros((len(X), 2))).calibrate(X[:99], Y[:99])
    >>> calibration_curve(sets, X[99:], Y[99:]).get_ylabel()
    'coverage on 101 test outcomes'
    """
    table = calibration_table(sets, X_test, Y_test, alphas)
    ax = axes_or_new(ax)
    across = table.sort_values("promised")
    # Opaque and at the back: curves drawn over each other share one band.
    ax.fill_between(
        across["promised"],
        across["band_low"],
        across["band_high"],
        color="0.9",
        linewidth=0,
        zorder=0,
    )
    ax.axline((1, 1), slope=1, color="0.7", linewidth=1)
    # The difference of equal numbers may be negative in the last digit.
    down = np.maximum(table["coverage"] - table["low"], 0.0)
    up = np.maximum(table["high"] - table["coverage"], 0.0)
    ax.errorbar(
        table["promised"], table["coverage"], yerr=[down, up], fmt="o", markersize=4
    )
    ax.set_xlabel("promised coverage, 1 - alpha")
    ax.set_ylabel(f"coverage on {table['n'].iloc[0]} test outcomes")
    return ax


def budget_table(sets: LossSet, alphas: npt.ArrayLike | None = None) -> pd.DataFrame:
    """Budget that each level costs, under the marginal and the PAC promise.

    Parameters
    ----------
    sets : LossSet
        Calibrated with `Marginal` or `PAC`; only its calibration scores are used. The
        confidence of PAC is that of the calibration if it was PAC, 0.95 otherwise.
    alphas : sequence of float, optional
        Violation levels, each strictly between 0 and 1.

    Returns
    -------
    DataFrame
        One row a guarantee and level: `guarantee`, `alpha`, `budget` (inf where the
        sample is too small) and `minimum` (calibration scores a finite budget needs).

    Examples
    --------
    >>> import sublevel as sl
    >>> X, Y = np.zeros((20, 1)), np.arange(20.0)
    >>> sets = sl.LossSet(lambda X: np.zeros(len(X)), loss="absolute").calibrate(X, Y)
    >>> budget_table(sets, alphas=[0.1])
      guarantee  alpha  budget  minimum
    0  Marginal    0.1    18.0        9
    1       PAC    0.1     inf       29
    """
    scores = _scores(sets, "budget_table")
    _own_scores(sets, "budget_table")
    pac = sets.guarantee_ if isinstance(sets.guarantee_, PAC) else PAC()
    rows = [
        {
            "guarantee": type(guarantee).__name__,
            "alpha": alpha,
            "budget": guarantee.certify(scores, alpha).budget,
            "minimum": guarantee.minimum_sample_size(alpha),
        }
        for guarantee in (Marginal(), pac)
        for alpha in _levels("budget_table", alphas)
    ]
    return pd.DataFrame(rows)


def budget_curve(
    sets: LossSet, alphas: npt.ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Budget against alpha, marginal and PAC, with the region of infinite budgets.

    Parameters
    ----------
    sets, alphas
        As for `budget_table`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import sublevel as sl
    >>> X, Y = np.zeros((20, 1)), np.arange(20.0)
    >>> sets = sl.LossSet(lambda X: np.zeros(len(X)), loss="absolute").calibrate(X, Y)
    >>> budget_curve(sets).get_legend_handles_labels()[1]
    ['Marginal', 'Marginal: infinite', 'PAC', 'PAC: infinite']
    """
    table = budget_table(sets, alphas)
    ax = axes_or_new(ax)
    for name, rows in table.groupby("guarantee", sort=False):
        finite = rows[rows["budget"] < inf]
        (line,) = ax.plot(finite["alpha"], finite["budget"], ".-", label=str(name))
        endless = rows.loc[rows["budget"] == inf, "alpha"]
        if not endless.empty:
            shade = {"color": line.get_color(), "alpha": 0.12, "linewidth": 0}
            region: Any = shade | {"label": f"{name}: infinite"}
            ax.axvspan(0, endless.max(), **region)
    ax.set_xlim(left=0)
    ax.set_xlabel("violation level alpha")
    ax.set_ylabel("budget")
    ax.legend()
    return ax


def _levels(owner: str, alphas: npt.ArrayLike | None) -> list[float]:
    """The levels asked for, or the usual ones, each strictly between 0 and 1."""
    levels = as_vector(owner, "alphas", ALPHAS if alphas is None else alphas).tolist()
    for level in levels:
        require_level(owner, alphas=level)
    return [float(level) for level in levels]


def _scores(sets: LossSet, owner: str) -> Array:
    scores = vars(sets).get("scores_")
    if scores is None:
        raise NotCalibrated(
            f"{owner}(sets=...) must be a calibrated LossSet, got one without "
            f"calibration scores. Call sets.calibrate(X_cal, Y_cal, alpha=0.1) first."
        )
    return np.asarray(scores, dtype=float)


def _band(certificate: Certificate) -> dict[str, float]:
    """Coverage that 99 % of calibration draws have, where a law says so."""
    if not certificate.beta_law:
        return {"band_low": nan, "band_high": nan}
    low, high = certificate.violation_interval(BAND)
    return {"band_low": 1 - high, "band_high": 1 - low}


def _own_scores(sets: LossSet, owner: str) -> None:
    """Marginal and PAC speak of the scores of one model, all of one law."""
    if isinstance(sets.guarantee_, Marginal | PAC):
        return
    raise InvalidParameter(
        f"{owner}(sets=...) must be calibrated with Marginal or PAC, whose budgets it "
        f"shows, got the guarantee {type(sets.guarantee_).__name__}: the two promises "
        f"do not hold for its scores. Calibrate on a fold of its own with "
        f"sets.calibrate(X_cal, Y_cal, alpha=0.1, guarantee='marginal') first."
    )


def _one_budget(sets: LossSet, owner: str) -> OrderStatistic:
    guarantee = sets.guarantee_
    if not isinstance(guarantee, OrderStatistic):
        raise InvalidParameter(
            f"{owner}(sets=...) must have one budget for every context, got the "
            f"guarantee {type(guarantee).__name__}. Compare "
            f"predict_set(X_test).contains(Y_test) group by group instead."
        )
    return guarantee
