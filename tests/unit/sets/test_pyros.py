"""The same sets in PyROS: its own membership, bounds, checks and solver agree."""

import logging
import sys
from dataclasses import replace
from math import inf
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

import sublevel as sl
from sublevel import losses, sets
from sublevel.errors import EmptySet, InvalidParameter, MissingExtra, Unbounded
from sublevel.predictions import Prediction

pyo = pytest.importorskip("pyomo.environ")
pyros = pytest.importorskip("pyomo.contrib.pyros")

# Pyomo's interval arithmetic multiplies zero coefficients by infinite bounds.
pytestmark = pytest.mark.filterwarnings(
    "ignore:invalid value encountered:RuntimeWarning:pyomo.contrib.fbbt.interval"
)

COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]
SAID = Prediction(np.array([1.0, -2.0]), np.array([0.5, 2.0]))
DISC = sets.Ellipsoid([0.2, 0.2], [0.5, 1.0], 0.8)
SQUARE = sets.Box([-0.5, 0.0], [1.0, 2.0])
TRIANGLE = sets.Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0])
ABOVE = sets.Polytope([[0.0, -1.0]], [0.0])

#: Sets described by linear constraints: HiGHS can check their supports.
LINEAR = {
    "box": (SQUARE, "BoxSet"),
    "polytope": (TRIANGLE, "PolyhedralSet"),
    "l1": (sets.L1Ball([1.0, -1.0, 0.0], [1.0, 2.0, 0.5], 1.2), "CardinalitySet"),
    "l1-rotated": (
        sets.L1Ball([1.0, -1.0], [[1.0, 0.5], [-0.3, 2.0]], 1.2),
        "PolyhedralSet",
    ),
    "budget": (sets.Budget([1.0, 2.0, 3.0], [0.5, 1.0, 0.0], 1.4), "CardinalitySet"),
    "budget-all": (sets.Budget([1.0, 2.0], [0.5, 1.0], 9.0), "CardinalitySet"),
    "variation": (sets.VariationBall([0.5, 0.3, 0.2], 0.4), "IntersectionSet"),
    "absolute": (
        sets.Sublevel(losses.Absolute(weights=(0.5, 2.0)), SAID, 1.5),
        "CardinalitySet",
    ),
    "pinball": (
        sets.Sublevel(losses.Pinball(0.8, weights=(0.5, 2.0)), SAID, 1.5),
        "CardinalitySet",
    ),
    "interval": (
        sets.Sublevel(losses.Interval(weights=(0.5, 2.0)), SAID, -0.2),
        "BoxSet",
    ),
    "intersection": (SQUARE & TRIANGLE, "IntersectionSet"),
    "strips": (
        sets.Polytope([[1.0, 1.0], [-1.0, -1.0]], [1.0, 1.0])
        & sets.Polytope([[1.0, -1.0], [-1.0, 1.0]], [2.0, 0.0]),
        "IntersectionSet",
    ),
    "product": (
        sets.Product((TRIANGLE, sets.Budget([0.0], [1.0], 0.5))),
        "CartesianProductSet",
    ),
    "point": (sets.Ellipsoid([1.0, 2.0], COVARIANCE, 0.0), "BoxSet"),
}
CURVED = {
    "ellipsoid": (DISC, "AxisAlignedEllipsoidalSet"),
    "ellipsoid-full": (
        sets.Ellipsoid.from_covariance([0.0, 1.0], COVARIANCE, 1.5),
        "EllipsoidalSet",
    ),
    "squared": (sets.Sublevel("squared", SAID, 2.0), "AxisAlignedEllipsoidalSet"),
    "gaussian": (sets.Sublevel("gaussian", SAID, 2.0), "AxisAlignedEllipsoidalSet"),
    "nll": (sets.Sublevel("nll", SAID, 2.0), "AxisAlignedEllipsoidalSet"),
    "mahalanobis": (
        sets.Sublevel(losses.Mahalanobis(COVARIANCE), SAID, 2.0),
        "EllipsoidalSet",
    ),
    "intersection": (DISC & SQUARE, "IntersectionSet"),
    "above-zero": (DISC & sets.Box([0.0, -inf], [inf, inf]), "IntersectionSet"),
    "half-plane": (DISC & ABOVE, "IntersectionSet"),
    "no-limit": (DISC & sets.Sublevel("squared", SAID, inf), "AxisAlignedEll"),
    "product": (sets.Product((DISC, TRIANGLE)), "CartesianProductSet"),
}
CONVEX = LINEAR | {f"curved-{name}": case for name, case in CURVED.items()}
LISTED = {
    "finite": sets.Finite([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]]),
    "labels": sets.LabelSet(([0.1, 0.9, 2.0], [0.3, 0.5]), 1.3),
    "union": sets.Finite([[0.0, 1.0]]) | sets.Finite([[2.0, 0.5]]),
    "cut": sets.Finite([[0.0, 0.1], [2.0, 0.5], [0.2, 0.2]]) & DISC,
    "image": sets.AffineImage(sets.Finite([[0.0], [1.0]]), [[1.0], [2.0]]),
    "product": sets.Product((sets.Finite([[0.0], [1.0]]), sets.Finite([[3.0]]))),
}


