"""A certificate is void once the decision rule is not the one calibrated."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

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
    sets = sl.LossSet(model)
    if hasattr(model, "fit"):
        sets.fit(X[:100], Y[:100])
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


def test_the_warning_names_the_line_that_decided_or_saved(tmp_path):
    policy, sets, _ = calibrated()
    sets.fit(X[:50], Y[:50])
    with pytest.warns(CertificateVoid) as decided:
        policy.decide(X[200:])
    with pytest.warns(CertificateVoid) as saved:
        policy.save(tmp_path / "policy.npz")
    assert [one.filename for one in (*decided, *saved)] == [__file__] * 2


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
        if flags["broken"] and len(X) != 100:
            raise ValueError("no")
        return X[:, :2]

    policy, *_ = calibrated(model)
    flags["broken"] = True
    with pytest.warns(CertificateVoid, match="fails where it was calibrated"):
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
    given = sl.Prediction(X[:3, :2])
    promise = loaded.decide(given, trusted=True).certificate
    assert (promise.alpha, promise.budget) == (0.1, policy.budget_)
    assert loaded.decide(given).certificate is None
    price.value = [1.0, 1.0]
    with pytest.warns(CertificateVoid):
        policy.save(tmp_path / "void.npz")
    loaded = sl.load_policy(tmp_path / "void.npz")
    assert loaded.decide(given, trusted=True).certificate is None


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
        promise = load(same).decide(X[200:]).certificate
        assert promise.alpha == 0.1
        assert any("model that the saved policy" in s for s in promise.assumptions)
    other = LinearRegression().fit(X[:100], Y[:100] + 5)
    with pytest.warns(CertificateVoid, match=r"not the one it was .* something else"):
        assert load(other).decide(X[200:]).certificate is None

    def short(X):
        if len(X) != 100:
            raise ValueError("a hundred only")
        return sets.model_.predict(X)

    with pytest.warns(CertificateVoid, match=r"not the one it was .*a hundred only"):
        assert load(short).decide(X[200:]).certificate is None
    given = sl.Prediction(sets.model_.predict(X[200:]))
    loaded = sl.load_policy(tmp_path / "policy.npz")
    assert loaded.decide(given).certificate is None
    promise = loaded.decide(given, trusted=True).certificate
    assert any("model that the saved policy" in s for s in promise.assumptions)


def test_a_promise_of_decisions_stays_one_promise(tmp_path):
    """Over two sets, it is not a promise of each."""
    r, u = sl.Uncertain(2, name="r"), sl.Uncertain(2, name="u")
    w, sets = cp.Variable(2, nonneg=True, name="w"), []
    for _ in range(2):
        sets.append(sl.LossSet(LinearRegression()).fit(X[:100], Y[:100]))
        sets[-1].calibrate(X[100:150], Y[100:150], 0.1)
    problem = sl.RobustProblem(
        cp.Maximize(r @ w),
        [cp.sum(w) <= 1, u @ w <= 9],
        dict(zip((r, u), sets, strict=True)),
    )
    policy = problem.compile()
    policy.calibrate(X[150:250], {"r": Y[150:250], "u": Y[150:250]}, 0.2)
    policy.save(tmp_path / "p")
    models = {"r": sets[0].model_, "u": sets[1].model_}
    promise = sl.load_policy(tmp_path / "p", models).decide(X[250:]).certificate
    assert promise.alpha == policy.certificate_.alpha
    assert promise.event == policy.certificate_.event


FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    kind=np.where(X[:, 0] > 2, "high", "low"),
    sort=pd.Categorical(np.where(X[:, 1] > 2, "x", "y"), categories=["y", "x", "z"]),
    day=pd.date_range("2020-01-01", periods=300),
)
FRAME.loc[FRAME.index % 7 == 0, "kind"] = None


class ByName:
    """A model that takes a frame with the names and types it was trained on only."""

    def predict(self, frame):
        assert str(frame["sort"].dtype) == "category"
        assert str(frame["day"].dtype).startswith("datetime64")
        shift = frame["kind"].map({"high": 0.1, "low": -0.1}).fillna(0.0)
        codes = 0.01 * (frame["sort"].cat.codes + 0.1 * frame["day"].dt.day)
        return (
            frame[["b", "a"]].to_numpy()[:, ::-1] + (shift + codes).to_numpy()[:, None]
        )


def by_columns():
    """Names pick the columns."""
    columns = make_column_transformer(
        (StandardScaler(), ["a", "b"]),
        (OneHotEncoder(handle_unknown="ignore"), ["kind", "sort"]),
    )
    return make_pipeline(columns, LinearRegression())


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (LinearRegression(), ["a", "b", "c"]),
        (by_columns(), list(FRAME)),
        (ByName().predict, list(FRAME)),
    ],
)
def test_a_model_with_names_is_known_again(tmp_path, model, columns):
    frame, outcomes = FRAME[columns], pd.DataFrame(Y, columns=["u", "v"])
    sets = sl.LossSet(model)
    if hasattr(model, "fit"):
        sets.fit(frame[:100], outcomes[:100])
    policy = problem_of(sets)[0].compile()
    policy.calibrate(frame[100:200], outcomes[100:200], 0.1)
    policy.save(tmp_path / "p")
    loaded = sl.load_policy(tmp_path / "p", {"r": getattr(sets, "model_", model)})
    for rows in (frame[200:], frame[200:201], frame[200:210]):
        again, before = loaded.decide(rows), policy.decide(rows)
        assert again.certificate.alpha == before.certificate.alpha == 0.1
        np.testing.assert_array_equal(again.status, before.status)
        np.testing.assert_allclose(again.objective, before.objective, 1e-7, 1e-9)
    stranger = sl.load_policy(
        tmp_path / "p", {"r": lambda frame: frame[["a", "b"]].to_numpy() + 1}
    )
    with pytest.warns(CertificateVoid, match="it predicts something else"):
        assert stranger.decide(frame[200:201]).certificate is None


def test_a_policy_over_calibrated_sets_knows_its_model_too(tmp_path):
    """By the contexts it decided last."""
    sets = sl.LossSet(LinearRegression()).fit(X[:100], Y[:100])
    sets.calibrate(X[100:200], Y[100:200], 0.1)
    policy = problem_of(sets)[0].compile()
    policy.decide(X[:40])
    policy.save(tmp_path / "p")
    same = sl.load_policy(tmp_path / "p", {"r": sets.model_}).decide(X[200:201])
    assert same.certificate.alpha == 0.1
    other = sl.load_policy(tmp_path / "p", {"r": lambda X: X[:, :2] + 1})
    with pytest.warns(CertificateVoid, match="it predicts something else"):
        assert other.decide(X[200:201]).certificate is None


def test_a_model_of_sparse_covariates_is_known_again(tmp_path):
    table = sp.csr_array(X)
    sets = sl.LossSet(LinearRegression()).fit(table[:100], Y[:100])
    policy = problem_of(sets)[0].compile().calibrate(table[100:200], Y[100:200], 0.1)
    policy.save(tmp_path / "p")
    loaded = sl.load_policy(tmp_path / "p", {"r": sets.model_})
    assert loaded.decide(table[200:201]).certificate.alpha == 0.1


class Counting:
    """Counts calls and rows."""

    def __init__(self):
        self.calls, self.rows = 0, 0

    def predict(self, X):
        self.calls, self.rows = self.calls + 1, self.rows + len(X)
        return X[:, :2]


@pytest.mark.parametrize("saved", [False, True])
def test_recognising_a_model_takes_no_call_of_its_own(tmp_path, saved):
    model = Counting()
    policy = problem_of(sl.LossSet(model.predict))[0].compile()
    policy.calibrate(X[100:200], Y[100:200], 0.1)
    if saved:
        policy.save(tmp_path / "p")
        policy = sl.load_policy(tmp_path / "p", {"r": model.predict})
    policy.decide(X[200:201])
    for n in (1, 30, 100):
        model.calls = model.rows = 0
        assert policy.decide(X[200 : 200 + n]).certificate is not None
        assert model.calls == 1
        assert model.rows == n + min(max(n, 10), 50)


def test_all_probes_are_asked_in_turn():
    """A change at a single one of them is noticed within a few calls of one row."""
    policy, *_ = calibrated(Counting().predict)
    probes = policy.recognition(X[100:200]).probes
    assert sorted(probes.riders(1).rows) == list(range(50))
    seen = np.concatenate([probes.riders(1).rows for _ in range(5)])
    assert sorted(seen) == list(range(50))


SCALE = [1.0]


class Elsewhere:
    """A model whose numbers are where no look at its attributes finds them."""

    weights = np.ones((100, 100))

    def __init__(self):
        self.table, self.hidden = np.ones(100_000), iter([])

    def predict(self, X):
        at = 77 + 1000 * (X[:, :2] > 1e9)
        return SCALE[0] * self.weights[3, 3] * self.table[at] * X[:, :2]


def in_a_global(model):
    SCALE[0] = 2.0


def in_the_class(model):
    type(model).weights[3, 3] = 2.0


def in_one_entry(model):
    model.table[77] = 2.0


@pytest.mark.parametrize("change", [in_a_global, in_the_class, in_one_entry])
def test_a_change_anywhere_is_noticed_at_one_row(change, monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", [1.0])
    monkeypatch.setattr(Elsewhere, "weights", np.ones((100, 100)))
    model = Elsewhere()
    policy, *_ = calibrated(model.predict)
    for _ in range(3):
        assert policy.decide(X[200:201]).certificate is policy.certificate_
    change(model)
    with pytest.warns(CertificateVoid, match="predicts something else"):
        assert policy.decide(X[200:201]).certificate is None


def booster():
    """Trees that go on growing, in memory that is not Python's."""
    lightgbm = pytest.importorskip("lightgbm")
    options = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    table = lightgbm.Dataset(X[:100], Y[:100, 0], free_raw_data=False)
    trees = lightgbm.train(options, table, 3, keep_training_booster=True)

    def predict(X):
        return np.tile(trees.predict(X, num_threads=1)[:, None], 2)

    return predict, trees.update


