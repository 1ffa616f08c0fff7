"""Why a decision or a policy is as it is, in a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidParameter
from .axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..robust.explaining.decision_explanation import DecisionExplanation
    from ..robust.explaining.policy_explanation import PolicyExplanation

#: Entries that are drawn: those whose worst value is furthest from the prediction.
MOST = 20


def plot_explanation(explanation: DecisionExplanation, ax: Axes | None = None) -> Axes:
    """The outcome a decision guards against, beside its prediction and its set.

    One line an entry of the first uncertain key: the set's ends, the prediction and
    the worst outcome. The facts are `explanation.to_pandas()`.

    Parameters
    ----------
    explanation : what `Decision.explain` returns
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.
    """
    if not explanation.outcomes:
        raise InvalidParameter(
            "plot_explanation(explanation) must be of a context with a decision, got "
            f"one that is {explanation.status!r}. Print the explanation instead."
        )
    outcome = explanation.outcomes[0]
    ax = axes_or_new(ax)
    distance = np.nan_to_num(np.abs(outcome.worst - outcome.predicted))
    shown = np.sort(np.argsort(-distance, kind="stable")[:MOST])
    places = np.arange(len(shown))
    ends = np.array([outcome.lower[shown], outcome.upper[shown]])
    ends = np.where(np.isfinite(ends), ends, np.nan)
    ax.hlines(places, *ends, color="0.75", linewidth=6, label="set")
    ax.plot(
        outcome.predicted[shown], places, "|", color="0.2", ms=12, label="predicted"
    )
    ax.plot(outcome.worst[shown], places, "o", color="tab:red", ms=5, label="worst")
    ax.set_yticks(places, [outcome.entries[i] for i in shown.tolist()])
    ax.invert_yaxis()
    ax.set_xlabel(outcome.name)
    ax.legend()
    return ax


def plot_steps(explanation: PolicyExplanation, ax: Axes | None = None) -> Axes:
    """The mean worst case of a policy as it is, and a step of alpha or of data away.

    Parameters
    ----------
    explanation : what `Policy.explain(X, Y)` returns
    ax : matplotlib Axes, optional
        Where to draw; a new figure if left out.
    """
    if explanation.looked is None:
        raise InvalidParameter(
            "plot_steps(explanation) must have looked at outcomes, got one without. "
            "Call Policy.explain(X, Y)."
        )
    table = explanation.to_pandas()
    ax = axes_or_new(ax)
    places = np.arange(len(table))
    ax.axvline(table["certified"][0], color="0.8", linewidth=1)
    ax.hlines(places, table["certified"][0], table["certified"], color="0.6")
    ax.plot(table["certified"], places, "o", color="tab:blue")
    names = [f"as it is ({table['name'][0]})", *table["name"][1:]]
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xlabel("worst case, on average")
    return ax
