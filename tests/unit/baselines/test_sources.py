"""Each source of sets: its paper's statement by hand, what it promises, its errors."""

from math import ceil, exp, log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import sublevel as sl
from sublevel import baselines
from sublevel.baselines import (
    Bounds,
    ClassicalEllipsoid,
    ConformalEllipsoid,
    NearestEllipsoid,
    PhiDivergence,
    PointPrediction,
    PredictThenCalibrateBox,
    PredictThenCalibrateEllipsoid,
    SmartPrediction,
    TrueMoments,
    TwoStage,
)
from sublevel.errors import InvalidParameter, NotCalibrated
from sublevel.guarantees import classical, divergences
from sublevel.loss_set import SetSource


def draw(n, rng, p=2, m=3):
    X = rng.uniform(-1, 1, (n, p))
    noise = (0.2 + np.abs(X[:, :1])) * rng.normal(size=(n, m))
    return X, X @ np.arange(1.0, p * m + 1).reshape(p, m) / 3 + noise


def zero(X):
    return np.zeros((len(X), 1))


# -- predict, then optimise ----------------------------------------------------------


def test_a_point_is_the_prediction():
    X, Y = draw(50, np.random.default_rng(0))
    points = PointPrediction(LinearRegression()).fit(X, Y)
    said = LinearRegression().fit(X, Y).predict(X[:4])
    lower, upper = points.predict_set(X[:4]).bounds()
    assert lower == pytest.approx(said)
    assert upper == pytest.approx(said)
    assert points.certificate_.alpha == 1.0
    assert points.certificate_.heuristic


def test_a_classifier_gives_its_probabilities():
    X, Y = draw(80, np.random.default_rng(0))
    labels = np.where(Y[:, 0] > 0, "up", "down")
    points = PointPrediction(LogisticRegression()).fit(X, labels)
    batch = points.predict_set(X[:3])
    proba = LogisticRegression().fit(X, labels).predict_proba(X[:3])
    assert batch.bounds()[0] == pytest.approx(proba)
    assert batch.names == ("y0=down", "y0=up")
    assert batch.outcomes.encode(["up"]).tolist() == [[0.0, 1.0]]


def test_a_trained_model_needs_no_fit_and_an_untrained_one_does():
    X, Y = draw(50, np.random.default_rng(0))
    model = LinearRegression().fit(X, Y)
    assert PointPrediction(model).predict_set(X[:2]).bounds()[0].shape == (2, 3)
    with pytest.raises(NotCalibrated, match="needs a trained model"):
        PointPrediction(LinearRegression()).predict_set(X)


def test_spo_plus_decides_like_the_truth_where_it_can():
    pytest.importorskip("torch")
    from sublevel.models.nets import SimplexOracle

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    rewards = np.column_stack([X[:, 0], X[:, 1]])
    points = SmartPrediction(SimplexOracle(), rewards=True).fit(X, rewards)
    best = points.predict_set(X).bounds()[0].argmax(axis=1)
    assert np.mean(best == rewards.argmax(axis=1)) > 0.95
    costs = SmartPrediction(SimplexOracle()).fit(X, rewards)
    least = costs.predict_set(X).bounds()[0].argmin(axis=1)
    assert np.mean(least == rewards.argmin(axis=1)) > 0.95
    with pytest.raises(NotCalibrated, match="needs a trained network"):
        SmartPrediction(SimplexOracle()).predict_set(X)


# -- the classical ellipsoid ---------------------------------------------------------


def test_the_classical_ellipsoid_by_hand():
    Y = np.array([[0.0, 10.0], [2.0, 10.0], [1.0, 16.0], [1.0, 4.0]])
    sets = ClassicalEllipsoid(alpha=0.05).fit(np.zeros((4, 1)), Y)
    deviations = [sqrt(2 / 3), sqrt(24)]
    assert sets.mean_ == pytest.approx([1.0, 10.0])
    assert sets.scale_ == pytest.approx(deviations)
    assert sets.radius_ == pytest.approx(2.448, abs=5e-4)
    support = sets.predict_set(np.zeros((3, 1))).support([1.0, 1.0])
    reach = sqrt(2 * log(20)) * np.hypot(*deviations)
    assert support == pytest.approx(np.full(3, 11.0 + reach))


