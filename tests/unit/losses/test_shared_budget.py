"""One budget for several blocks: many prices at a time as one after another."""

import numpy as np
import pytest

import sublevel as sl
from sublevel.losses import shared_budget
from sublevel.losses.shared_budget import Block, share_budget

KINDS = ["squared", "huber", "absolute", "gaussian", "nll", "log_cosh"]


@pytest.mark.parametrize("shape", [(), (7,)])
def test_prices_together_as_one_by_one(shape, monkeypatch):
    rng = np.random.default_rng(0)
    losses = [sl.losses.get(kind) for kind in KINDS]
    for _ in range(10):
        chosen = rng.choice(len(losses), rng.integers(2, 4), replace=False)
        blocks = []
        for k in chosen.tolist():
            location, scale = (
                rng.normal(size=(*shape, 3)),
                rng.uniform(0.5, 2, (*shape, 3)),
            )
            direction = rng.normal(size=(*shape, 3)) * (rng.random() > 0.2)
            weight = float(rng.uniform(0.2, 3))
            blocks.append(
                Block(losses[k], weight, sl.Prediction(location, scale), direction)
            )
        floors = sum(b.loss.floor(b.prediction) / b.weight for b in blocks)
        budget = floors + rng.choice([0.0, 1e-6, 1.0, 40.0])
        together = share_budget(blocks, budget)
        with monkeypatch.context() as patch:
            patch.setattr(shared_budget, "MOST_PRICES", 1)
            alone = share_budget(blocks, budget)
        for one, other, block in zip(together, alone, blocks, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
            # Nothing beyond the budget.
            assert np.isfinite(one).all(), block.loss
        spent = sum(
            b.loss.score(b.prediction, y) / b.weight
            for b, y in zip(blocks, together, strict=True)
        )
        assert (spent <= budget + 1e-9 * (1 + np.abs(budget))).all()


def test_a_block_alone_gets_it_all():
    prediction = sl.Prediction(np.zeros(2))
    block = Block(sl.losses.Squared(), 2.0, prediction, np.array([3.0, 4.0]))
    (worst,) = share_budget([block], 8.0)
    # Squared loss 16 in the direction (3, 4) / 5: radius 4.
    np.testing.assert_allclose(worst, [2.4, 3.2])
