"""Sets, losses and predictions written as JSON come back the same, to the bit."""

import copy
import inspect
import json
from datetime import date
from math import inf, nan

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import sublevel as sl
from sublevel import losses, sets
from sublevel.errors import InvalidParameter
from sublevel.predictions import JointPrediction, LabelPrediction, Prediction
from sublevel.sets.as_dict import (
    loss_from_dict,
    loss_to_dict,
    prediction_from_dict,
    prediction_to_dict,
)

THIRD = 1 / 3
COVARIANCE = [[2.0, THIRD, 0.0], [THIRD, 1.0, 0.1], [0.0, 0.1, 0.7]]
WEIGHTS = (0.1, THIRD, 7.0)

LOSSES = {
    "squared": losses.Squared(weights=WEIGHTS),
    "mahalanobis": losses.Mahalanobis(COVARIANCE),
    "absolute": losses.Absolute(weights=WEIGHTS),
    "huber": losses.Huber(THIRD, weights=WEIGHTS),
    "gaussian": losses.Gaussian(weights=WEIGHTS),
    "nll": losses.NLL(),
    "pinball": losses.Pinball(np.float64(0.9), weights=WEIGHTS),
    "epsilon_insensitive": losses.EpsilonInsensitive(0.3, weights=WEIGHTS),
    "interval": losses.Interval(weights=WEIGHTS, unit=THIRD),
    "log_cosh": losses.LogCosh(weights=WEIGHTS),
    "poisson": losses.Poisson(weights=WEIGHTS),
    "gamma": losses.Gamma(weights=WEIGHTS),
    "cross_entropy": losses.CrossEntropy(),
    "hinge": losses.Hinge(),
    "zero_one": losses.ZeroOne(),
    "combined": losses.Combined(["squared", losses.Huber(0.2), "hinge"], (1, THIRD, 9)),
    "open": losses.Combined([losses.Mahalanobis(), "nll"]),
}

NUMBERS = Prediction(np.array([THIRD, 2.0, 3.0]), np.array([0.1, 0.2, THIRD]))
LABELS = LabelPrediction((np.array([0.5, 0.3, 0.2]), np.array([THIRD, 1 - THIRD])))
MARGINS = LabelPrediction(margins=(np.array([-THIRD, 0.75]),))
PREDICTIONS = {
    "numbers": NUMBERS,
    "location": Prediction(np.array([[1.0, 2.0], [THIRD, 4.0]])),
    "labels": LABELS,
    "margins": MARGINS,
    "joint": JointPrediction((NUMBERS, LABELS, MARGINS)),
}

TRIANGLE = sets.Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, THIRD])
DISC = sets.Ellipsoid([0.1, 0.1], radius=0.5)
SETS = {
    "AffineImage": sets.AffineImage(DISC, [[1.0, 2.0], [0.0, THIRD]], 1.0),
    "Box": sets.Box([-1.0, -inf, 0.0], [THIRD, 0.0, inf]),
    "Budget": sets.Budget([1.0, 2.0, 3.0], [0.5, 1.0, 0.1], 1.7),
    "Ellipsoid": sets.Ellipsoid.from_covariance([0.0, 1.0, 2.0], COVARIANCE, 0.7),
    "Ellipsoid-everything": sets.Ellipsoid([0.0, 1.0], [1.0, THIRD], inf),
    "Finite": sets.Finite([[0.0, 1.0], [2.0, THIRD], [1.0, 1.0]]),
    "Intersection": sets.Intersection((TRIANGLE, DISC, sets.Box([0.0] * 2, [inf] * 2))),
    "KLBall": sets.KLBall([0.5, 0.3, 0.2], 0.2),
    "L1Ball": sets.L1Ball([1.0, -1.0, 0.0], [1.0, 2.0, THIRD], 1.2),
    "LabelSet": sets.LabelSet(([0.1, 0.9, inf], [0.3, 0.5]), 1.3, ["abc", (0, 1)]),
    "Mixed": sets.Mixed(
        losses.Combined(["gaussian", "cross_entropy"], weights=(1.0, 0.5)),
        JointPrediction((NUMBERS, LABELS)),
        4.0,
    ),
    "Polytope": TRIANGLE,
    "Product": sets.Product((DISC, sets.Product((TRIANGLE, DISC)))),
    "Sublevel": sets.Sublevel(LOSSES["huber"], NUMBERS, 1.3),
    "Sublevel-combined": sets.Sublevel(
        losses.Combined(["pinball", losses.Huber(0.2)], (1.0, THIRD)),
        JointPrediction((NUMBERS, NUMBERS)),
        1.3,
    ),
    "Sublevel-everything": sets.Sublevel("poisson", [1.0, 2.0], inf),
    "Union": (DISC & TRIANGLE) | sets.Box([1.0, 1.0], [2.0, 2.0]),
    "VariationBall": sets.VariationBall([0.5, 0.3, 0.2], 0.4),
}


