"""Decisions of a lazy table: those of the policy, wherever its parts are decided."""

import os
import pickle
import signal
from contextlib import contextmanager

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import sublevel as sl
from sublevel.errors import CertificateVoid, InvalidParameter
from sublevel.robust.workers import Parcel

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


def test_how_a_table_is_cut_changes_no_bit(policy, X):
    """Parts of 1 to 40 rows: few rows alone would go to another solver."""
    cut = np.cumsum([0, 1, 2, 5, 7, 8, 9, 31, 40])
    parts = [X[a:b] for a, b in zip(cut, [*cut[1:], len(X)], strict=True)]
    some = [dd.from_pandas(part, npartitions=1, sort=False) for part in parts]
    same(policy.decide_lazily(dd.concat(some)), policy, X)
    few = policy.decide(X[:40]).objective
    assert not np.array_equal(few, policy.decide(X).objective[:40])


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
    assert isinstance(pickle.loads(raw).open(), workers.WorkerPolicy)


def test_a_parcel_is_packed_when_it_travels_and_only_then(policy):
    class Locked:
        def __reduce__(self):
            raise TypeError("not to be packed")

    stays = Parcel(Locked())
    assert isinstance(stays.open(), Locked)
    with pytest.raises(TypeError, match="not to be packed"):
        pickle.dumps(stays)
    there = pickle.loads(pickle.dumps(Parcel(len)))
    onwards = pickle.loads(pickle.dumps(there))
    assert onwards.open() is onwards.open() is len


@contextmanager
def cluster_of_two(allowed_failures=3):
    """A client of two worker processes, which are started again when they die."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    failures = {"distributed.scheduler.allowed-failures": allowed_failures}
    with (
        dask.config.set(failures),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def dying(label, marker):
    """What kills its worker when it first has the decisions at a row.

    A function in a function goes to workers by value: they cannot import tests, and
    would all be shut down as they read a message that names them.
    """

    def die_once(decided):
        if label not in decided.index:
            return decided
        try:
            file = os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return decided
        os.write(file, str(os.getpid()).encode())
        os.close(file)
        os.kill(os.getpid(), signal.SIGKILL)
        return decided

    return die_once


def decide_and_die(client, policy, X, marker):
    """Decisions of 12 parts; who decides the ninth is killed as it has done so."""
    lazy = policy.decide_lazily(dd.from_pandas(X, npartitions=12, sort=False))
    lost = lazy.map_partitions(dying("day 350", str(marker)), meta=lazy._meta)
    return client.compute(lost).result(timeout=120)


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(policy, X, tmp_path):
    marker = tmp_path / "killed"
    expected = policy.decide(X).to_pandas()
    with cluster_of_two() as client:
        before = set(client.run(os.getpid).values())
        decided = decide_and_die(client, policy, X, marker)
        client.wait_for_workers(2, timeout=120)
        after = set(client.run(os.getpid).values())
    killed = int(marker.read_text())
    assert killed in before - after
    assert decided.index.tolist() == X.index.tolist()
    assert decided.status.astype(object).tolist() == expected.status.tolist()
    numbers = expected.columns[1:]
    np.testing.assert_array_equal(decided[numbers], expected[numbers])


@pytest.mark.slow
def test_without_a_second_try_a_killed_worker_is_an_error(policy, X, tmp_path):
    """So the test above does kill a worker that decides, and tells if it is lost."""
    from distributed import KilledWorker

    with cluster_of_two(allowed_failures=0) as client, pytest.raises(KilledWorker):
        decide_and_die(client, policy, X, tmp_path / "killed")


class Mean:
    """A model of a module that workers do not have."""

    def predict(self, X):
        return np.zeros((len(X), 3))


@pytest.mark.slow
def test_a_worker_that_lacks_the_module_of_a_model_says_so(X):
    r, w = sl.Uncertain(3, name="r"), cp.Variable(3, nonneg=True, name="w")
    sets = sl.LossSet(Mean())
    policy = sl.RobustProblem(cp.Maximize(r @ w), [cp.sum(w) == 1], {r: sets}).compile()
    policy = policy.calibrate(*table(100, np.random.default_rng(6)), alpha=0.1)
    lazy = policy.decide_lazily(dd.from_pandas(X, npartitions=3, sort=False))
    assert (lazy.compute(scheduler="synchronous").status == "optimal").all()
    with cluster_of_two() as client, pytest.raises(ModuleNotFoundError, match="tests"):
        client.compute(lazy).result(timeout=120)