class Largest(losses.Absolute):
    """A loss whose sets are balls of a norm that is not exported."""

    def ball(self, prediction, budget):
        return replace(super().ball(prediction, budget), order=inf)


def inside(exported, point):
    """PyROS's membership by the constraints of the set.

    CardinalitySet has another one, which rounding can turn: it asks whether every
    component is put together exactly.
    """
    return bool(pyros.UncertaintySet.point_in_set(exported, list(point)))


def reach(exported, direction):
    """Largest direction @ y over the constraints PyROS makes, by HiGHS."""
    model = pyo.ConcreteModel()
    model.region = pyo.Block()
    made = exported.set_as_constraint(block=model.region)
    pairs = zip(direction, made.uncertain_param_vars, strict=True)
    total = sum(float(v) * y for v, y in pairs)
    model.reach = pyo.Objective(expr=total, sense=pyo.maximize)
    pyo.SolverFactory("appsi_highs").solve(model)
    return pyo.value(model.reach)


def near_the_boundary(value, rng):
    """Outcomes just inside and just outside, along random directions."""
    ends = np.array([value.worst_case(v) for v in rng.normal(size=(8, value.dim))])
    middle = value.interior_point()
    return middle + 0.999 * (ends - middle), middle + 1.001 * (ends - middle)


@pytest.mark.parametrize("name", CONVEX)
def test_membership_is_the_same(name):
    value, kind = CONVEX[name]
    exported = value.to_pyros()
    assert type(exported).__name__.startswith(kind)
    assert exported.dim == value.dim
    rng = np.random.default_rng(1)
    lower, upper = value.bounds()
    pad = 0.3 * (upper - lower) + 0.01
    outcomes = [rng.uniform(lower - pad, upper + pad, (40, value.dim))]
    outcomes += [*near_the_boundary(value, rng), value.sample(8, rng)]
    rows = np.concatenate(outcomes)
    expected = value.contains(rows)
    assert expected.any()
    assert not expected.all()
    assert [inside(exported, row) for row in rows] == expected.tolist()


@pytest.mark.parametrize("name", LINEAR)
def test_supports_by_another_modelling_language(name):
    value, _ = LINEAR[name]
    exported = value.to_pyros()
    for direction in np.random.default_rng(2).normal(size=(4, value.dim)):
        found = reach(exported, direction)
        assert found == pytest.approx(value.support(direction), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", CONVEX)
def test_pyros_accepts_the_set(name):
    value, _ = CONVEX[name]
    exported = value.to_pyros()
    exported.validate(
        SimpleNamespace(
            nominal_uncertain_param_vals=value.interior_point().tolist(),
            global_solver=pyo.SolverFactory("appsi_highs"),
            progress_logger=logging.getLogger("test"),
        )
    )
    found = exported.parameter_bounds
    if found:
        assert np.transpose(value.bounds()) == pytest.approx(np.array(found))


@pytest.mark.parametrize("name", LISTED)
def test_outcomes_are_listed(name):
    value = LISTED[name]
    exported = value.to_pyros()
    assert type(exported) is pyros.DiscreteScenarioSet
    assert len(exported.scenarios) == value.volume()
    assert value.contains(np.array(exported.scenarios)).all()
    found = exported.parameter_bounds
    assert np.transpose(value.bounds()) == pytest.approx(np.array(found))
    assert not exported.point_in_set(np.full(value.dim, 0.7))


def test_a_wrong_radius_would_be_caught():
    """The negative control: both checks tell a set from one a little smaller."""
    value, smaller = sets.L1Ball([0.0, 0.0]), sets.L1Ball([0.0, 0.0], radius=0.99)
    rows = near_the_boundary(value, np.random.default_rng(0))[0]
    assert not all(inside(smaller.to_pyros(), row) for row in rows)
    assert reach(smaller.to_pyros(), [1.0, 0.0]) < value.support([1.0, 0.0]) - 1e-3


@pytest.mark.parametrize("name", ["l1", "budget", "polytope", "finite"])
def test_pyros_finds_the_decision_that_robust_problem_finds(name):
    value = {
        "l1": sets.L1Ball([3.0, 2.0], [0.5, 0.3], 1.5),
        "budget": sets.Budget([3.0, 2.0], [0.5, 0.3], 1.5),
        "polytope": sets.Box([2.0, 1.0], [4.0, 3.0])
        & sets.Polytope([[1.0, 1.0]], [6.0]),
        "finite": sets.Finite([[3.0, 2.0], [3.3, 2.1], [1.0, 4.0]]),
    }[name]
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], bounds=(0, 10), initialize=0.0)
    model.a = pyo.Param([0, 1], initialize={0: 3.0, 1: 2.0}, mutable=True)
    use = sum(model.a[i] * model.x[i] for i in (0, 1))
    model.limit = pyo.Constraint(expr=use <= 10)
    model.gain = pyo.Objective(expr=3 * model.x[0] + 4 * model.x[1], sense=pyo.maximize)
    highs = pyo.SolverFactory("appsi_highs")
    found = pyo.SolverFactory("pyros").solve(
        model=model,
        first_stage_variables=list(model.x.values()),
        second_stage_variables=[],
        uncertain_params=list(model.a.values()),
        uncertainty_set=value.to_pyros(),
        local_solver=highs,
        global_solver=highs,
        objective_focus=pyros.ObjectiveType.worst_case,
        solve_master_globally=True,
    )
    assert found.pyros_termination_condition.name == "robust_optimal"
    a, x = sl.Uncertain(2), cp.Variable(2, nonneg=True)
    objective = cp.Maximize(3 * x[0] + 4 * x[1])
    ours = sl.RobustProblem(objective, [a @ x <= 10, x <= 10], {a: value}).solve()
    assert pyo.value(model.gain) == pytest.approx(ours.objective, rel=1e-5)
    assert pyo.value(model.gain) < 4 * 5 - 0.5  # the nominal model promises 20


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (sets.Sublevel("huber", [0.0, 0.0], 1.0), r"Sublevel\(Huber\)"),
        (sets.Sublevel("poisson", [1.0, 1.0], 1.0), r"Sublevel\(Poisson\)"),
        (sets.Sublevel(Largest(), [0.0, 0.0], 1.0), r"Sublevel\(Largest\)"),
        (sets.KLBall([0.5, 0.5], 0.1), "KLBall"),
        (DISC | SQUARE, "Union"),
        (sets.AffineImage(DISC, [[1.0, 1.0]]), "AffineImage"),
        (DISC & sets.Sublevel("huber", [0.0, 0.0], 1.0), r"Sublevel\(Huber\)"),
        ((DISC | SQUARE) & TRIANGLE, "Intersection"),
    ],
)
def test_other_shapes_are_refused_by_name(value, name):
    with pytest.raises(InvalidParameter, match=rf"{name}\.to_pyros.*It has Box, Poly"):
        value.to_pyros()