def through_json(written):
    return json.loads(json.dumps(written, allow_nan=False))


def assert_same(first, second, seed=0):
    """The same class, and the same answers to the bit."""
    rng = np.random.default_rng(seed)
    assert type(second) is type(first)
    for direction in rng.normal(size=(5, first.dim)):
        assert second.support(direction) == first.support(direction)
    assert np.array_equal(second.bounds(), first.bounds())
    low, high = np.clip(first.bounds(), -5.0, 5.0)
    outcomes = rng.uniform(low, high, (200, first.dim))
    outcomes = np.vstack([outcomes, outcomes.round()])
    assert np.array_equal(second.contains(outcomes), first.contains(outcomes))


# -- round trips ---------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_every_set_comes_back(name):
    written = through_json(SETS[name].to_dict())
    again = sets.from_dict(written)
    assert_same(SETS[name], again)
    assert again.to_dict() == written


def test_no_set_class_is_forgotten():
    exported = {getattr(sets, name) for name in sets.__all__}
    concrete = {
        value.__name__
        for value in exported
        if inspect.isclass(value) and issubclass(value, sets.UncertaintySet)
        if not inspect.isabstract(value)
    }
    assert concrete == {type(value).__name__ for value in SETS.values()}


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_comes_back(name):
    written = through_json(loss_to_dict(LOSSES[name]))
    assert loss_from_dict(written) == LOSSES[name]
    assert loss_from_dict(written).needs == LOSSES[name].needs


def test_no_named_loss_is_forgotten_and_none_is_as_by_default():
    assert set(LOSSES) == {*losses.NAMES, "combined", "open"}
    bare = {name for name, loss in losses.NAMES.items() if loss() == LOSSES[name]}
    assert bare == {"nll", "cross_entropy", "hinge", "zero_one"}  # no parameters


def test_a_changed_parameter_is_seen():
    written = loss_to_dict(LOSSES["huber"])
    assert loss_from_dict(written | {"knee": 0.3334}) != LOSSES["huber"]


@pytest.mark.parametrize("name", PREDICTIONS)
def test_every_prediction_comes_back(name):
    said = PREDICTIONS[name]
    again = prediction_from_dict(through_json(prediction_to_dict(said)))
    assert type(again) is type(said)
    assert again.width == said.width
    assert np.array_equal(again.point, said.point)
    assert prediction_to_dict(again) == prediction_to_dict(said)


def test_class_names_keep_their_types():
    names = ["a", 3, 2.5, True, None, ("b", 2), "inf", -inf]
    value = sets.LabelSet((np.arange(8.0),), 3.0, [names])
    again = sets.from_dict(through_json(value.to_dict()))
    assert again.classes == (tuple(names),)
    assert [type(name) for name in again.classes[0]] == [type(name) for name in names]


def test_sets_of_a_trained_classifier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    Y = np.array(["low", "high"])[(X[:, 0] > 0).astype(int)]
    model = sl.LossSet(LogisticRegression(), loss="cross_entropy").fit(X[:60], Y[:60])
    value = model.calibrate(X[60:], Y[60:], alpha=0.2).predict_set(X[:1])[0]
    again = sets.from_dict(through_json(value.to_dict()))
    assert_same(value, again)
    assert again.labels() == value.labels()


finite = st.floats(-1e140, 1e140, allow_subnormal=True)
vectors = st.lists(finite, min_size=3, max_size=3)
positive = st.floats(1e-100, 1e100)


