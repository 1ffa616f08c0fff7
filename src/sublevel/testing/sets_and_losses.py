"""The contracts of losses, sets and guarantees.

They compare every closed form with something independent of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import cvxpy as cp
import numpy as np

from ..checks import Array
from ..conic.maximise import maximise
from ..epigraph import Epigraph
from ..errors import EmptySet
from ..guarantees import Calibrated, Guarantee
from ..guarantees.faces import settling
from ..losses import Combined, Loss
from ..predictions import (
    AnyPrediction,
    JointPrediction,
    LabelPrediction,
    Needs,
    Prediction,
)
from ..sets import Mixed, UncertaintySet
from .contract import ContractBroken, require


def check_loss(
    loss: Loss,
    prediction: AnyPrediction | None = None,
    random_state: int = 0,
    tol: float = 1e-6,
) -> None:
    """Run the loss contract: three faces of one function, and its worst cases.

    Parameters
    ----------
    loss : a loss object
    prediction : Prediction of one context, optional; a random one by default
    random_state : seed of the outcomes, directions and budgets tried
    tol : relative tolerance

    Examples
    --------
    >>> from sublevel.losses import Huber
    >>> check_loss(Huber(knee=0.7))
    """
    rng = np.random.default_rng(random_state)
    for _ in range(4):
        prediction = prediction or example_prediction(loss.needs, rng)
        outcome = _outcome(loss, prediction, rng)
        direction = rng.normal(size=prediction.width)
        budget = float(loss.score(prediction, prediction.point)) + rng.uniform(0.2, 3.0)
        _check_faces(loss, prediction, outcome, tol)
        _check_fenchel_young(loss, prediction, outcome, direction, tol)
        _check_worst_case(loss, prediction, budget, direction, tol)


def check_set(
    value: UncertaintySet, random_state: int = 0, tol: float = 1e-6, size: int = 20
) -> None:
    """Run the set contract: membership, worst cases, bounds and samples agree.

    Examples
    --------
    >>> from sublevel.sets import Box
    >>> check_set(Box([0.0, 0.0], [1.0, 2.0]))
    """
    rng = np.random.default_rng(random_state)
    lower, upper = value.bounds()
    width = 1 + float(np.abs(upper - lower).max())
    for _ in range(5):
        direction = rng.normal(size=value.dim)
        worst, support = value.worst_case(direction), value.support(direction)
        scale = tol * (1 + float(np.abs(direction).sum()) * width)
        require(value.contains(worst), f"worst_case({direction}) is inside")
        attained = abs(direction @ worst - support) <= scale
        require(attained, f"worst_case({direction}) attains support")
        solved = abs(_solved(value, direction) - support) <= scale
        require(solved, "a solve over the constraints reaches support")
        other = rng.normal(size=value.dim)
        split = value.support(direction + other)
        require(split <= support + value.support(other) + 2 * scale, "sublinear")
        boxed = (worst >= lower - scale).all() and (worst <= upper + scale).all()
        require(boxed, "worst_case is within bounds")
    drawn = value.sample(size, random_state=random_state)
    require(drawn.shape == (size, value.dim), "sample has shape (size, dim)")
    require(np.all(value.contains(drawn)), "samples are inside")
    require(value.volume() >= 0, "volume is not negative")


def check_guarantee(
    guarantee: Guarantee, alpha: float = 0.1, random_state: int = 0
) -> None:
    """Run the guarantee contract: order, infinity and the inverse are coherent.

    Examples
    --------
    >>> from sublevel.guarantees import Marginal
    >>> check_guarantee(Marginal())
    """
    rng = np.random.default_rng(random_state)
    need = guarantee.minimum_sample_size(alpha)
    scores = rng.exponential(size=2 * need + 50)
    calibration = guarantee.calibrate(scores, alpha)
    budget = _one_budget(calibration)
    again = guarantee.calibrate(rng.permutation(scores), alpha)
    require(budget == again.budget, "the order of scores does not matter")
    require(np.isfinite(budget), "enough scores give a finite budget")
    require(calibration.certificate.alpha <= alpha, "no more than alpha is promised")
    looser = _one_budget(guarantee.calibrate(scores, min(0.99, 2 * alpha)))
    require(looser <= budget, "a larger alpha has no larger budget")
    back = guarantee.promise(scores, budget)
    require(back.alpha <= alpha + 1e-9, "promise() returns the level calibrated for")
    beyond = guarantee.promise(scores, budget * 0.9)
    require(beyond.alpha > alpha, "a smaller budget promises less")
    few = _calibrate_quietly(guarantee, scores[: need - 1], alpha)
    require(few.budget == np.inf, "too few scores give an infinite budget")
    require(few.certificate.minimum_sample_size == need, "and say how many would do")
    _check_settling(guarantee, scores, alpha)


def _one_budget(calibration: Calibrated) -> float:
    if isinstance(calibration.budget, Mapping):
        raise ContractBroken("Broken promise: there is one budget for every context.")
    return calibration.budget


def _check_settling(guarantee: Guarantee, scores: Array, alpha: float) -> None:
    """Scores that are to settle the budget do so, if the guarantee says it."""
    settled = settling(guarantee, len(scores), alpha)
    budget = guarantee.calibrate(scores, alpha).budget
    floors = np.sort(scores)[::-1].tolist()
    first = next((floor for floor in floors if settled(scores, floor)), None)
    if first is not None:
        lowered = np.where(scores > first, scores, scores.min())
        same = guarantee.calibrate(lowered, alpha).budget == budget
        require(same, "scores that settle the budget give it, whatever the others are")


def example_prediction(needs: Needs, rng: np.random.Generator) -> AnyPrediction:
    """A random prediction of one context, positive where it is numeric."""
    if isinstance(needs, tuple):
        return JointPrediction(tuple(example_prediction(need, rng) for need in needs))
    if needs == "labels":
        return LabelPrediction((rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))))
    location = rng.uniform(0.5, 2.0, size=3)
    wide = needs in ("spread", "interval")
    scale = np.exp(rng.uniform(-2.5, 0.5, size=3)) if wide else None
    return Prediction(location, scale)


def _outcome(loss: Loss, prediction: AnyPrediction, rng: np.random.Generator) -> Array:
    if isinstance(prediction, JointPrediction):
        losses = loss.losses if isinstance(loss, Combined) else ()
        pairs = zip(losses, prediction.parts, strict=True)
        return np.concatenate([_outcome(part, s, rng) for part, s in pairs])
    if isinstance(prediction, LabelPrediction):
        hot = [
            np.eye(block.shape[-1])[rng.integers(len(block))]
            for block in prediction.values
        ]
        return np.concatenate(hot)
    return np.asarray(
        prediction.location * rng.uniform(0.3, 2.0, size=prediction.width)
    )


def _check_faces(
    loss: Loss, prediction: AnyPrediction, outcome: Array, tol: float
) -> None:
    score = float(loss.score(prediction, outcome))
    total = float(np.sum(loss.components(prediction, outcome)))
    require(np.isclose(score, total, rtol=tol), "components sum to the score")
    given = cp.Constant(outcome)
    value = float(np.asarray(loss.expression(prediction, given).value).item())
    require(
        np.isclose(score, value, rtol=tol, atol=tol),
        f"score {score} equals the CVXPY expression {value}",
    )
    variable = cp.Variable(len(outcome))
    require(loss.expression(prediction, variable).is_convex(), "expression is convex")
    require(score >= float(loss.floor(prediction)) - tol, "score is at least floor")
    stacked = np.stack([outcome, outcome])
    rows = loss.score(_repeat(prediction), stacked)
    require(np.allclose(rows, score), "score broadcasts over rows")


def _check_fenchel_young(
    loss: Loss, prediction: AnyPrediction, outcome: Array, direction: Array, tol: float
) -> None:
    """U loss*(v / u) + u loss(y) >= v'y for every y."""
    for multiplier in (0.5, 2.0):
        dual = loss.conjugate(
            cp.Constant(direction), cp.Constant(multiplier), prediction
        )
        least = _least(dual.value, dual.constraints)
        bound = least + multiplier * float(loss.score(prediction, outcome))
        gap = bound - float(direction @ outcome)
        require(gap >= -tol * (1 + abs(bound)), "Fenchel-Young inequality")


