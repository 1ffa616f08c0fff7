"""What every public call says to arguments it cannot use, and nothing else.

Each row names a call and words that its refusal must have. A refusal is an error of
the library's own: NumPy's, CVXPY's or pandas' would speak of what the user never wrote.
"""

import datetime
import itertools
import random

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel.errors import NotRobustifiable, SublevelError
from sublevel.predictions import JointPrediction, LabelPrediction, Prediction

B, D, G, L, S, T = (
    sl.baselines,
    sl.drift,
    sl.guarantees,
    sl.losses,
    sl.sets,
    sl.theory,
)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = 2 + X + 0.1 * RNG.normal(size=(120, 2))
LABELS = np.where(X[:, 0] > 0, "a", "b")
TRAIN, CAL, NEW = slice(0, 40), slice(40, 90), slice(90, 100)
FRAME = pd.DataFrame(X, columns=["p", "q"])
OUTCOMES = pd.DataFrame(Y, columns=["u", "v"])
C = np.array([1.0, 2.0])
LAW = np.array([0.5, 0.3, 0.2])
SCORES = np.arange(1.0, 61.0)
BOX = S.Box(C, C + 1)
TRAINED = sl.LossSet(LinearRegression()).fit(X[TRAIN], Y[TRAIN])
SETS = sl.LossSet(TRAINED.model_).calibrate(X[CAL], Y[CAL], 0.2)
BATCH = SETS.predict_set(X[NEW])
CLASSES = sl.LossSet(LogisticRegression(), "cross_entropy").fit(
    X[TRAIN], (LABELS[TRAIN] == "a").astype(int)
)
R, W = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True, name="w")
PROBLEM = sl.RobustProblem(cp.Minimize(cp.sum(W)), [R @ W >= 1], {R: SETS})
POLICY = PROBLEM.compile()


def model(objective=None, *constraints):
    """A robust problem over a box, made and solved."""
    goal = cp.Minimize(cp.sum(W)) if objective is None else objective
    return sl.RobustProblem(goal, [R @ W >= 1, *constraints], {R: BOX}).solve()


def mask(values):
    """The same numbers with the first one masked."""
    return np.ma.array(
        values, mask=np.arange(np.size(values)).reshape(values.shape) == 0
    )


def first(values, stranger):
    """The same numbers as objects, the first one exchanged."""
    found = values.astype(object)
    found[(0,) * values.ndim] = stranger
    return found


