"""One setting of each problem, run for real: published numbers, promises, headroom."""

import pytest

from reproduction.experiments import EXPERIMENTS, Cell, collect, run_all
from reproduction.experiments.settings import Extent

FEW = Extent("few", seeds=5, calibration=300, population=4000)


def facts_of(problem, number, folder):
    cells = [Cell(EXPERIMENTS[problem].settings[number], tuple(range(5)), FEW)]
    assert run_all(cells, folder, jobs=1) == []
    return collect(cells, folder, FEW)["problems"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem, number, count",
    [("newsvendor", 3, 13), ("portfolio", 2, 9), ("shortest-path", 0, 9)],
)
def test_a_setting_is_reproduced(problem, number, count, tmp_path):
    facts = facts_of(problem, number, tmp_path)
    expected = [row for row in facts["cells"] if row["expected"] == "R"]
    assert len(facts["cells"]) == count
    assert {row["verdict"] for row in expected} == {"reproduced"}
    proved = [row for row in facts["promises"] if row["promise"] == "proved"]
    assert {row["verdict"] for row in proved} == {"kept"}
    assert all(row["verdict"] == "reached" for row in facts["headroom"])
    # The other way round: what promises nothing is far above every level.
    careless = [r for r in facts["promises"] if r["method"] == "Predict, then optimise"]
    assert min(row["violation"] for row in careless) > 0.1