@st.composite
def random_sets(draw):
    center, other = np.array(draw(vectors)), np.array(draw(vectors))
    scale = [draw(positive) for _ in range(3)]
    law = np.array([draw(st.floats(1e-9, 1.0)) for _ in range(3)])
    budget = draw(st.floats(0.0, 1e100))
    return [
        sets.Box(np.minimum(center, other), np.maximum(center, other)),
        sets.Ellipsoid(center, scale, budget),
        sets.L1Ball(center, scale, budget),
        sets.Budget(center, scale, min(budget, 3.0)),
        sets.Finite([center, other]),
        sets.KLBall(law / law.sum(), min(budget, 1.0)),
        sets.VariationBall(law / law.sum() * (1 + 1e-8), min(budget, 2.0)),
        sets.Sublevel("gaussian", Prediction(center, np.array(scale)), budget),
    ]


@given(random_sets(), st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_support_comes_back_bit_for_bit(values, direction):
    with np.errstate(over="ignore", invalid="ignore"):
        for value in [*values, sets.Product(values), sets.Union(values)]:
            again = sets.from_dict(through_json(value.to_dict()))
            v = np.resize(direction, value.dim)
            reach = np.array([value.support(v), again.support(v)])
            assert np.array_equal(*reach.view(np.int64))


def test_fifteen_digits_would_be_caught():
    value = SETS["L1Ball"]
    shorter = json.loads(
        json.dumps(value.to_dict()),
        parse_float=lambda text: float(f"{float(text):.15g}"),
    )
    with pytest.raises(AssertionError):
        assert_same(value, sets.from_dict(shorter))


# -- what cannot be written -----------------------------------------------------------

CUSTOM = losses.Custom(lambda y, location: cp.norm(y - location, 3))


class OwnBox(sets.Box):
    """A set of the user's own making."""


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda: loss_to_dict(CUSTOM), r"Custom cannot be written.*code, not data"),
        (
            sets.Sublevel(CUSTOM, [0.0, 0.0], 1.0).to_dict,
            r"Sublevel\.loss cannot be written: Custom",
        ),
        (
            lambda: (DISC & sets.Sublevel(CUSTOM, [0.0, 0.0], 1.0)).to_dict(),
            r"Intersection\.sets\[1\]\.loss cannot be written",
        ),
        (
            lambda: loss_to_dict(losses.Combined(["squared", CUSTOM])),
            r"Combined\.losses\[1\] cannot be written",
        ),
        (OwnBox([0.0], [1.0]).to_dict, "OwnBox cannot be written"),
        (
            sets.LabelSet(([0.0, 1.0],), 1.0, [[date(2026, 1, 1), 2]]).to_dict,
            r"LabelSet\.classes\[0\]\[0\] cannot be written: date",
        ),
    ],
)
def test_code_is_not_written(write, message):
    with pytest.raises(InvalidParameter, match=message):
        write()


# -- what is refused when read --------------------------------------------------------

BOX = sets.Box([0.0, -inf], [1.0, 2.0]).to_dict()
BOTH = (DISC & TRIANGLE).to_dict()
SAID = SETS["Sublevel-combined"].to_dict()


def changed(written, *path, to):
    """A copy with one entry replaced, or removed where `to` is Ellipsis."""
    found = copy.deepcopy(written)
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return found


