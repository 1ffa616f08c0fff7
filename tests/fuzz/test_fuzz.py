"""The fuzzer finds nothing on a handful of models, and finds what is planted."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from fuzz.__main__ import look
from fuzz.drawing import draw
from fuzz.law_regions import Laws
from fuzz.loss_regions import NAMES, Loss
from fuzz.model import Key, Model, Piece, Row
from fuzz.regions import Ball, Box, Budget
from fuzz.shrinking import shrink
from fuzz.source import written
from fuzz.table import table
from fuzz.verdicts import Report, examine

from fuzz import faults

NOTHING = np.zeros(0)
RNG = np.random.default_rng(5)


def model(region, unit=1.0):
    """Buy as much as the budget allows at the worst prices; gains are uncertain too."""
    units = np.full(2, unit)
    prices = Piece(
        0.0, np.zeros(2), NOTHING, NOTHING, np.zeros(2), np.diag([1.0, 2.0]), unit
    )
    gains = replace(prices, x=np.array([-6.0, -9.0]), yx=np.diag([0.5, 0.5]))
    return Model(
        seed=0,
        keys=(Key(region, units, ((2,),)),),
        lower=np.zeros(2),
        upper=np.full(2, 3.0),
        x_unit=np.array([1.0, 100.0]),
        booleans=0,
        rule=None,
        rows=(Row("affine", (prices,), limit=10.0),),
        objective=Row("affine", (gains,)),
    )


REGIONS = [
    Ball(np.array([3.0, 4.0]), np.array([1.0, 0.5]), 0.8, 2),
    Box(np.array([2.0, 3.0]), np.array([4.0, 5.0])),
    Budget(np.array([3.0, 4.0]), np.array([1.0, 1.0]), 1.5),
    Loss("huber", np.array([3.0, 4.0]), np.ones(2), 0.5, 1.0),
]


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.kind)
@pytest.mark.parametrize("unit", [1.0, 1e-4])
def test_a_right_answer_is_left_alone(region, unit):
    report = examine(model(region, unit))
    assert report.outcome == "optimal"
    assert not report.verdicts
    assert [a.status for a in report.arrivals] == ["optimal"] * 4
    assert report.best.status == "optimal"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (faults.smaller_set, "not robust"),
        (faults.dropped_row, "not robust"),
        (faults.wrong_sign, "not robust"),
        (faults.rosier_objective, "objective overstated"),
        (faults.harder_row, "status"),
        (faults.dearer_row, "suboptimal"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_fault_is_reported(fault, kind):
    whole = model(REGIONS[0])
    report = examine(whole, twin=fault(whole))
    assert report.outcome == "failed"
    assert kind in {verdict.kind for verdict in report.verdicts}


def test_an_error_that_is_not_the_librarys_own_is_reported(monkeypatch):
    def broken(path, models):
        raise KeyError(path)

    monkeypatch.setattr("fuzz.roads.load_policy", broken)
    report = examine(model(REGIONS[0]))
    assert [verdict.kind for verdict in report.verdicts] == ["raw error"]
    assert report.arrivals[3].message.startswith("KeyError")


def test_a_failure_is_made_smaller():
    whole = draw(2090)
    small = shrink(whole, lambda other: len(other.rows) > 0, tries=400)
    assert (len(small.keys), small.n, len(small.rows)) == (1, 1, 1)
    assert small.rule is None
    assert (small.x_unit == 1).all()
    assert len(written(small)) < len(written(whole)) / 2


def test_a_seed_is_a_model():
    assert written(draw(7)) == written(draw(7))
    assert written(draw(7)) != written(draw(8))


@pytest.mark.parametrize("loss", NAMES)
def test_worst_cases_of_the_oracle_are_inside_and_not_beaten(loss):
    shape = np.array([0.7, 1.6])
    region = Loss(loss, np.array([3.0, 2.0]), shape, 0.4, 2.5)
    if loss == "mahalanobis":
        region = replace(region, shape=np.array([[1.0, 0.0], [0.4, 0.6]]))
    if loss == "custom":
        region = replace(region, shape=np.ones(2))
    for direction in RNG.normal(size=(10, 2)):
        worst = region.worst(direction)
        assert region.excess(worst) <= 1e-9
        for ray in RNG.normal(size=(40, 2)):
            assert direction @ _end(region, ray) <= direction @ worst + 1e-7


def _end(region, ray):
    """The last outcome inside on a ray from the location, by halving."""
    low, high = 0.0, 1e3
    for _ in range(60):
        middle = (low + high) / 2
        inside = region.excess(region.location + middle * ray) <= 0
        low, high = (middle, high) if inside else (low, middle)
    return region.location + low * ray


def test_a_report_travels_between_processes():
    region = Laws("KLBall", np.array([0.4, 0.6]), 0.1)
    report = examine(model(region))
    other = pickle.loads(pickle.dumps(report))
    assert written(other.model) == written(report.model)


def test_the_table_counts_every_model_once():
    whole = model(REGIONS[0])
    lines = table([Report(whole, "optimal", (), ()), Report(whole, "refused", (), ())])
    assert lines.splitlines()[1].split() == ["all", "2", "1", "1", "0", "0"]


@pytest.mark.parametrize("seed", range(3000, 3006))
def test_nothing_is_found_on_a_few_models(seed):
    report = look(seed, shrunk=False)
    assert not report.verdicts, report.verdicts


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4000, 4060))
def test_nothing_is_found_on_more_models(seed):
    report = look(seed, shrunk=False)
    assert not report.verdicts, report.verdicts