def test_the_full_covariance_is_that_of_the_outcomes():
    Y = np.random.default_rng(0).normal(size=(40, 3)) @ np.triu(np.ones((3, 3)))
    sets = ClassicalEllipsoid(0.1, spread="full").fit(np.zeros((40, 1)), Y)
    direction = np.array([1.0, -2.0, 0.5])
    reach = sqrt(2 * log(10) * (direction @ np.cov(Y.T) @ direction))
    support = sets.predict_set(np.zeros((1, 1))).support(direction)[0]
    assert support == pytest.approx(Y.mean(axis=0) @ direction + reach)


def test_its_level_is_a_heuristic_until_someone_vouches_for_it():
    X, Y = draw(30, np.random.default_rng(0))
    assert ClassicalEllipsoid(0.1).fit(X, Y).certificate_.heuristic
    vouched = ClassicalEllipsoid(0.1, asserted=True).fit(X, Y).certificate_
    assert not vouched.heuristic
    assert any("sub-Gaussian" in said for said in vouched.assumptions)


def test_its_level_holds_for_normal_outcomes_and_a_smaller_one_does_not():
    # One fixed direction: the bound exp(-r^2 / 2) is far above the normal tail.
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40_000, 3))
    sets = ClassicalEllipsoid(0.1).fit(np.zeros((40_000, 1)), Y)
    region = sets.predict_set(np.zeros((1, 1)))[0]
    fresh, direction = rng.normal(size=(40_000, 3)), np.array([1.0, 2.0, -1.0])
    hits = int(np.sum(fresh @ direction > region.support(direction)))
    assert hits <= binom.isf(1e-6, 40_000, 0.1)
    assert hits > binom.isf(1e-6, 40_000, 0.01)


def test_the_classical_ellipsoid_refuses():
    X, Y = draw(30, np.random.default_rng(0))
    with pytest.raises(
        InvalidParameter, match=r"must be one of \('diagonal', 'full'\)"
    ):
        ClassicalEllipsoid(spread="round").fit(X, Y)
    with pytest.raises(InvalidParameter, match="constant column 1"):
        ClassicalEllipsoid().fit(X[:, :1], np.column_stack([Y[:, 0], np.ones(30)]))
    with pytest.raises(InvalidParameter, match="at least 2 rows"):
        ClassicalEllipsoid().fit(X[:1], Y[:1])
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        ClassicalEllipsoid(alpha=1.0).fit(X, Y)


# -- distributionally robust optimisation --------------------------------------------

LABELS = ["a"] * 50 + ["b"] * 30 + ["c"] * 20
CONTEXTS = np.zeros((100, 1))


@pytest.mark.parametrize(
    "name, formula",
    [
        ("kl", lambda p, q: np.sum(p * np.log(p / q))),
        ("burg", lambda p, q: np.sum(q * np.log(q / p))),
        ("chi_square", lambda p, q: np.sum((p - q) ** 2 / p)),
        ("modified_chi_square", lambda p, q: np.sum((p - q) ** 2 / q)),
        ("hellinger", lambda p, q: np.sum((np.sqrt(p) - np.sqrt(q)) ** 2)),
    ],
)
def test_chi_square_radii_match_the_quadratic_form(name, formula):
    # 2 N / phi''(1) times the divergence is chi-square with k - 1 degrees of freedom:
    # near q every divergence is phi''(1) / 2 times sum (p - q)^2 / q.
    sets = PhiDivergence(name, alpha=0.05, rule="asymptotic").fit(CONTEXTS, LABELS)
    q = np.array([0.5, 0.3, 0.2])
    step = 1e-4 * np.array([1.0, -0.5, -0.5])
    curvature = 2 * formula(q + step, q) / np.sum(step**2 / q)
    from scipy.stats import chi2

    assert sets.budget_ == pytest.approx(
        curvature / (2 * 100) * chi2.ppf(0.95, 2), rel=1e-3
    )
    assert sets.probabilities_ == pytest.approx(q)
    assert sets.set_.contains(q + step)
    # The law is covered, the next outcome is not.
    assert not sets.predict_set(CONTEXTS[:3]).contains(["a", "b", "c"]).any()