def network():
    """A tensor that is changed in place."""
    torch = pytest.importorskip("torch")
    weights = torch.eye(3)[:, :2].clone()

    def predict(X):
        return (torch.tensor(X, dtype=torch.float32) @ weights).numpy()

    return predict, lambda: weights[0, 0].add_(0.1)


@pytest.mark.parametrize("make", [booster, network])
def test_weights_that_python_cannot_see(make):
    model, train = make()
    policy, *_ = calibrated(model)
    assert policy.decide(X[200:201]).certificate is policy.certificate_
    assert policy.decide(X[200:]).certificate is policy.certificate_
    train()
    with pytest.warns(CertificateVoid, match="predicts something else"):
        assert policy.decide(X[200:201]).certificate is None


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_a_change_is_measured_by_how_much_predictions_vary(shift):
    """Far from zero a small change of the level may still be a large one."""
    model = Wobbling()
    sets = sl.LossSet(lambda X: shift + X[:, :2] + 0.01 * model.off)
    r, w = sl.Uncertain(2, name="r"), cp.Variable(2, nonneg=True, name="w")
    problem = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets})
    policy = problem.compile().calibrate(X[100:200], shift + Y[100:200], 0.1)
    assert policy.decide(X[200:201]).certificate is policy.certificate_
    model.off = True
    with pytest.warns(CertificateVoid, match="predicts something else"):
        assert policy.decide(X[200:201]).certificate is None
