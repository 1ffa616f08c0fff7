"""Flows whose programs need exponential and power cones, each in three ways."""

import cvxpy as cp
import numpy as np
from problems.cases import RADIUS, Case, sets
from problems.grid import grid

import sublevel as sl

#: What delays cost: a price, times this power of the load. With a power of five raw
#: Clarabel, which is to be the reference, ends early at some contexts.
PRICE, ORDER = 2.4, 2.5


def counts(side, contexts, rng):
    """Costs within a budget of Poisson's deviance: an exponential cone an edge."""
    incidence, supply = grid(side)
    m = incidence.shape[1]
    location = rng.uniform(1, 2, (contexts, m))
    own = sets("poisson", m, RADIUS, centre=1.0)

    def pose():
        c, f = sl.Uncertain(m, nonneg=True), cp.Variable(m, nonneg=True)
        return sl.RobustProblem(cp.Minimize(c @ f), [incidence @ f == supply], {c: own})

    def by_hand():
        # max f'y over the set is min over u of budget u + 2 u mean'(exp(f / 2u) - 1).
        mean, u = cp.Parameter(m, nonneg=True), cp.Variable()
        f, lifted = cp.Variable(m, nonneg=True), cp.Variable(m)
        level = u * np.ones(m)
        limits = [incidence @ f == supply, cp.ExpCone(f / 2, level, lifted)]
        worst = RADIUS * u + 2 * (mean @ (lifted - level))
        return cp.Problem(cp.Minimize(worst), limits), [mean]

    X = np.hstack([location, np.ones_like(location)])
    case = Case(f"curved({side},poisson)", pose, None, by_hand, X, [location], m)
    case.raw = case.live()
    return case


def congested(side, contexts, rng):
    """Costs over an ellipsoid, and delays that grow with the load: power cones."""
    incidence, supply = grid(side)
    m = incidence.shape[1]
    location = rng.uniform(1, 2, (contexts, m))
    spread = rng.uniform(0.2, 1, (contexts, m))
    own = sets("gaussian", m, RADIUS**2)

    def model():
        f = cp.Variable(m, nonneg=True)
        delays = PRICE * cp.sum(cp.power(f, ORDER, approx=False))
        return f, delays, [incidence @ f == supply]

    def pose():
        c, (f, delays, limits) = sl.Uncertain(m), model()
        return sl.RobustProblem(cp.Minimize(c @ f + delays), limits, {c: own})

    def by_hand():
        location, reach = cp.Parameter(m), cp.Parameter(m, nonneg=True)
        f, delays, limits = model()
        worst = location @ f + cp.norm(cp.multiply(reach, f), 2)
        return cp.Problem(cp.Minimize(worst + delays), limits), [location, reach]

    X, slots = np.hstack([location, spread]), [location, RADIUS * spread]
    case = Case(f"curved({side},congested)", pose, None, by_hand, X, slots, 2 * m)
    case.raw = case.live()
    return case