def test_corrected_and_exact_radii_are_those_of_the_guarantees():
    q = np.array([0.5, 0.3, 0.2])
    corrected = PhiDivergence("hellinger", 0.1).fit(CONTEXTS, LABELS)
    expected = divergences.HELLINGER.corrected_radius(0.1, 100, q)
    assert corrected.budget_ == expected
    assert corrected.certificate_.heuristic
    for name, radius in (
        ("burg", divergences.burg_radius(0.1, 100, 3)),
        ("variation", divergences.variation_radius(0.1, 100, 3)),
    ):
        exact = PhiDivergence(name, 0.1, rule="exact").fit(CONTEXTS, LABELS)
        assert exact.budget_ == radius
        assert not exact.certificate_.heuristic
        assert "law of the scenarios" in exact.certificate_.event


def test_the_exact_ball_holds_the_law_and_one_of_a_tenth_does_not():
    rng, law, n = np.random.default_rng(0), np.array([0.5, 0.3, 0.2]), 60
    frequencies = rng.multinomial(n, law, size=4000) / n
    missed = np.abs(frequencies - law).sum(axis=1)
    names = np.array(["a", "b", "c"])
    drawn = np.repeat(names, (frequencies[0] * n).round().astype(int))
    sets = PhiDivergence("variation", 0.1, rule="exact").fit(np.zeros((n, 1)), drawn)
    most = binom.isf(1e-6, 4000, 0.1)
    assert np.sum(missed > sets.budget_) <= most
    assert np.sum(missed > 0.1 * sets.budget_) > most


def test_phi_divergence_refuses():
    with pytest.raises(InvalidParameter, match="must be one of"):
        PhiDivergence("euclid").fit(CONTEXTS, LABELS)
    with pytest.raises(InvalidParameter, match=r"one of \['exact'\] for 'variation'"):
        PhiDivergence("variation").fit(CONTEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="for 'kl', got 'exact'"):
        PhiDivergence("kl", rule="exact").fit(CONTEXTS, LABELS)
    with pytest.raises(InvalidParameter, match="at least 2 scenarios"):
        PhiDivergence().fit(CONTEXTS, ["a"] * 100)
    with pytest.raises(InvalidParameter, match="one column of labels"):
        PhiDivergence().fit(CONTEXTS, np.zeros((100, 2)))


def test_whole_numbers_are_labels_here():
    sets = PhiDivergence().fit(CONTEXTS, [1] * 60 + [10] * 40)
    assert sets.classes_.tolist() == [1, 10]
    assert sets.probabilities_.tolist() == [0.6, 0.4]


# -- nearest neighbours --------------------------------------------------------------


def test_neighbours_outcomes_are_enclosed_and_no_others_count():
    X, Y = draw(300, np.random.default_rng(0))
    sets = NearestEllipsoid(n_neighbors=25).fit(X, Y)
    batch = sets.predict_set(X[:5])
    for i, region in enumerate(batch):
        order = np.argsort(np.linalg.norm(X - X[i], axis=1))
        assert region.contains(Y[order[:25]]).all()
        far = Y.copy()
        far[order[25:]] += 1.0
        again = NearestEllipsoid(n_neighbors=25).fit(X, far).predict_set(X[i : i + 1])
        assert again[0].center == pytest.approx(region.center, abs=1e-3)
    assert not sets.flat(X).any()


def test_a_budget_stretches_the_ellipsoid():
    X, Y = draw(100, np.random.default_rng(0))
    sets = NearestEllipsoid(20).fit(X, Y)
    once, twice = sets.predict_set(X[:1]), sets.predict_set(X[:1], budget=4.0)
    assert twice[0].radius == 2 * once[0].radius
    assert twice[0].center == pytest.approx(once[0].center)


