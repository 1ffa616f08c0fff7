"""Workers of any kind decide what one process decides, and lose nothing."""

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest

from sublevel.parallel import each
from sublevel.robust.decisions import DecisionArrays

from .given import calibrated, contexts, portfolio


@pytest.fixture(scope="module")
def batch():
    """A policy and ten thousand contexts, some of them without a decision."""
    rng = np.random.default_rng(71)
    policy = portfolio(calibrated("gaussian", 2, rng), 2, nonneg=True)[2].compile()
    X = contexts(10_000, 2, rng)
    X[::997, :2] = -50
    X[5::1999] = np.nan
    return policy, X, policy.decide(X, chunk=100)


def assert_same(found, expected):
    """To the last bit, row by row."""
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.objective, expected.objective)
    np.testing.assert_array_equal(found.value("w"), expected.value("w"))
    np.testing.assert_array_equal(found.worst_case("r"), expected.worst_case("r"))
    np.testing.assert_array_equal(found.audit.gap, expected.audit.gap)


def kill_at_first_result(monkeypatch, workers):
    """Kill one worker process when the first chunk has come back."""
    put, killed = DecisionArrays.put, []

    def spy(self, rows, result):
        if not killed:
            killed.append(workers[0])
            os.kill(killed[0], signal.SIGKILL)
        return put(self, rows, result)

    monkeypatch.setattr(DecisionArrays, "put", spy)
    return killed


def test_the_batch_has_every_kind_of_row(batch):
    kinds = set(batch[2].status)
    assert kinds == {"optimal", "empty_set", "invalid_prediction"}


def test_threads(batch):
    policy, X, expected = batch
    assert_same(policy.decide(X, n_jobs=2, chunk=100), expected)
    with joblib.parallel_config(n_jobs=2):
        assert_same(policy.decide(X, chunk=100), expected)


def test_processes_one_of_which_is_killed(batch, monkeypatch):
    """loky gives up when a worker dies; what is left is decided here.

    Chunks are small so that a result is written at once: loky waits for ever for the
    rest of one whose writer was killed half-way.
    """
    policy, X, expected = batch
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same(policy.decide(X, chunk=100), expected)
        workers = joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(20))
        killed = kill_at_first_result(monkeypatch, workers)
        assert_same(policy.decide(X, chunk=25), expected)
    assert killed == workers[:1]


def test_a_dask_worker_is_killed(batch, monkeypatch):
    """Dask starts another worker, and what was lost is decided again."""
    distributed = pytest.importorskip("distributed")
    policy, X, expected = batch
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        before = list(client.run(os.getpid).values())
        killed = kill_at_first_result(monkeypatch, before)
        decided = within(120, lambda: decide_by_dask(policy, X))
    assert killed == before[:1]
    assert_same(decided, expected)


def decide_by_dask(policy, X):
    with joblib.parallel_config(backend="dask"):
        return policy.decide(X, chunk=100)


def within(seconds, task):
    """What a task returns; one that waits for ever fails and does not stop the rest."""
    results = []
    thread = threading.Thread(target=lambda: results.append(task()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, f"nothing after {seconds} s"
    return results[0]


def slow_square(k):
    time.sleep(0.005)
    return k * k


def test_results_come_in_order_and_jobs_are_made_when_needed():
    made = []

    def job(k):
        made.append(k)
        return slow_square, (k,)

    results = each(job, 60, 2)
    assert next(results) == 0
    assert len(made) < 20
    assert list(results) == [k * k for k in range(1, 60)]


def test_an_error_of_a_job_is_raised_here():
    def job(k):
        return slow_square, ("x" if k == 7 else k,)

    with pytest.raises(TypeError, match="multiply"):
        list(each(job, 20, 2))