@pytest.mark.parametrize("wrong", [None, 3, "Box", [BOX], json.dumps(BOX)])
def test_only_dicts_are_read(wrong):
    with pytest.raises(InvalidParameter, match=r"must be a dict, got.*json\.load"):
        sets.from_dict(wrong)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (changed(BOX, "version", to=2), r"\['version'\].* must be 1, got 2"),
        (changed(BOX, "version", to=True), r"\['version'\].* must be 1, got True"),
        (changed(BOX, "version", to=...), r"\['version'\].* must be 1, got None"),
        (changed(BOX, "kind", to="Sphere"), r"\['kind'\].*'Box'.*got 'Sphere'"),
        (changed(BOX, "kind", to="os.system"), r"\['kind'\].*got 'os\.system'"),
        (changed(BOX, "kind", to=["Box"]), r"\['kind'\]"),
        (changed(BOX, "kind", to=...), r"\['kind'\].*got None"),
        (loss_to_dict(LOSSES["huber"]), r"\['kind'\].*got 'huber'"),
        (prediction_to_dict(NUMBERS), r"\['kind'\].*got 'Prediction'"),
        (changed(BOX, "lower", to=...), r"exactly the fields.*got no 'lower'"),
        (changed(BOX, "volume", to=2.0), r"exactly the fields.*got 'volume'"),
        (changed(BOX, "lower", to=None), r"written is not a Box.*lower"),
        (changed(BOX, "lower", to=[[0.0], 1.0]), r"not a Box: Box\(lower"),
        (changed(BOX, "lower", to=[0.0]), r"not a Box: Box\(upper.*shape \(1,\)"),
        (changed(BOX, "lower", 0, to="0.0"), r"\['lower'\]\[0\] must be a number"),
        (changed(BOX, "lower", 0, to=True), r"\['lower'\]\[0\] must be a number"),
        (changed(BOX, "lower", 0, to={"number": "nan"}), r"Box\(lower.*free of NaN"),
        (changed(BOX, "lower", 0, to=nan), r"Box\(lower.*free of NaN"),
        (changed(BOX, "lower", 0, to=5.0), r"lower <= upper"),
        (changed(BOX, "lower", 1, to={"number": "1e9"}), r"\['number'\].*'1e9'"),
        (changed(BOX, "lower", 1, to={"numer": "inf"}), r"\['lower'\]\[1\]\['kind'\]"),
        (changed(BOX, "lower", to={1.0}), r"\['lower'\] must be a list.*got set"),
        (changed(BOX, "lower", 0, to=10**400), r"written is not a Box"),
        (changed(BOTH, "sets", to=[]), r"not a Intersection: .*non-empty"),
        (changed(BOTH, "sets", 1, to=3.0), r"Intersection\(sets=.*got float"),
        (changed(BOTH, "sets", 1, to=BOX), r"\['sets'\]\[1\].*'version'"),
        (changed(BOTH, "sets", 0, "radius", to=-1.0), r"\['sets'\]\[0\] is not a Ell"),
        (changed(BOTH, "sets", 1, "b", to=[0, 0, -1]), r"\['sets'\]\[1\].*empty"),
        (changed(SAID, "loss", to="huber"), r"\['loss'\] must be a number"),
        (changed(SAID, "loss", to=None), r"not a Sublevel: loss must be"),
        (changed(SAID, "loss", "kind", to="Custom"), r"\['loss'\]\['kind'\]"),
        (changed(SAID, "loss", "losses", 1, "knee", to=0), r"\['losses'\]\[1\].*knee"),
        (changed(SAID, "loss", "weights", 0, to=-1), r"\['loss'\].*weights"),
        (changed(SAID, "prediction", "parts", to=[]), r"\['prediction'\].*parts"),
        (changed(SAID, "prediction", "parts", 0, to=2), r"list of predictions"),
        (
            changed(SAID, "prediction", "parts", 0, "location", to=[[1.0], 2.0]),
            r"\['parts'\]\[0\].*location",
        ),
        (
            changed(SAID, "prediction", "parts", 0, "scale", to=[1.0]),
            r"\['parts'\]\[0\].*scale.*shape \(3,\)",
        ),
        (changed(SAID, "prediction", "parts", 0, to=BOX), r"'version'"),
        (changed(SAID, "budget", to={"number": "nan"}), r"Sublevel\(budget"),
    ],
)
def test_what_is_not_right_is_named(written, message):
    with pytest.raises(InvalidParameter, match=message):
        sets.from_dict(written)


def test_labels_need_a_block_and_numbers():
    empty = {"version": 1, "kind": "LabelPrediction", "probabilities": None}
    with pytest.raises(InvalidParameter, match="must have a block"):
        prediction_from_dict(empty | {"margins": None})
    with pytest.raises(InvalidParameter, match=r"LabelPrediction.*margins"):
        prediction_from_dict(empty | {"margins": [[]]})


def test_a_loss_is_not_read_as_a_set_nor_a_set_as_a_loss():
    with pytest.raises(InvalidParameter, match=r"loss_from_dict.*'huber'.*got 'Box'"):
        loss_from_dict(BOX)
    with pytest.raises(InvalidParameter, match=r"prediction_from_dict.*got 'Box'"):
        prediction_from_dict(BOX)