@pytest.mark.parametrize("k", [1, 3])
def test_fewer_neighbours_than_dimensions_are_thickened_and_said_to_be(k):
    X, Y = draw(100, np.random.default_rng(0))
    sets = NearestEllipsoid(n_neighbors=k).fit(X, Y)
    assert sets.flat(X[:4]).all()
    assert "thickened" in sets.certificate_.note
    nearest = np.argsort(np.linalg.norm(X - X[7], axis=1))[:k]
    region = sets.predict_set(X[7:8])[0]
    assert region.contains(Y[nearest]).all()
    thin = np.linalg.svd(region.scale / Y.std(axis=0)[:, None], compute_uv=False)[-1]
    assert 1e-3 <= thin <= 1e-2


def test_flat_outcomes_are_thickened_only_where_they_are_flat():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    Y = rng.normal(size=(200, 2))
    flat = X[:, 0] < 0.5
    Y[flat, 1] = Y[flat, 0]
    sets = NearestEllipsoid(n_neighbors=15).fit(X, Y)
    assert sets.flat([[0.1], [0.9]]).tolist() == [True, False]
    thickness = sets.predict_set([[0.1]]).support([1.0, -1.0])[0]
    assert 0 < thickness < 0.05


def test_the_number_of_shaping_points_bounds_the_level_of_equal_contexts():
    # Contexts that tell nothing: neighbours and the new outcome are exchangeable, and
    # at most m (m + 3) / 2 of k + 1 shape the ellipsoid.
    rng, k, m = np.random.default_rng(0), 40, 2
    Y = rng.normal(size=(3000, k + 1, m))
    from sublevel.baselines import enclosing_ellipsoids

    centres, factors = enclosing_ellipsoids(Y[:, :k])
    unit = np.linalg.solve(factors, (Y[:, k] - centres)[:, :, None])
    outside = int(np.sum(np.sum(unit**2, axis=(1, 2)) > 1))
    sets = NearestEllipsoid(k).fit(np.zeros((50, 1)), Y[0, [0] * 10 + [*range(40)]])
    assert sets.certificate_.alpha == pytest.approx(5 / 41)
    assert sets.certificate_.heuristic
    assert outside <= binom.isf(1e-6, 3000, 5 / 41)
    # Half the points would have to shape it twice as often: the test can fail.
    assert outside > binom.isf(1e-6, 3000, 2.5 / 82)


def test_nearest_ellipsoid_refuses():
    X, Y = draw(30, np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match=r"from 1 to the 30 past .*, got 31"):
        NearestEllipsoid(31).fit(X, Y)
    with pytest.raises(InvalidParameter, match="thickness"):
        NearestEllipsoid(5, thickness=0.0).fit(X, Y)
    assert NearestEllipsoid().fit(X, Y).n_neighbors_ == 8


# -- predict, then calibrate ---------------------------------------------------------


def constant(value):
    return DummyRegressor(strategy="constant", constant=value)


def test_the_box_by_hand():
    # A fitted model leaves all rows to the residuals; the second half calibrates. With
    # a constant model of their size the half-width is their 90-th smallest of 100.
    X, Y = np.zeros((200, 1)), np.random.default_rng(5).permutation(200)[:, None] + 1.0
    sets = PredictThenCalibrateBox(zero, 0.1, constant(2.0)).fit(X, Y)
    third = np.random.default_rng(0).permutation(200)[100:]
    width = np.sort(Y[third, 0])[89]
    assert sets.predict_set(X[:1]).support([1.0])[0] == width
    assert sets.budget_ == width / 2
    certificate = sets.certificate_
    assert (certificate.sample_size, certificate.rank) == (100, 90)
    assert certificate.alpha == pytest.approx(11 / 101)


