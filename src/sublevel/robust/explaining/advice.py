"""What to do about a context without a decision."""

from __future__ import annotations

#: By status: what it means, and the way out.
_ADVICE = {
    "infeasible": (
        "No decision keeps every constraint for every outcome in the sets.",
        "Ask for a larger alpha, a better model, softer constraints, or declare what "
        "is done instead: Policy.calibrate(fallback=...).",
    ),
    "unbounded": (
        "The objective can be improved without end.",
        "Bound the variables.",
    ),
    "unbounded_set": (
        "A set has no end in a direction that hurts.",
        "Calibrate on more data, ask for a larger alpha, or give the set an end: "
        "LossSet(...) & sl.sets.Box.",
    ),
    "empty_set": (
        "A set holds no outcome at all, so there is nothing to be robust against.",
        "Look at its budget and at the signs that were declared.",
    ),
    "invalid_prediction": (
        "The model could not predict here.",
        "Look at the covariates of this row: missing values, other columns.",
    ),
    "outside_domain": (
        "The prediction is outside what the loss allows.",
        "Look at what the model predicts here, or choose another loss.",
    ),
    "solver_failed": (
        "The solver gave up.",
        "Look at the scale of the data, or try another solver.",
    ),
    "audit_failed": (
        "What the solver returned did not stand up to the judge, and is not used.",
        "Look at the scale of the data, or try another solver or engine.",
    ),
    "out_of_rounds": (
        "Cutting planes met their limit of rounds before there was a decision.",
        "Allow more: sl.robust.Cuts(max_rounds=...).",
    ),
    "out_of_time": (
        "The limit of time was met before there was a decision.",
        "Allow more time, or a larger gap.",
    ),
    "fallback": (
        "No robust decision exists here, so the declared fallback acts.",
        "A larger alpha or a better model makes it rarer.",
    ),
    "stopped_early": (
        "A limit was met: the decision is robust, and may not be the best.",
        "Allow more time or rounds.",
    ),
}


def advice(status: str) -> tuple[str, ...]:
    """What a status means and the way out; nothing of one that needs no advice.

    Examples
    --------
    >>> advice("optimal")
    ()
    >>> advice("unbounded")[1]
    'Bound the variables.'
    """
    return _ADVICE.get(status, ())
