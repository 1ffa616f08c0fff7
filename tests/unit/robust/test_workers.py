"""Decisions of a lazy table: those of the policy, wherever its parts are decided."""

import os
import pickle
import signal

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import sublevel as sl
from sublevel.errors import CertificateVoid, InvalidParameter

dd = pytest.importorskip("dask.dataframe")

COLUMNS = ["wind", "sun", "demand"]


def table(n, rng):
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=COLUMNS)
    return X, X.to_numpy() + 0.2 * rng.normal(size=(n, 3))


@pytest.fixture(scope="module")
def policy():
    rng = np.random.default_rng(3)
    model = DecisionTreeRegressor(min_samples_leaf=5).fit(*table(200, rng))
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    goal = cp.Maximize(r @ w - 0.1 * cp.sum_squares(w))
    sets = sl.LossSet(model)
    compiled = sl.RobustProblem(goal, [cp.sum(w) == 1], {r: sets}).compile()
    return compiled.calibrate(*table(100, rng), alpha=0.1)


@pytest.fixture(scope="module")
def X():
    table_, _ = table(500, np.random.default_rng(4))
    table_.index = [f"day {k}" for k in range(500)]
    return table_


def same(lazy, policy, X):
    """To the last bit, with the same labels, columns and order."""
    expected = policy.decide(X).to_pandas()
    decided = lazy.compute(scheduler="synchronous")
    assert lazy.columns.tolist() == expected.columns.tolist()
    assert decided.index.tolist() == X.index.tolist()
    assert decided.status.astype(object).tolist() == expected.status.tolist()
    numbers = expected.columns[1:]
    np.testing.assert_array_equal(decided[numbers], expected[numbers])


def test_a_lazy_table_is_the_policys(policy, X):
    lazy = policy.decide_lazily(dd.from_pandas(X, npartitions=7, sort=False))
    same(lazy, policy, X)


def test_nothing_is_decided_before_it_is_asked_for(policy, X, monkeypatch):
    lazy = policy.decide_lazily(dd.from_pandas(X, npartitions=7, sort=False))
    asked = []
    predict = DecisionTreeRegressor.predict

    def spy(self, X, **given):
        asked.append(len(X))
        return predict(self, X, **given)

    monkeypatch.setattr(DecisionTreeRegressor, "predict", spy)
    first = lazy.partitions[0]
    assert asked == []
    assert len(first.compute(scheduler="synchronous")) == asked[0] < len(X)


def test_a_part_may_be_all_bad_or_empty(policy, X):
    broken = X.copy()
    broken["wind"] = broken["wind"].astype(object)
    broken.iloc[:100, 0] = "calm"
    parts = dd.concat(
        [
            dd.from_pandas(broken.iloc[:100], npartitions=1, sort=False),
            dd.from_pandas(broken.iloc[100:], npartitions=2, sort=False),
        ]
    )
    decided = policy.decide_lazily(parts).compute(scheduler="synchronous")
    assert (decided.status[:100] == "invalid_prediction").all()
    assert (decided.status[100:] == "optimal").all()
    none = dd.from_pandas(X, npartitions=4, sort=False)
    none = none[none["wind"] > 1e6]
    assert len(policy.decide_lazily(none).compute(scheduler="synchronous")) == 0


def test_a_saved_policy_does_the_same(policy, X, tmp_path):
    policy.save(tmp_path / "policy")
    model = policy.keys[0].predicted.source.model
    saved = sl.load_policy(tmp_path / "policy", {"r": model})
    lazy = saved.decide_lazily(dd.from_pandas(X, npartitions=3, sort=False))
    same(lazy, policy, X)
    other = DecisionTreeRegressor().fit(*table(50, np.random.default_rng(5)))
    strange = sl.load_policy(tmp_path / "policy", {"r": other})
    with pytest.warns(CertificateVoid, match="not the one it was calibrated with"):
        strange.decide_lazily(dd.from_pandas(X, npartitions=1, sort=False))


def test_what_is_no_such_table_is_refused(policy, X):
    with pytest.raises(InvalidParameter, match="must be a Dask DataFrame, got"):
        policy.decide_lazily(X)
    turned = dd.from_pandas(X[COLUMNS[::-1]], npartitions=2, sort=False)
    with pytest.raises(InvalidParameter, match=r"calibrated with, \['wind', 'sun'"):
        policy.decide_lazily(turned)


def test_integers_are_refused(policy, X):
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, boolean=True, name="w")
    sets = policy.keys[0].predicted.source
    whole = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets}).compile()
    with pytest.raises(InvalidParameter, match="needs a compiled program, and some"):
        whole.decide_lazily(dd.from_pandas(X, npartitions=2, sort=False))


def test_what_goes_to_a_worker_has_no_model_of_cvxpys(policy):
    from sublevel.robust import workers

    sent = []

    class Frame:
        columns, _meta = COLUMNS, pd.DataFrame(columns=COLUMNS, dtype=float)

    real = dd.DataFrame
    dd.DataFrame = Frame
    try:
        Frame.map_partitions = lambda self, function, there, meta: sent.append(there)
        policy.decide_lazily(Frame())
    finally:
        dd.DataFrame = real
    raw = pickle.dumps(sent[0].compute())
    assert b"cvxpy" not in raw
    assert isinstance(pickle.loads(raw), workers.WorkerPolicy)


def die_once(part, marker):
    """Kills its worker the first time it runs anywhere."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return part
    os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(policy, X, tmp_path):
    distributed = pytest.importorskip("distributed")
    marker = str(tmp_path / "killed")
    expected = policy.decide(X).to_pandas()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        parts = dd.from_pandas(X, npartitions=6, sort=False)
        dying = parts.map_partitions(die_once, marker, meta=parts._meta)
        future = client.compute(policy.decide_lazily(dying))
        decided = future.result(timeout=120)
    assert os.path.exists(marker)
    numbers = expected.columns[1:]
    np.testing.assert_array_equal(decided[numbers], expected[numbers])