@pytest.mark.parametrize(
    "kind", [PredictThenCalibrateBox, PredictThenCalibrateEllipsoid]
)
def test_the_factor_holds_a_share_of_the_third_part_and_no_less(kind):
    X, Y = draw(400, np.random.default_rng(0))
    sets = kind(LinearRegression(), alpha=0.1).fit(X, Y)
    order = np.random.default_rng(0).permutation(400)[:200]
    third = order[100:]
    batch = sets.predict_set(X[third])
    scores = sets.loss_.score(batch.prediction, Y[third])
    assert np.sum(scores <= sets.budget_) == 90
    assert np.sum(scores < sets.budget_) == 89
    assert batch.contains(Y[third]).sum() == 90
    first = np.random.default_rng(0).permutation(400)[200:]
    said = LinearRegression().fit(X[first], Y[first]).predict(X[third])
    assert batch.prediction.location == pytest.approx(said)


def test_sets_follow_the_spread_of_the_residuals():
    X, Y = draw(2000, np.random.default_rng(0))
    calm, wild = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])
    for kind in (PredictThenCalibrateBox, PredictThenCalibrateEllipsoid):
        sets = kind(LinearRegression(), alpha=0.1).fit(X, Y)
        lower, upper = sets.predict_set(np.vstack([calm, wild])).bounds()
        widths = (upper - lower)[:, 0]
        assert widths[1] > 2 * widths[0]


def test_the_level_of_predict_then_calibrate():
    # 20 calibrating rows, alpha = 0.2: rank 16, level 5/21 exactly, for any law.
    hits, shrunk, repetitions = 0, 0, 400
    here = np.zeros((1, 1))
    for seed in range(repetitions):
        Y = np.random.default_rng(seed).exponential(size=(41, 1))
        sets = PredictThenCalibrateBox(zero, 0.2, constant(1.0))
        sets.fit(np.zeros((40, 1)), Y[:40])
        hits += int(not sets.predict_set(here).contains(Y[40:])[0])
        smaller = sets.predict_set(here, budget=0.6 * sets.budget_)
        shrunk += int(not smaller.contains(Y[40:])[0])
    assert sets.certificate_.alpha == pytest.approx(5 / 21)
    most = binom.isf(1e-6, repetitions, 5 / 21)
    assert binom.ppf(1e-6, repetitions, 5 / 21) <= hits <= most
    assert shrunk > most


def test_their_own_bound_is_in_the_note():
    X, Y = draw(400, np.random.default_rng(0))
    note = PredictThenCalibrateBox(LinearRegression(), 0.1).fit(X, Y).certificate_.note
    assert classical.sun_level(100, 0.9) == 1.0
    assert "says 1;" in note
    assert "246639" in note


def test_no_context_has_a_set_of_nothing():
    X, Y = draw(200, np.random.default_rng(0))
    nothing = DummyRegressor(strategy="constant", constant=-1.0)
    sets = PredictThenCalibrateBox(LinearRegression(), 0.1, nothing).fit(X, Y)
    assert (sets.predict_set(X).prediction.scale > 0).all()
    flat = np.column_stack([Y[:, 0], Y[:, 0]])
    round_set = PredictThenCalibrateEllipsoid(LinearRegression(), 0.1).fit(X, flat)
    assert np.isfinite(round_set.predict_set(X).support([1.0, -1.0])).all()


def test_predict_then_calibrate_refuses():
    X, Y = draw(3, np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="at least 2 rows for the residuals"):
        PredictThenCalibrateBox(LinearRegression(), share=0.34).fit(X, Y)
    with pytest.raises(InvalidParameter, match="needs rows for both parts"):
        PredictThenCalibrateBox(LinearRegression(), share=0.1).fit(X, Y)


# -- conformal ellipsoids ------------------------------------------------------------