@pytest.mark.parametrize(
    "value",
    [
        sets.Box([0.0], [inf]),
        sets.L1Ball([0.0], radius=inf),
        ABOVE,
        sets.Sublevel("absolute", [0.0], inf),
        sets.Sublevel("pinball", [0.0], inf),
        sets.Box([0.0] * 2, [inf] * 2) & ABOVE,
    ],
)
def test_unbounded_sets_are_refused(value):
    with pytest.raises(Unbounded, match=r"to_pyros\(\) needs a bounded set"):
        value.to_pyros()


def test_an_empty_intersection_is_refused():
    with pytest.raises(EmptySet, match="no outcome is in all"):
        (DISC & sets.Box([9.0, 9.0], [inf, inf])).to_pyros()
    with pytest.raises(EmptySet, match="Intersection is empty"):
        (sets.Finite([[9.0, 9.0]]) & DISC).to_pyros()


def test_a_product_of_a_list_and_a_disc_is_refused():
    mixed = sets.Product((DISC, sets.Finite([[0.0], [1.0]])))
    with pytest.raises(InvalidParameter, match="must not mix lists"):
        mixed.to_pyros()


@pytest.mark.parametrize(("blocks", "count"), [(13, "8192"), (40, "more")])
def test_many_labels_are_not_listed(blocks, count):
    labels = sets.LabelSet(([0.0, 1.0],) * blocks, blocks)
    with pytest.raises(InvalidParameter, match=rf"got {count}\. LabelSet\.relax"):
        labels.to_pyros()


def test_the_way_out_of_many_labels():
    labels = sets.LabelSet(([0.0, 1.0],) * 3, 1.0)
    wider = labels.relaxation().to_pyros()
    assert all(inside(wider, row) for row in labels.sample(20, 0))


def test_a_rotated_l1_ball_of_many_dimensions_is_refused():
    with pytest.raises(InvalidParameter, match=r"2\^dim sides.*got 13"):
        sets.L1Ball(np.zeros(13), np.eye(13)).to_pyros()


def test_a_missing_pyomo_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyomo.contrib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sublevel\[pyomo\]'"):
        DISC.to_pyros()


def test_an_older_pyomo_is_named(monkeypatch):
    monkeypatch.delattr(pyros, "CartesianProductSet")
    with pytest.raises(MissingExtra, match=r"pyomo 6\.10\.1 or later"):
        DISC.to_pyros()
