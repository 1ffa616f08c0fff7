"""The pages in a real browser: no errors, tables sort, figures show, offline.

Chromium runs headless with a script appended to a copy of the page; what the script
finds is written into the document, which `--dump-dom` prints.
"""

import json
import os
import shutil
import subprocess
from html import unescape

import pytest

from reproduction import paper
from reproduction.demo import facts as demo_facts
from reproduction.demo import sets
from reproduction.experiments import EXPERIMENTS, Cell, collect, run_all
from reproduction.experiments.settings import Extent
from reproduction.report import write

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
SMALL = Extent("quick", seeds=2, calibration=120, population=60)
#: Collects errors and requests from the first line of the page on.
LISTEN = """<script>
window.problems = [];
window.addEventListener("error", function (e) { problems.push(String(e.message)); });
console.error = console.warn = function (m) { problems.push(String(m)); };
</script>"""
ASK = """<script>
(function () {
  var found = { problems: problems };
  found.requests = performance.getEntriesByType("resource").map(function (r) {
    return r.name; }).filter(function (name) { return !name.startsWith("data:"); });
  var tables = Array.from(document.querySelectorAll("table.sortable"));
  found.unsorted = 0;
  tables.forEach(function (table) {
    table.querySelectorAll("th").forEach(function (head, column) {
      [1, -1].forEach(function (way) {
        head.querySelector("button").click();
        var seen = Array.from(table.tBodies[0].rows).map(function (row) {
          return row.cells[column].dataset.v; });
        for (var i = 1; i < seen.length; i++) {
          var a = seen[i - 1], b = seen[i];
          var number = a !== "" && b !== "" && !isNaN(a) && !isNaN(b);
          var order = number ? a - b : a.localeCompare(b);
          if (way * order > 0) { found.unsorted += 1; }
        }
      });
    });
  });
  found.tables = tables.length;
  var panels = Array.from(document.querySelectorAll("svg.panel"));
  found.panels = panels.length;
  found.hidden = panels.filter(function (panel) {
    var box = panel.getBoundingClientRect();
    return box.width < 200 || box.height < 100; }).length;
  found.wide = document.documentElement.scrollWidth > window.innerWidth;
  var mark = document.querySelector("circle[data-tip]");
  mark.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  found.tip = document.getElementById("tip").textContent;
  found.shown = getComputedStyle(document.getElementById("tip")).display;
  var bad = document.querySelector("tr.bad td");
  found.red = bad ? getComputedStyle(bad).color : null;
  var out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.appendChild(out);
})();
</script>"""


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        needed = "Chromium is not installed: `apt-get install chromium`."
        # In CI a missing browser is a broken machine, not a reason to test less.
        if os.environ.get("CI"):
            pytest.fail(needed)
        pytest.skip(needed)


@pytest.fixture(scope="module")
def demonstration(browser, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        sizes = {"training": 150, "calibration": 80, "test": 200}
        patch.setattr(demo_facts, "SIZES", sizes)
        patch.setattr(demo_facts, "MEASURED", 10)
        facts = demo_facts.collect(seed=1)
    facts["rows"][0]["verdict"] = "refuted"
    return write(sets.page(facts), facts, tmp_path_factory.mktemp("demo"))[0]


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    pytest.importorskip("torch", reason="the portfolio's networks are torch's")
    cells = [
        Cell(EXPERIMENTS["newsvendor"].settings[3], (0, 1), SMALL),
        Cell(EXPERIMENTS["portfolio"].settings[2], (0, 1), SMALL),
    ]
    folder = tmp_path_factory.mktemp("cells")
    assert run_all(cells, folder, jobs=1) == []
    facts = collect(cells, folder, SMALL)
    facts["problems"][0]["promises"][0]["verdict"] = "broken"
    return paper.write(facts, tmp_path_factory.mktemp("report"))[0]


def looked_at(page, folder, width, add=""):
    """What the browser finds on the page in a window of that width."""
    text = page.read_text(encoding="utf-8")
    text = text.replace("<head>", "<head>" + LISTEN + add, 1)
    watched = folder / "watched.html"
    watched.write_text(text.replace("</body>", ASK + "</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},900",
            "--dump-dom",
            watched.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    start = done.stdout.index('<pre id="found">') + len('<pre id="found">')
    return json.loads(unescape(done.stdout[start : done.stdout.index("</pre>", start)]))


@pytest.mark.parametrize("width", [1200, 420])
def test_the_page_works(page, tmp_path, width):
    found = looked_at(page, tmp_path, width)
    assert found["problems"] == []
    assert found["requests"] == []
    assert found["tables"] >= 8
    assert found["unsorted"] == 0
    assert found["panels"] == 4 * 3  # two holding costs and one portfolio
    assert found["hidden"] == 0
    assert not found["wide"]
    assert "objective" in found["tip"]
    assert found["shown"] == "block"
    assert found["red"] == "rgb(176, 0, 32)"


@pytest.mark.parametrize("width", [1200, 420])
def test_the_page_of_the_demonstration_works(demonstration, tmp_path, width):
    found = looked_at(demonstration, tmp_path, width)
    assert found["problems"] == found["requests"] == []
    assert (found["tables"], found["unsorted"]) == (1, 0)
    assert (found["panels"], found["hidden"]) == (6 + 7 + 2, 0)
    assert not found["wide"]
    assert "realised" in found["tip"]
    assert found["shown"] == "block"
    assert found["red"] == "rgb(176, 0, 32)"


def test_errors_would_be_seen(page, tmp_path):
    add = "<script>throw new Error('planted')</script>"
    assert "planted" in looked_at(page, tmp_path, 1200, add)["problems"][0]