def test_conformal_ellipsoid_is_the_mahalanobis_loss_set():
    X, Y = draw(300, np.random.default_rng(0))
    sets = ConformalEllipsoid(LinearRegression(), alpha=0.1).fit(X, Y)
    order = np.random.default_rng(0).permutation(300)
    held, rows = order[:150], order[150:]
    own = sl.LossSet(LinearRegression(), loss="mahalanobis").fit(X[rows], Y[rows])
    own.calibrate(X[held], Y[held], alpha=0.1)
    assert sets.budget_ == own.budget_
    assert sets.certificate_ == own.certificate_
    assert not sets.certificate_.heuristic
    # By hand: the ceil(151 * 0.9) = 136-th smallest distance.
    covariance = np.array(sets.loss_.covariance)
    residuals = Y[held] - LinearRegression().fit(X[rows], Y[rows]).predict(X[held])
    distances = np.sum(residuals @ np.linalg.inv(covariance) * residuals, axis=1)
    rank = ceil(151 * 0.9)
    assert sets.budget_ == pytest.approx(np.sort(distances)[rank - 1])


# -- two stages ----------------------------------------------------------------------


def test_good_models_fill_the_margin_exactly():
    """The range of predictions over the good coefficients, by their ellipsoid."""
    X, Y = draw(200, np.random.default_rng(0), m=1)
    sets = TwoStage(alpha=0.1).fit(X, Y)
    rows = np.random.default_rng(0).permutation(200)[100:]
    design = np.column_stack([np.ones(100), X[rows]])
    best = sets.coefficients_[:, 0]

    def risk(beta):
        return np.mean((Y[rows, 0] - design @ beta) ** 2)

    rng, x = np.random.default_rng(1), np.array([1.0, 0.3, -0.8])
    excess, reach = sets.excess_[0], []
    for step in rng.normal(size=(4000, 3)):
        # As far as the risk allows along each direction.
        length = sqrt(excess / (risk(best + step) - risk(best)))
        beta = best + length * step
        assert risk(beta) - risk(best) == pytest.approx(excess, rel=1e-6)
        reach.append((beta - best) @ x)
    margin = sets.predict_set([[0.3, -0.8]]).prediction.margin[0, 0]
    assert max(reach) <= margin * (1 + 1e-9)
    assert max(reach) >= 0.97 * margin


def test_two_stages_hold_the_conformal_box_and_cost_more():
    X, Y = draw(300, np.random.default_rng(0))
    sets = TwoStage(alpha=0.1).fit(X, Y)
    held = np.random.default_rng(0).permutation(300)[:150]
    said = sets.predict_set(X[held]).prediction
    missed = np.abs(Y[held] - said.location) + said.margin
    rank = ceil(151 * 0.9)
    scores = np.sort(np.max(missed / sets.scale_, axis=1))
    assert sets.budget_ == pytest.approx(scores[rank - 1])
    assert sets.predict_set(X[held]).contains(Y[held]).mean() >= 0.9
    assert not sets.certificate_.heuristic
    assert not sets.certificate_.beta_law


def test_the_authors_excess_needs_bounds_and_is_large():
    X, Y = draw(300, np.random.default_rng(0), m=1)
    bounds = Bounds(outcome=10.0, covariates=2.0, coefficients=3.0)
    theirs = TwoStage(alpha=0.1, bounds=bounds).fit(X, Y)
    ours = TwoStage(alpha=0.1).fit(X, Y)
    assert theirs.excess_[0] > 100 * ours.excess_[0]
    assert "authors' excess" in theirs.certificate_.note
    # 2 (4 b r / sqrt n + b^2 sqrt(log(2/delta) / 2n)), b = 16, r = 6, n = 150.
    expected = 2 * (4 * 16 * 6 / sqrt(150) + 256 * sqrt(log(40) / 300))
    assert theirs.excess_[0] == pytest.approx(expected)


def test_the_uniform_deviation_bounds_what_it_should():
    # Least squares on a small sample against the truth, many times over.
    rng, n = np.random.default_rng(0), 50
    bounds = Bounds(outcome=1.0, covariates=sqrt(2), coefficients=1.0)
    allowed, worst = bounds.excess(n, 0.05) / 2, 0.0
    for _ in range(200):
        x, y = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
        design = np.column_stack([np.ones(n), x])
        for beta in rng.uniform(-0.7, 0.7, (20, 2)):
            true = 1 / 3 + beta[0] ** 2 + beta[1] ** 2 / 3
            worst = max(worst, abs(np.mean((y - design @ beta) ** 2) - true))
    assert worst <= allowed


