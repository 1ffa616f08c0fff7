"""A certificate is void once the decision rule is not the one calibrated."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sublevel as sl
from sublevel.errors import CertificateVoid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) + 2
Y = X[:, :2] + 0.3 * RNG.normal(size=(300, 2))


def problem_of(sets):
    """Returns to maximise at a price that is an ordinary parameter."""
    r, w = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True, name="w")
    price = cp.Parameter(2, nonneg=True, name="price", value=[0.1, 0.2])
    return (
        sl.RobustProblem(cp.Maximize(r @ w - price @ w), [cp.sum(w) <= 1], {r: sets}),
        price,
    )


def calibrated(model=None, **options):
    model = model or make_pipeline(StandardScaler(), LinearRegression())
    sets = sl.LossSet(model).fit(X[:100], Y[:100])
    problem, price = problem_of(sets)
    policy = problem.compile(**options).calibrate(X[100:200], Y[100:200], 0.1)
    return policy, sets, price


def test_nothing_changed():
    policy, *_ = calibrated()
    assert policy.decide(X[200:]).certificate is policy.certificate_
    assert policy.decide(X[200:])[3].certificate is policy.certificate_


def test_a_parameter_was_changed_and_changed_back():
    policy, _, price = calibrated()
    price.value = [0.1, 0.3]
    with pytest.warns(CertificateVoid, match="parameter 'price' was given another"):
        decisions = policy.decide(X[200:])
    assert decisions.certificate is None
    assert decisions[0].certificate is None
    price.value = [0.1, 0.2]
    assert policy.decide(X[200:]).certificate is policy.certificate_


def test_calibrating_again_is_the_way_out():
    policy, _, price = calibrated()
    price.value = [0.3, 0.0]
    policy.calibrate(X[100:200], Y[100:200], 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert policy.decide(X[200:]).certificate is policy.certificate_


def test_the_loss_set_was_fitted_again():
    policy, sets, _ = calibrated()
    sets.fit(X[:50], Y[:50])
    with pytest.warns(CertificateVoid, match="model of 'r' predicts something else"):
        assert policy.decide(X[200:]).certificate is None


def test_the_same_model_trained_again_in_place():
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X[:100], Y[:100])
    policy, *_ = calibrated(model)
    model.fit(X[:100], Y[:100])
    assert policy.decide(X[200:]).certificate is policy.certificate_
    model.fit(X[50:150], Y[50:150])
    with pytest.warns(CertificateVoid, match="Calibrate it again"):
        assert policy.decide(X[200:]).certificate is None


def test_a_model_that_no_longer_predicts():
    flags = {"broken": False}

    def model(X):
        if flags["broken"] and len(X) == 50:
            raise ValueError("no")
        return X[:, :2]

    policy, *_ = calibrated(model)
    flags["broken"] = True
    with pytest.warns(CertificateVoid):
        assert policy.decide(X[200:]).certificate is None


def test_another_solver_decides():
    policy, *_ = calibrated()
    policy.solver = "CLARABEL"
    with pytest.warns(CertificateVoid, match="engine or solver"):
        policy.decide(X[200:])


def test_contexts_solved_one_by_one():
    policy, _, price = calibrated(engine="cuts")
    assert policy.one_by_one is not None
    assert policy.decide(X[200:203]).certificate is policy.certificate_
    price.value = [1.0, 1.0]
    with pytest.warns(CertificateVoid):
        assert policy.decide(X[200:203]).certificate is None


def test_a_set_value_was_replaced():
    sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    r, a = sl.Uncertain(2, name="r"), sl.Uncertain(2, name="a")
    w = cp.Variable(2, nonneg=True, name="w")
    box = sl.sets.Box([0.5, 0.5], [1.0, 1.0])
    problem = sl.RobustProblem(cp.Maximize(r @ w), [a @ w <= 1], {r: sets, a: box})
    policy = problem.compile()
    policy.calibrate(X[100:200], {"r": Y[100:200], "a": np.full((100, 2), 0.7)}, 0.1)
    assert policy.decide(X[200:]).certificate is policy.certificate_
    problem.uncertainty[(a,)] = sl.sets.Box([0.5, 0.5], [2.0, 2.0])
    with pytest.warns(CertificateVoid, match="set value"):
        policy.decide(X[200:])


def test_labels_too():
    from sklearn.linear_model import LogisticRegression

    label = (X[:, 0] > 2).astype(int)
    sets = sl.LossSet(LogisticRegression(), "cross_entropy").fit(X[:60], label[:60])
    y, x = sl.Uncertain(2, name="y"), cp.Variable(2, nonneg=True, name="x")
    problem = sl.RobustProblem(cp.Minimize(y @ x), [cp.sum(x) == 1], {y: sets})
    policy = problem.compile()
    policy.calibrate(X[100:130], label[100:130], 0.2, grid=[0.1, 1.0])
    assert policy.decide(X[:2]).certificate is policy.certificate_
    sets.model_.coef_ = 2 * sets.model_.coef_
    with pytest.warns(CertificateVoid, match="model of 'y'"):
        policy.decide(X[:2])


def test_a_void_certificate_is_not_saved(tmp_path):
    policy, _, price = calibrated()
    policy.save(tmp_path / "good.npz")
    loaded = sl.load_policy(tmp_path / "good.npz")
    told = loaded.decide(sl.Prediction(X[:3, :2])).certificate
    assert (told.alpha, told.budget) == (0.1, policy.budget_)
    price.value = [1.0, 1.0]
    with pytest.warns(CertificateVoid):
        policy.save(tmp_path / "void.npz")
    loaded = sl.load_policy(tmp_path / "void.npz")
    assert loaded.decide(sl.Prediction(X[:3, :2])).certificate is None


class Wobbling:
    """A model that is off on some contexts once `off` is set."""

    off = False

    def predict(self, X):
        return X[:, :2] - 5.0 * (self.off & (X[:, 2] > 2.5))[:, None]


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_change_at_a_third_of_the_contexts_is_noticed(unit):
    model = Wobbling()
    sets = sl.LossSet(lambda X: unit * model.predict(X))
    r, w = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True, name="w")
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    policy = problem.compile()
    policy.calibrate(X[100:200], unit * Y[100:200], 0.1)
    assert policy.decide(X[200:]).certificate is policy.certificate_
    model.off = True
    with pytest.warns(CertificateVoid, match="predicts something else"):
        assert policy.decide(X[200:]).certificate is None


def test_a_bound_on_costs_goes_with_the_rule():
    model = Wobbling()
    policy = problem_of(sl.LossSet(model.predict))[0].compile().at(0.2)
    bound = policy.certify(X[100:200], Y[100:200], alpha=0.1)
    assert np.isfinite(bound.at(X[200:])).all()
    model.off = True
    with pytest.warns(CertificateVoid, match="bound on costs is void"):
        assert np.isnan(bound.at(X[200:])).all()


def test_a_loaded_policy_knows_its_model(tmp_path):
    policy, sets, _ = calibrated()
    policy.save(tmp_path / "policy.npz")

    def load(model):
        return sl.load_policy(tmp_path / "policy.npz", {"r": model})

    for same in (sets.model_, sets):
        told = load(same).decide(X[200:]).certificate
        assert told.alpha == 0.1
        assert any("model that the saved policy" in line for line in told.assumptions)
    other = LinearRegression().fit(X[:100], Y[:100] + 5)
    for model in (other, lambda X: np.zeros((len(X) + 1, 2))):
        loaded = load(model)
        with pytest.warns(CertificateVoid, match="not the one it was calibrated"):
            assert loaded._told() is None
    said = sl.Prediction(sets.model_.predict(X[200:]))
    told = sl.load_policy(tmp_path / "policy.npz").decide(said).certificate
    assert any("model that the saved policy" in line for line in told.assumptions)
