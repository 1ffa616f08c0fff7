"""Closed forms next to raw Clarabel, and the corners that used to be slow.

CPU time in turns, medians of ratios in one run, every objective compared. "solve" is
the formula with its check by multipliers; "decide" is what a user calls: prediction,
formula, check and audit. Both are compiled where numba is installed. Of one decision it
is printed what `decide` takes beyond the model and the solver that it calls. Run with
`python bench/closed_forms.py [quick]`.
"""

import os
import sys
import time
from functools import wraps
from statistics import median

# Threads that wait for each other would be counted as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import cvxpy as cp
import numpy as np
from problems.cases import flow, portfolio
from problems.raw_clarabel import Raw

import sublevel as sl
from sublevel.conic.by_cvxpy import CvxpySolver
from sublevel.conic.canonical import cone_program
from sublevel.conic.forms import ClosedForm, closed_form, form_of
from sublevel.conic.highs import Highs
from sublevel.conic.kkt import Conditions
from sublevel.conic.program import fill
from sublevel.conic.solver import _CONES


def cpu(task):
    start = time.process_time()
    result = task()
    return time.process_time() - start, result


def by_hand(case):
    """The arrays of a case's contexts."""
    problem, parameters = case.by_hand()
    names = {p.id: f"slot{k}" for k, p in enumerate(parameters)}
    program = cone_program(problem, names)
    slots = {f"slot{k}": np.asarray(v) for k, v in enumerate(case.slots)}
    return fill(program, np.append(np.zeros(program.size - 1), 1.0), slots)


def simplex(case, turns, raw):
    """A portfolio, by its formula."""
    data, policy = by_hand(case), case.pose().compile()
    policy.decide(case.X)
    solve, decide, differ = [], [], 0.0
    for _ in range(turns):
        theirs, expected = cpu(lambda: case.raw(np.arange(raw)))
        ours, solved = cpu(lambda: by_form(data))
        whole, decisions = cpu(lambda: policy.decide(case.X))
        share = theirs / raw * len(data)
        solve.append(share / ours)
        decide.append(share / whole)
        for values in (solved.objective, decisions.objective):
            differ = max(differ, np.abs(values[:raw] - expected).max())
    assert differ < 1e-6, differ
    good = certified(data)
    show(case.name, median(solve), median(decide), 1 - good.mean(), differ)


def by_form(data):
    """Solved as a call of so many contexts is: compiled, where that pays."""
    return ClosedForm().chosen(data.program, len(data)).solve(data)


def one_decision(n, turns, rng):
    """What one decision of a calibrated policy takes beyond model and solver."""
    case = portfolio(n, 200, rng)
    (sets,) = case.pose().compile().keys
    r, w = sl.Uncertain(n), cp.Variable(n, nonneg=True)
    own = sl.LossSet(sets.source.model, "gaussian")
    policy = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: own}).compile()
    location, spread = case.X[:, :n], case.X[:, n:]
    policy.calibrate(case.X, location + spread * rng.normal(size=(200, n)), alpha=0.1)
    spent = []

    def timed(function):
        @wraps(function)
        def call(*given, **options):
            start = time.process_time()
            result = function(*given, **options)
            spent.append(time.process_time() - start)
            return result

        return call

    model, solve = type(sets.source.model), ClosedForm.solve
    predict, beyond = model.predict, []
    policy.decide(case.X[:1])
    model.predict, ClosedForm.solve = timed(predict), timed(solve)
    for i in range(20 * turns):
        spent.clear()
        whole, _ = cpu(lambda i=i: policy.decide(case.X[[i % 200]]))
        assert len(spent) == 2, spent
        beyond.append(1e3 * (whole - sum(spent)))
    model.predict, ClosedForm.solve = predict, solve
    print(
        f"one decision, {case.name}: {median(beyond):.2f} ms beyond model and solver "
        f"(least {min(beyond):.2f}; the aim: 1)"
    )


def certified(data):
    """Which contexts the formula solves."""
    x, z = closed_form.solve_form(form_of(data.program), data)
    return Conditions(data).hold(slice(None), x, z)[0]


