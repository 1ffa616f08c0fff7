"""SPO+ and PyEPO: the same weights after the same steps, hence the same regret."""

import runpy
from pathlib import Path

# Before PyEPO: OR-Tools, if it is there, hides the HiGHS that CVXPY needs.
import cvxpy  # noqa: F401
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("pyepo")

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def bench():
    return runpy.run_path(str(ROOT / "bench" / "smart_predictions.py"))


@pytest.mark.parametrize("seed", [0, 1])
def test_as_many_steps_lead_to_the_same_regret(bench, seed):
    rows, test, weights = bench["start"](seed)
    mine = bench["ours"](rows, weights, 4, seed)
    theirs = bench["by_pyepo"](rows, weights, 4, seed, bench["by_hand"]())
    np.testing.assert_allclose(mine.hidden, theirs.hidden, atol=1e-9)
    np.testing.assert_allclose(mine.output, theirs.output, atol=1e-9)
    regret = bench["regret"]
    assert regret(mine, *test) == pytest.approx(regret(theirs, *test), abs=1e-9)
    # Training did something: the two are not equal because neither moved.
    assert regret(mine, *test) < 0.9 * regret(weights, *test)
    # Other batches, or fewer steps, lead elsewhere.
    other = bench["ours"](rows, weights, 4, seed + 10)
    assert (mine.output - other.output).abs().max() > 1e-3


def test_the_program_given_to_pyepo_finds_the_cheapest_path(bench):
    oracle, rng = bench["ORACLE"], np.random.default_rng(0)
    for costs in rng.normal(size=(50, oracle.n_edges)):
        decision, cost = bench["path"](costs.tolist())
        assert (decision == oracle(costs[None])[0]).all()
        assert cost == pytest.approx(costs @ decision)