def _check_worst_case(
    loss: Loss, prediction: AnyPrediction, budget: float, direction: Array, tol: float
) -> None:
    worst = loss.worst_case(prediction, budget, direction)
    support = float(loss.support(prediction, budget, direction))
    scale = tol * (1 + abs(support))
    require(
        float(loss.score(prediction, worst)) <= budget + 1e-7 * abs(budget) + 1e-8,
        "worst_case is within the budget",
    )
    require(abs(direction @ worst - support) <= scale, "worst_case attains support")
    _check_bounds(loss, prediction, budget, direction, support, scale)
    pair = loss.worst_case(
        _repeat(prediction), np.full(2, budget), np.stack([direction] * 2)
    )
    require(np.allclose(pair, worst, atol=1e-5), "worst_case broadcasts over rows")


def _check_bounds(
    loss: Loss,
    prediction: AnyPrediction,
    budget: float,
    direction: Array,
    support: float,
    scale: float,
) -> None:
    """The counterpart, and the dual from the conjugate, reach the support."""
    slope, multiplier = cp.Constant(direction), cp.Variable(nonneg=True)
    dual = loss.conjugate(slope, multiplier, prediction)
    bounds = {
        "counterpart": loss.counterpart(prediction, budget, slope),
        "dual": Epigraph(budget * multiplier + dual.value, dual.constraints),
    }
    for name, epigraph in bounds.items():
        bound = _least(epigraph.value, epigraph.constraints)
        require(bound >= support - scale, f"{name} {bound} covers support {support}")
        if loss.exact_dual:
            same = abs(bound - support) <= scale
            require(same, f"{name} {bound} equals support {support}")