def test_two_stage_refuses():
    X, Y = draw(8, np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="more rows than its 3 coefficients"):
        TwoStage(share=0.6).fit(X, Y)
    X, Y = draw(40, np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="linearly dependent"):
        TwoStage().fit(np.column_stack([X, X[:, 0]]), Y)
    with pytest.raises(InvalidParameter, match="must be a positive number"):
        Bounds(outcome=0.0, covariates=1.0, coefficients=1.0)


# -- the truth -----------------------------------------------------------------------


def test_the_oracle_by_hand():
    truth = TrueMoments(lambda X: 2 * X, lambda X: np.ones_like(X), alpha=0.1)
    assert truth.radius_ == pytest.approx(sqrt(2 * log(10)))
    sets = truth.predict_set(np.array([[1.0, 0.0]]))
    assert sets.support([0.6, 0.8])[0] == pytest.approx(1.2 + truth.radius_)
    normal = TrueMoments(lambda X: X, lambda X: np.ones_like(X), 0.05, noise="normal")
    assert normal.radius_ == pytest.approx(norm.isf(0.05))
    assert not truth.certificate_.heuristic
    assert exp(-(truth.radius_**2) / 2) == pytest.approx(0.1)


def test_the_oracle_refuses():
    with pytest.raises(InvalidParameter, match="must be one of"):
        _ = TrueMoments(zero, zero, noise="cauchy").budget_
    short = TrueMoments(lambda X: np.zeros((1, 2)), lambda X: np.ones((len(X), 2)))
    with pytest.raises(InvalidParameter, match=r"TrueMoments\(mean=...\)"):
        short.predict_set(np.zeros((3, 1)))


# -- what they share -----------------------------------------------------------------

SOURCES = [
    PointPrediction(LinearRegression()),
    ClassicalEllipsoid(),
    NearestEllipsoid(12),
    PredictThenCalibrateBox(LinearRegression()),
    PredictThenCalibrateEllipsoid(LinearRegression()),
    ConformalEllipsoid(LinearRegression()),
    TwoStage(),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: type(s).__name__)
def test_sources_are_estimators_and_keep_names(source):
    X, Y = draw(120, np.random.default_rng(0))
    X = pd.DataFrame(X, columns=["u", "v"], index=np.arange(120) + 7)
    Y = pd.DataFrame(Y, columns=["a", "b", "c"], index=X.index)
    sets = clone(source)
    with pytest.raises(NotCalibrated):
        sets.predict_set(X)
    assert sets.fit(X, Y) is sets
    batch = sets.predict_set(X.iloc[:2])
    assert batch.names == ("a", "b", "c")
    assert batch.index.tolist() == [7, 8]
    assert len(batch[0:1]) == 1
    assert batch[1].dim == 3
    with pytest.raises(InvalidParameter, match="as many rows"):
        clone(source).fit(X.iloc[:60], Y)


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: type(s).__name__)
def test_budgets_are_checked(source):
    X, Y = draw(120, np.random.default_rng(0))
    sets = clone(source).fit(X, Y)
    rows = sets.predict_set(X[:3], budget=[1.0, 2.0, 3.0])
    assert (np.diff(rows.support([1.0, 0.0, 0.0]) - rows.points[:, 0]) > 0).any()
    with pytest.raises(InvalidParameter, match="budget"):
        sets.predict_set(X[:3], budget=[1.0, 2.0])


def test_the_old_name_of_the_truth_says_the_other():
    with pytest.raises(AttributeError, match="named TrueMoments"):
        _ = baselines.Oracle
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = baselines.Nothing


def test_a_fitted_source_is_what_a_robust_problem_takes():
    truth = TrueMoments(lambda X: X, lambda X: np.ones_like(X))
    assert isinstance(truth, SetSource)
    assert not isinstance(truth.predict_set(np.zeros((1, 1))), SetSource)