#: Things that NumPy turns into numbers without a word, or trips over; and how each is
#: called in the refusal.
NO_NUMBERS = {
    "words": (lambda v: v.astype(str), "words"),
    "truth values": (lambda v: v > 0, "truth values"),
    "complex": (lambda v: v + 0j, "complex"),
    "dates": (lambda v: np.full(v.shape, np.datetime64("2020-01-01")), "dates"),
    "durations": (lambda v: v.astype("m8[D]"), "durations"),
    "masked": (mask, "masked"),
    "a word": (lambda v: first(v, "1.0"), "words such as '1.0'"),
    "a truth value": (lambda v: first(v, True), "truth values such as True"),
    "a date": (lambda v: first(v, datetime.datetime(2020, 1, 1)), "datetime"),
    "an object": (lambda v: object(), "object"),
    "a generator": (lambda v: (x for x in v), "generator"),
    "a set": (lambda v: {1.0, 2.0}, "(set|{1.0, 2.0})"),
    "a variable": (lambda v: cp.Variable(2), "."),
}
#: Where numbers come in; each takes an array like the one beside it.
DOORS = {
    "Box": (lambda v: S.Box(v, C + 9), C),
    "Budget": (lambda v: S.Budget(C, v, 1.0), C),
    "Ellipsoid.center": (S.Ellipsoid, C),
    "Ellipsoid.scale": (lambda v: S.Ellipsoid(C, v), C),
    "L1Ball": (S.L1Ball, C),
    "Finite": (S.Finite, np.ones((2, 2))),
    "Polytope": (
        lambda v: S.Polytope(np.vstack([np.eye(2), -np.eye(2)]), v),
        np.ones(4),
    ),
    "KLBall": (lambda v: S.KLBall(v, 0.1), LAW),
    "AffineImage": (lambda v: S.AffineImage(BOX, v), np.eye(2)),
    "LabelSet": (lambda v: S.LabelSet((v,), 1.0), C),
    "Sublevel": (lambda v: S.Sublevel("squared", v, 1.0), C),
    "contains": (BOX.contains, C),
    "support": (BOX.support, C),
    "worst_case": (BOX.worst_case, C),
    "Prediction": (Prediction, C),
    "Squared": (lambda v: L.Squared(weights=v), C),
    "Mahalanobis": (L.Mahalanobis, np.eye(2)),
    "score": (lambda v: L.Squared().score(C, v), C),
    "Marginal": (lambda v: G.Marginal().calibrate(v, 0.1), SCORES),
    "Weighted": (lambda v: G.Weighted(lambda X: v).calibrate(SCORES, 0.1, X), SCORES),
    "certify_cost": (G.certify_cost, SCORES),
    "Adaptive": (lambda v: D.Adaptive(v, 0.1), SCORES),
    "TheoremA": (
        lambda v: T.TheoremA(kappa=1.0, bias=0.0, spread=1.0).calibrate(v, 0.1),
        np.ones((9, 2)),
    ),
    "study_residuals": (T.study_residuals, Y[NEW]),
    "decay": (T.envelope.decay, C),
    "betting": (T.mean_bounds.betting, LAW),
    "fit": (lambda v: sl.LossSet(LinearRegression()).fit(X[TRAIN], v), Y[TRAIN]),
    "calibrate": (lambda v: SETS.scores(X[CAL], v), Y[CAL]),
    "batch": (BATCH.contains, Y[NEW]),
    "batch.support": (BATCH.support, C),
    "predict_set": (lambda v: SETS.predict_set(X[:2], budget=v), C),
    "a model": (lambda v: sl.LossSet(lambda X: v).scores(X[NEW], Y[NEW]), Y[NEW]),
    "Policy.grid": (lambda v: POLICY.envelope_scores(X[CAL], Y[CAL], v), C),
    "Policy.evaluate": (lambda v: POLICY.evaluate(X[NEW], v), Y[NEW]),
    "diagnose": (lambda v: sl.diagnose(SETS, X[NEW], v), Y[NEW]),
    "ClassicalEllipsoid": (lambda v: B.ClassicalEllipsoid().fit(X[TRAIN], v), Y[TRAIN]),
    "MeanVariance": (
        lambda v: sl.MeanVarianceRegressor().fit(X[TRAIN], v),
        Y[TRAIN][:, 0],
    ),
    "enclosing": (B.enclosing_ellipsoids, np.ones((1, 4, 2))),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_number_is_refused(door, kind):
    call, good = DOORS[door]
    spoil, words = NO_NUMBERS[kind]
    if (door, kind) == ("Prediction", "a variable"):
        # Models are written with these.
        assert isinstance(call(spoil(good)).location, cp.Expression)
        return
    with pytest.raises(SublevelError, match=rf"(?s)must.*{words}|got.*{words}|{kind}"):
        call(spoil(good))


#: Single numbers: what is none, and who refuses it.
NO_NUMBER = [
    None, "0.1", True, np.True_, np.nan, -1.0, 0.1 + 1j, np.datetime64("2020-01-01"),
    np.timedelta64(1, "D"), [], [0.1, 0.2], np.ma.masked, object(), pd.NA, pd.NaT,
    b"1", 10**400,
]  # fmt: skip
NUMBER_DOORS = {
    "radius": lambda v: S.Ellipsoid(C, 1.0, v),
    "gamma": lambda v: S.Budget(C, C, v),
    "tol": lambda v: BOX.contains(C, v),
    "batch tol": lambda v: BATCH.contains(Y[NEW], v),
    "knee": L.Huber,
    "quantile": L.Pinball,
    "alpha": lambda v: G.Marginal().calibrate(SCORES, v),
    "delta": G.PAC,
    "calibrate": lambda v: TRAINED.calibrate(X[CAL], Y[CAL], v),
    "kappa": lambda v: T.TheoremA(kappa=v, bias=0.0, spread=1.0),
    "gamma of Adaptive": lambda v: D.Adaptive(SCORES, 0.1, v),
    "block": lambda v: D.Monitor(0.1, block=v),
    "sample": BOX.sample,
    "sample_size": lambda v: G.Marginal().rank(v, 0.1),
    "shape": sl.Uncertain,
}


@pytest.mark.parametrize("door", NUMBER_DOORS)
def test_what_is_not_one_number_is_refused(door):
    accepted, unclear = [], []
    for value in NO_NUMBER:
        if door == "shape" and isinstance(value, list) and not value:
            # No entries of a shape are those of a scalar.
            continue
        try:
            NUMBER_DOORS[door](value)
        except SublevelError as error:
            unclear += [] if "must" in str(error) else [error]
        else:
            accepted.append(value)
    assert not accepted
    assert not unclear


#: A call, and words its refusal must have.
CALLS = {
    "nan in Y": (lambda: SETS.scores(X[NEW], Y[NEW] * np.nan), "NaN in row 0"),
    "sparse": (lambda: S.Finite(sp.eye(2).tocsr()), "toarray"),
    "sparse Y": (lambda: SETS.scores(X[:2], sp.eye(2).tocsr()), "toarray"),
    "huge": (lambda: S.Box([0.0], [1e308]), "at most 1e\\+140.*larger units"),
    "huge radius": (lambda: S.Ellipsoid([0.0], radius=1e308), "at most"),
    "a list in itself": (
        lambda: S.Finite((lambda v: (v.append(v), v)[1])([])),
        "levels deep",
    ),
    "3-d": (lambda: Prediction(np.zeros((1, 1, 1))), r"\(m,\).*\(n, m\)"),
    "0-d": (lambda: Prediction(1.0), r"\(m,\).*\(n, m\)"),
    "scale": (lambda: Prediction(C, np.ones(3)), "like the location"),
    "flat laws": (lambda: LabelPrediction(LAW), r"tuple of arrays.*\(array,\)"),
    "no law": (
        lambda: S.sublevel_set(
            L.CrossEntropy(), LabelPrediction((np.array([0.5, 0.7]),)), 1.0
        ),
        "sum to 1",
    ),
    "joint": (lambda: JointPrediction((C,)), "tuple of predictions"),
    "seed": (lambda: BOX.sample(1, "a"), "random_state.*np.random.Generator"),
    "complex outcome": (
        lambda: BOX.constraints(cp.Variable(2, complex=True)),
        "real.*cp.real",
    ),
    "classes": (lambda: S.LabelSet((C,), 1.0, 3), "list of names for each block"),
    "score width": (lambda: L.Squared().score(C, np.ones(3)), "as many components"),
    "Combined": (lambda: L.Combined("squared"), "list of losses"),
    "concave": (
        lambda: L.Custom(lambda y, m: -cp.sum_squares(y - m)).score(C, C),
        "convex in y",
    ),
    "level": (lambda: G.Marginal().level(9, 3), "at least 9"),
    "candidates": (lambda: G.PAC(0.1, 2.0), "whole number"),
    "certificate": (
        lambda: G.Certificate.from_dict(
            {**G.Marginal().certify(SCORES, 0.1).to_dict(), "alpha": "0.1"}
        ),
        "'alpha'",
    ),
    "masked groups": (
        lambda: G.Mondrian(lambda X: mask(SCORES % 2)).calibrate(SCORES, 0.1, X),
        "masked",
    ),
    "watch": (lambda: D.Monitor(0.1).watch(["yes"]), "true or false, got 'yes'"),
    "watch masked": (lambda: D.Monitor(0.1).watch(mask(C)), "masked entries"),
    "update": (lambda: D.Adaptive(SCORES, 0.1).update(pd.NA), "true or false"),
    "update score": (
        lambda: D.Adaptive(SCORES, 0.1).update(True, "3"),
        "score.*must be a number",
    ),
    "corrected": (lambda: T.PaperFirst("yes"), "True or False"),
    "rows of a model": (
        lambda: sl.LossSet(lambda X: X.sort_values("p")).scores(FRAME, OUTCOMES),
        r"in the order of X.*\.loc\[X.index\]",
    ),
    "rows it numbered": (
        lambda: sl.LossSet(lambda X: pd.DataFrame(X)[::-1]).scores(X, Y),
        "in the order of X",
    ),
    "rows of Y": (
        lambda: SETS.scores(FRAME.to_numpy(), OUTCOMES[:3]),
        "as many rows, got 120 and 3",
    ),
    "order of Y": (
        lambda: sl.LossSet(lambda X: X).calibrate(FRAME, OUTCOMES[::-1], 0.2),
        "LossSet.calibrate: Y must have its rows in the order of X",
    ),
    "order of Y in fit": (
        lambda: sl.LossSet(LinearRegression()).fit(FRAME, OUTCOMES[::-1]),
        "LossSet.fit: Y must have its rows in the order of X",
    ),
    "masked X": (lambda: SETS.predict_set(mask(X)), "masked"),
    "X is nothing": (lambda: SETS.predict_set(None), "must have rows, got None"),
    "a spread too many": (
        lambda: sl.LossSet(lambda X: (X, X, X), "gaussian").scores(X, Y),
        "pair",
    ),
    "True for 1": (lambda: CLASSES.scores(X[:2], [True, False]), "never seen"),
    "unhashable": (lambda: CLASSES.scores(X[:1], [[{}]]), "."),
    "rows of a batch": (lambda: BATCH[1.5], "row number, a slice"),
    "not fitted": (lambda: sl.LossSet(LinearRegression()).predict(X), "not fitted"),
    "not calibrated": (lambda: TRAINED.predict_set(X), "calibrate"),
    "diagnose": (lambda: sl.diagnose(BOX, X, Y), "fitted LossSet, got Box"),
    "widths": (
        lambda: sl.ModelBlocks([LinearRegression()] * 2, ["1", "1"]).fit(X, Y),
        "its columns of Y",
    ),
    "shared": (
        lambda: sl.SharedModel(3).fit(X[:, :, None], Y),
        r"SharedModel\(model=...\) must be",
    ),
    "mean": (
        lambda: sl.MeanVarianceRegressor(mean=[]).fit(X, Y[:, 0]),
        "estimator with fit",
    ),
    "spread": (lambda: B.ClassicalEllipsoid(spread=C).fit(X, Y), "'diagonal', 'full'"),
    "neighbours": (lambda: B.NearestEllipsoid(True).fit(X, Y), "whole number from 1"),
    "kernel": (lambda: B.KernelWeights(kernel=[]).fit(X, Y), "must be one of"),
    "forest": (lambda: B.ForestWeights([]).fit(X, Y), "fit and apply"),
    "weights of None": (lambda: B.NearestWeights(3).fit(X, Y).sample(None), "rows"),
    "seed of a split": (
        lambda: B.ConformalEllipsoid(LinearRegression(), random_state=-1).fit(X, Y),
        "random_state",
    ),
    "bounds": (lambda: B.TwoStage(bounds=3).fit(X, Y), "baselines.Bounds or None"),
    "truth": (lambda: B.TrueMoments(3, np.ones_like).predict_set(X), "a function of X"),
    "law": (lambda: B.TrueLaw("normal"), "a function"),
    "clairvoyant": (lambda: B.Clairvoyant(3), "a RobustProblem, got 3"),
    "scheme": (lambda: B.WeightedSample(PROBLEM, 3), "sample\\(X\\)"),
    "two kinds": (
        lambda: B.PhiDivergence().fit(X[:2], np.array([1, "a"], dtype=object)),
        "labels of one kind",
    ),
    "name": (lambda: sl.Uncertain(2, name=3), "must be a word, got 3"),
    "twice": (
        lambda: sl.RobustProblem(PROBLEM.objective, [], {R: BOX, (R,): BOX}),
        "each Uncertain once",
    ),
    "nothing to decide": (
        lambda: sl.RobustProblem(cp.Minimize(cp.sum(R)), [], {R: BOX}),
        "must have a cp.Variable",
    ),
    "no value": (
        lambda: model(None, cp.sum(W) <= cp.Parameter(name="p")),
        "'p' must have a value",
    ),
    "not DCP": (lambda: model(cp.Minimize(cp.sqrt(W[0]))), "DCP"),
    "not DCP row": (lambda: model(None, cp.sqrt(W[0]) <= 1), "DCP"),
    "nan": (lambda: model(None, cp.sum(W) <= np.nan), "free of NaN"),
    "nan in the sparse": (
        lambda: model(None, sp.csr_matrix([[np.nan, 1.0]]) @ W <= 1),
        "free of NaN",
    ),
    "complex variable": (
        lambda: model(None, cp.abs(cp.Variable(complex=True)) <= 1),
        "is complex. Write its real and imaginary parts",
    ),
    "complex parameter": (
        lambda: model(None, cp.abs(cp.Parameter(complex=True)) * W[0] <= 1),
        "is complex",
    ),
    "choice of the outcome": (
        lambda: model(None, cp.FiniteSet(R @ W, [1.0, 2.0])),
        "cannot be made robust",
    ),
    "engine": (lambda: PROBLEM.solve(X[:1], engine=C), "'auto', 'dual', 'cuts'"),
    "solver": (lambda: PROBLEM.solve(X[:1], solver=[]), "name of a solver"),
    "whose budget": (lambda: PROBLEM.largest_budget(X[:1], "r"), "key of type str"),
    "audit": (lambda: PROBLEM.audit(3, X[:1]), "dict from variables"),
    "audit of words": (lambda: PROBLEM.audit({"w": "a"}, X[:1]), "must be numeric"),
    "audit of shape": (
        lambda: PROBLEM.audit({W: np.ones(3)}, X[:1]),
        r"of shape \(2,\)",
    ),
    "one dimension": (lambda: POLICY.decide(Prediction(C)), r"of shape \(n, m\)"),
    "predictions": (lambda: POLICY.decide({"r": 3}), "to Predictions, got 3 for 'r'"),
    "of blocks": (
        lambda: POLICY.decide(JointPrediction((Prediction(Y),))),
        "must be a Prediction for the loss Squared",
    ),
    "method": (
        lambda: POLICY.calibrate(X[CAL], Y[CAL], method=C),
        "method.*must be one of",
    ),
    "given_decided": (
        lambda: POLICY.calibrate(X[CAL], Y[CAL], given_decided=C),
        "True or False",
    ),
    "chunk": (lambda: POLICY.decide(X[NEW], chunk=0.5), "chunk.*whole number"),
    "n_jobs": (lambda: POLICY.decide(X[NEW], n_jobs="a"), "n_jobs.*whole number"),
    "no workers": (lambda: POLICY.decide(X[NEW], n_jobs=0), "n_jobs.*other than 0"),
    "progress": (lambda: POLICY.decide(X[NEW], progress="yes"), "True or False"),
    "trusted": (lambda: POLICY.decide(X[NEW], trusted="yes"), "True or False"),
    "alphas": (
        lambda: POLICY.frontier(X[CAL], Y[CAL], X[NEW], Y[NEW], ["0.1"]),
        "alphas.*words",
    ),
    "at": (lambda: POLICY.at(np.timedelta64(1, "D")), "must be a number"),
    "value": (lambda: POLICY.decide(X[NEW]).value(3), "by its name or object, got 3"),
    "context": (lambda: POLICY.decide(X[NEW])["w"], "must be a whole number"),
    "fallback": (
        lambda: POLICY.calibrate(X[CAL], Y[CAL], fallback={W: [True, True]}),
        "truth values",
    ),
    "fallback for": (
        lambda: POLICY.calibrate(X[CAL], Y[CAL], fallback={3: 1.0}),
        "a value for each variable",
    ),
    "rule": (lambda: sl.affine_rule(R, sees=[[1], [1, 2]]), "sees"),
    "rule sign": (lambda: sl.affine_rule(R, nonneg="yes"), "True or False"),
    "oracle": (lambda: sl.robust.Oracle("2", np.sign), "dim.*whole number"),
    "oracle function": (lambda: sl.robust.Oracle(2, 3), "must be a function"),
    "oracle answer": (
        lambda: sl.RobustProblem(
            PROBLEM.objective,
            [R @ W >= 1, W <= 9],
            {R: sl.robust.Oracle(2, lambda v: ["1", "2"])},
        ).solve(),
        "oracle for 'r'.*numeric",
    ),
    "rounds": (lambda: sl.robust.Cuts(max_rounds=2.5), "integer of at least 1"),
    "scenarios": (lambda: sl.robust.Cuts(scenarios={R: "a"}), "scenarios.*numeric"),
    "order in evaluate": (
        lambda: sl.RobustProblem(
            PROBLEM.objective, PROBLEM.constraints, {R: sl.LossSet(lambda X: X)}
        )
        .compile()
        .evaluate(FRAME, OUTCOMES[::-1]),
        "in the order of X",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_refusal_names_what_is_wrong(name):
    call, words = CALLS[name]
    with pytest.raises(SublevelError, match=f"(?s){words}"):
        call()


def test_what_looks_odd_and_is_right_is_taken():
    """The other side of the refusals: none of them may catch these."""
    assert S.Box([1, 2], np.array([3, 4], dtype=object)).dim == 2
    assert S.Box(pd.Series([1.0]), np.ma.array([2.0])).contains([1e308]) is False
    assert S.Box([0.0], [np.inf]).support([1.0]) == np.inf
    assert np.isinf(L.Poisson().score(np.ones(1), np.array([np.inf])))
    shuffled = FRAME.sample(frac=1.0, random_state=0)
    same = sl.LossSet(lambda X: X.to_numpy()).scores(shuffled, Y)
    np.testing.assert_array_equal(
        same, sl.LossSet(lambda X: X).scores(shuffled, Y.tolist())
    )
    chosen = cp.Variable(2)
    choice = [chosen >= -0.7, chosen <= 3, cp.FiniteSet(chosen[0], [-0.5, 1.0])]
    least = sl.RobustProblem(cp.Minimize(R @ chosen), choice, {R: BOX}).solve()
    np.testing.assert_allclose(least.value(chosen), [-0.5, -0.7], atol=1e-6)


@pytest.mark.parametrize("sign", ["diag", "symmetric", "PSD"])
def test_matrix_variables_are_decided_as_declared(sign):
    prices = sl.Uncertain((2, 2), name="prices")
    matrix = cp.Variable((2, 2), name="matrix", **{sign: True})
    few = S.Finite([[1.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 1.0]])
    limit = [cp.trace(prices @ matrix) <= 1, cp.diag(matrix) >= 0]
    off = [] if sign == "diag" else [matrix[0, 1] == 0]
    problem = sl.RobustProblem(
        cp.Maximize(cp.trace(matrix)), limit + off, {prices: few}
    )
    for decision in (problem.solve(), problem.compile().decide()[0]):
        np.testing.assert_allclose(
            decision.value(matrix), np.diag([0.0, 1.0]), atol=1e-5
        )


@pytest.mark.parametrize("far", [1e7, 1e12, 1e300])
def test_diagnose_returns_however_wrong_the_model(far):
    found = sl.diagnose(SETS, X[NEW], Y[NEW] + far)
    assert "calibration points" in str(found)


#: What a file may hold in place of what was written.
JUNK = [
    None, True, "a", "inf", 0, -1, 10**400, 1e308, np.nan, np.inf, [], {}, [[]],
    {"number": "nan"}, {"number": []}, [1.0, "a"], [[1.0], [1.0, 2.0]], {"kind": "Box"},
    {"kind": []}, {"kind": "Box", "lower": [0.0], "upper": [1.0]}, 1j, b"a", object(),
    {"kind": "squared", "weights": None}, [None], np.zeros(2), "x" * 1000,
    {"kind": "Prediction", "location": 3.0, "scale": None},
]  # fmt: skip
WRITTEN = [
    region.to_dict()
    for region in (
        BOX,
        S.Budget(C, C, 1.0),
        S.Ellipsoid(C, np.eye(2)),
        S.Finite(np.eye(2)),
        S.KLBall(LAW, 0.1),
        S.AffineImage(BOX, np.eye(2)),
        S.LabelSet(([0.1, 0.9],), 1.0, [["a", "b"]]),
        S.Sublevel(L.Huber(1.0), Prediction(C, C), 1.0),
        S.Product((BOX, S.Ellipsoid(C))) & S.Box([0.0] * 4, [2.0] * 4),
    )
]


def places(written, path=()):
    """The way to every part of what was written."""
    yield path
    if not isinstance(written, dict | list):
        return
    for key in written if isinstance(written, dict) else range(len(written)):
        yield from places(written[key], (*path, key))


def exchanged(written, path, junk):
    """The same with another part at one place."""
    if not path:
        return junk
    found = written.copy()
    found[path[0]] = exchanged(found[path[0]], path[1:], junk)
    return found


def test_a_spoiled_dict_is_refused_or_a_set():
    rng, refused = random.Random(0), 0
    for written, _ in itertools.product(WRITTEN, range(80)):
        path = rng.choice(list(places(written)))
        try:
            found = S.from_dict(exchanged(written, path, rng.choice(JUNK)))
        except SublevelError:
            refused += 1
        else:
            assert not np.isnan(found.support(np.ones(found.dim)))
    assert refused > 400


def union_of(part, times):
    return {"kind": "Union", "sets": [part] * times}


def test_what_is_nested_or_shared_without_end_is_refused_at_once():
    box = {"kind": "Box", "lower": [0.0], "upper": [1.0]}
    deep, shared = box, box
    for _ in range(3000):
        deep = union_of(deep, 1)
    for _ in range(20):
        shared = union_of(shared, 2)
    itself = union_of(None, 1)
    itself["sets"] = [itself]
    wide = {**box, "lower": [0.0] * 3000, "upper": [1.0] * 3000}
    for part in (deep, shared, itself, union_of(wide, 8000)):
        with pytest.raises(SublevelError, match="at most 50 levels, 10000 sets"):
            S.from_dict({"version": 1, **part})
    few = union_of(union_of(box, 3), 3)
    assert S.from_dict({"version": 1, **few}).support([1.0]) == 1.0


def test_complex_data_is_no_robust_model():
    with pytest.raises(NotRobustifiable, match="two real variables"):
        model(cp.Minimize(cp.abs(cp.Variable(complex=True)) + cp.sum(W)))