def polytope(kind, over, n, contexts, turns, raw, rng):
    """A linear cost with a worst case of a kind, over a polytope of a kind."""
    cost, scale = cp.Parameter(n), cp.Parameter(n, nonneg=True)
    x, order = cp.Variable(n, nonneg=True), {"ellipsoid": 2, "l1": "inf"}
    worst = scale @ x if kind == "box" else cp.norm(cp.multiply(scale, x), order[kind])
    rows = {"box": [x <= 1], "budget": [x <= 3 / n, cp.sum(x) == 1]}[over]
    problem = cp.Problem(cp.Minimize(cost @ x + worst), rows)
    program = cone_program(problem, {cost.id: "cost", scale.id: "scale"})
    slots = {
        "cost": rng.normal(size=(contexts, n)),
        "scale": rng.uniform(0.3, 1.5, (contexts, n)),
    }
    data = fill(program, np.append(np.zeros(program.size - 1), 1.0), slots)
    _, q, A, b = data.matrices(0)
    cones = [_CONES[kind](int(size)) for kind, size in program.cones]
    live = Raw(q, A, b, cones)
    first = data.at(slice(0, raw))
    costs, entries = first.q.rows()[:, :-1].tolist(), first.A.rows().tolist()

    def by_raw():
        return np.array(
            [live.solve(q, A)[0] for q, A in zip(costs, entries, strict=True)]
        )

    by_raw(), by_form(data)
    ratios, differ = [], 0.0
    for _ in range(turns):
        theirs, expected = cpu(by_raw)
        ours, solved = cpu(lambda: by_form(data))
        ratios.append(theirs / raw * contexts / ours)
        differ = max(differ, np.abs(solved.objective[:raw] - expected).max())
    assert differ < 1e-6, differ
    name = f"{kind}, {over} ({n})"
    show(name, median(ratios), float("nan"), 1 - certified(data).mean(), differ)


def show(name, solve, decide, left, differ):
    print(
        f"{name:<24}{solve:>8.0f}{decide:>8.0f}{left:>10.2%}{differ:>10.0e}", flush=True
    )


def live_highs(contexts, rng):
    """A linear program by one live HiGHS, and posed by CVXPY at every context."""
    data = by_hand(flow(5, "l1", contexts, rng))
    theirs, expected = cpu(lambda: CvxpySolver("HIGHS").solve(data))
    ours, solved = cpu(lambda: Highs().solve(data))
    assert np.abs(solved.objective - expected.objective).max() < 1e-6
    print(f"HiGHS live, P2(5,l1): {theirs / ours:.1f} times less than by CVXPY")


def compiling(turns, rng):
    """Compiling, in canonicalisations by CVXPY of the counterpart written by hand."""
    for case in (flow(5, "huber", 3, rng), portfolio(5, 3, rng)):
        ratios = []
        for _ in range(turns):
            theirs, _ = cpu(lambda c=case: c.by_hand()[0].get_problem_data(cp.CLARABEL))
            ours, _ = cpu(case.pose().compile)
            ratios.append(ours / theirs)
        print(f"compile {case.name}: {median(ratios):.2f} canonicalisations")


def shared_budget(turns):
    """Labels and numbers that share a budget: all prices at a time, and one by one."""
    from sublevel.losses import shared_budget

    loss = sl.losses.Combined(["squared", "huber", "cross_entropy"], (1.0, 1.0, 1.0))
    parts = (
        sl.Prediction(np.arange(4.0)),
        sl.Prediction(np.arange(3.0)),
        sl.predictions.LabelPrediction((np.array([0.1, 0.2, 0.7]),)),
    )
    joint = sl.predictions.JointPrediction(parts)
    directions = np.random.default_rng(0).normal(size=(20, 10))
    most, ratios = shared_budget.MOST_PRICES, []
    for _ in range(turns):
        times = []
        for count in (1, most):
            shared_budget.MOST_PRICES = count
            spent, worst = cpu(
                lambda: [loss.worst_case(joint, 4, v) for v in directions]
            )
            times.append((spent, np.array(worst)))
        assert np.abs(times[0][1] - times[1][1]).max() < 1e-9
        ratios.append(times[0][0] / times[1][0])
    print(f"worst cases of a shared budget: {median(ratios):.1f} times less")


def main(quick):
    rng, turns = np.random.default_rng(0), 3 if quick else 7
    contexts, raw = (2000, 100) if quick else (8000, 300)
    print("Times less than raw Clarabel; the aim: solve 100 at n = 50")
    print(f"{'problem':<24}{'solve':>8}{'decide':>8}{'left over':>10}{'differ':>10}")
    for n in (5, 50, 500):
        simplex(portfolio(n, max(contexts * 50 // max(n, 50), 50), rng), turns, raw)
    for kind in ("ellipsoid", "l1", "box"):
        for over in ("box", "budget"):
            polytope(kind, over, 50, contexts, turns, raw, rng)
    for n in (5, 50):
        one_decision(n, turns, rng)
    live_highs(raw // 2, rng)
    compiling(turns, rng)
    shared_budget(turns)


if __name__ == "__main__":
    main("quick" in sys.argv)