def _repeat(prediction: AnyPrediction) -> AnyPrediction:
    """The same context twice."""
    if isinstance(prediction, JointPrediction):
        return JointPrediction(tuple(_repeat(part) for part in prediction.parts))
    if isinstance(prediction, LabelPrediction):
        twice = tuple(np.stack([block, block]) for block in prediction.values)
        margins = prediction.probabilities is None
        return LabelPrediction(None, twice) if margins else LabelPrediction(twice)
    scale = None if prediction.scale is None else np.stack([prediction.scale] * 2)
    factor = None if prediction.factor is None else np.stack([prediction.factor] * 2)
    return Prediction(np.stack([prediction.location] * 2), scale, factor=factor)


def _least(value: cp.Expression, constraints: list[cp.Constraint]) -> float:
    """Least value of a convex expression; inf where the constraints cannot hold."""
    problem = cp.Problem(cp.Minimize(value), constraints)
    with warnings.catch_warnings():
        # CVXPY warns of an inaccurate solution; here it is a broken promise.
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=cp.CLARABEL)
        except cp.error.SolverError:
            raise ContractBroken(
                "Broken promise: the dual has a least value that a solver finds."
            ) from None
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        return float(np.inf)
    require(problem.status == cp.OPTIMAL, f"the dual is solved, got {problem.status}")
    return float(problem.value)


def _solved(value: UncertaintySet, direction: Array) -> float:
    """The support by a solver, from the set's constraints (or its loss) alone."""
    if len(value.parts()) > 1:
        return max(_solved(part, direction) for part in value.parts())
    if isinstance(value, Mixed):
        return max(
            _solved_slice(value, hot, direction) for hot in value.label_choices()
        )
    outcome = cp.Variable(value.dim)
    constraints = value.constraints(outcome)
    return float(direction @ maximise(direction, outcome, constraints, "the set"))


def _solved_slice(value: Mixed, labels: Array, direction: Array) -> float:
    """The same with the labels fixed; -inf if they cost too much."""
    outcome = cp.Variable(value.dim)
    fixed = np.flatnonzero(~value.numeric())
    score = value.loss.expression(value.prediction, outcome)
    constraints = [score <= value.effective_budget, outcome[fixed] == labels[fixed]]
    try:
        worst = maximise(direction, outcome, constraints, "a slice of the set")
    except EmptySet:
        return float(-np.inf)
    return float(direction @ worst)


def _calibrate_quietly(guarantee: Guarantee, scores: Array, alpha: float) -> Calibrated:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return guarantee.calibrate(scores, alpha)
