"""Points that are right but for a curved cone: nothing but membership refuses them."""

import numpy as np
import pytest

from sublevel.conic import misses
from sublevel.conic.products import times, transposed
from sublevel.conic.program import ProgramData, whole

pytest.importorskip("numba")

from sublevel.conic.batched import certificate, iterate
from sublevel.conic.batched.solver import Batched

from .programs import feasible

#: How far points are moved along the boundary's tangent, beside their own size.
STEP = 0.05


def solved(kind):
    """Certified contexts whose last cone binds: data, x, z, slack, a tangent (n, 3)."""
    cones = [("zero", 1), ("nonneg", 3), kind, kind]
    data = feasible(cones, 5, 120, np.random.default_rng(12))
    _, x, z = iterate.run(Batched().plan(data.program), data)
    slack = data.b.rows() - times(data, x)
    price, own = z[:, -3:], slack[:, -3:]
    # Where the boundary is curved; on a face of an exponential cone one may move.
    binds = (np.abs(price[:, 0]) > 1e-2) & (own[:, 1] > 1e-2)
    rows = np.flatnonzero(certificate.optimal(data, x, z) & binds)
    assert len(rows) >= 10
    across = np.cross(own[rows], price[rows])
    across /= np.linalg.norm(across, axis=1)[:, None]
    return data.at(rows), x[rows], z[rows], slack[rows], across


def is_refused_by(name, monkeypatch, *claim):
    """Refused as a whole, and believed as a whole by whom does not look."""
    refused = not certificate.optimal(*claim).any()
    monkeypatch.setattr(misses, name, lambda kind, size, v: np.zeros_like(v))
    return refused and bool(certificate.optimal(*claim).all())


@pytest.mark.parametrize("kind", [("exp", 3), ("power", 0.4)])
def test_a_slack_outside_its_cone(kind, monkeypatch):
    """Moved across its multiplier: gap and residuals are what they were."""
    data, x, z, slack, across = solved(kind)
    b = data.b.rows().copy()
    b[:, -3:] += STEP * across * np.linalg.norm(slack[:, -3:], axis=1)[:, None]
    other = ProgramData(data.program, data.P, data.q, data.A, whole(b))
    assert certificate.optimal(data, x, z).all()
    assert is_refused_by("change_into_cone", monkeypatch, other, x, z)


@pytest.mark.parametrize("kind", [("exp", 3), ("power", 0.4)])
def test_multipliers_outside_the_dual_cone(kind, monkeypatch):
    """Moved across their slack, and the costs with them."""
    data, x, z, _, across = solved(kind)
    change = np.zeros_like(z)
    change[:, -3:] = STEP * across * np.linalg.norm(z[:, -3:], axis=1)[:, None]
    q = data.q.rows().copy()
    q[:, :-1] -= transposed(data, change)
    other = ProgramData(data.program, data.P, whole(q), data.A, data.b)
    assert is_refused_by("change_into_dual", monkeypatch, other, x, z + change)
