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
#: In the order of Chromium's own numbers for them.
SCHEMES = ("dark", "light")
SMALL = Extent("quick", seeds=2, calibration=120, population=60)
#: Collects errors and requests from the first line of the page on.
LISTEN = """<script>
window.problems = [];
window.addEventListener("error", function (e) { problems.push(String(e.message)); });
console.error = console.warn = function (m) { problems.push(String(m)); };
</script>"""
#: Unfolds the page by its first link, then the rest, and looks at everything.
ASK = """<script>
window.addEventListener("load", async function () {
  function all(what, root) {
    return Array.from((root || document).querySelectorAll(what)); }
  function later() { return new Promise(function (done) { setTimeout(done, 100); }); }
  var seen = { problems: problems, width: window.innerWidth };
  seen.requests = performance.getEntriesByType("resource").map(function (r) {
    return r.name; }).filter(function (name) { return !name.startsWith("data:"); });
  seen.open = all("details[open]").length;
  seen.words = document.body.innerText.split(/[^A-Za-z0-9.%]+/).length;
  seen.lines = document.querySelector("h1").offsetHeight
    / parseFloat(getComputedStyle(document.querySelector("h1")).lineHeight);
  all(".box a").forEach(function (link) { link.click(); });
  await later();
  seen.opened = all("details[open]").map(function (part) { return part.id; });
  all("details").forEach(function (part) { part.open = true; });
  await later();
  var tables = all("table.sortable");
  seen.unsorted = 0;
  tables.forEach(function (table) {
    all("th", table).forEach(function (head, column) {
      [1, -1].forEach(function (way) {
        head.querySelector("button").click();
        var sorted = Array.from(table.tBodies[0].rows).map(function (row) {
          return row.cells[column].dataset.v; });
        for (var i = 1; i < sorted.length; i++) {
          var a = sorted[i - 1], b = sorted[i];
          var number = a !== "" && b !== "" && !isNaN(a) && !isNaN(b);
          var order = number ? a - b : a.localeCompare(b);
          if (way * order > 0) { seen.unsorted += 1; }
        }
      });
    });
  });
  seen.tables = tables.length;
  var hinted = all(".wide").map(function (box) {
    return [box.scrollWidth > box.clientWidth, !box.previousElementSibling.hidden]; });
  seen.scrolling = hinted.filter(function (one) { return one[0]; }).length;
  seen.silent = hinted.filter(function (one) { return one[0] !== one[1]; }).length;
  var panels = all("svg.panel");
  seen.panels = panels.length;
  seen.narrowest = Math.min.apply(null, panels.map(function (panel) {
    return panel.getBoundingClientRect().width; }));
  seen.clipped = panels.flatMap(function (panel) {
    var edge = panel.getBoundingClientRect();
    return all("text", panel).filter(function (text) {
      var box = text.getBoundingClientRect();
      return box.left < edge.left - 1 || box.right > edge.right + 1;
    }).map(function (text) { return text.textContent; });
  });
  seen.wide = document.documentElement.scrollWidth > window.innerWidth;
  var mark = document.querySelector("circle[data-tip]");
  mark.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  seen.tip = document.getElementById("tip").textContent;
  seen.shown = getComputedStyle(document.getElementById("tip")).display;
  seen.paper = getComputedStyle(document.body).backgroundColor;
  seen.red = getComputedStyle(document.querySelector("tr.bad td")).color;
  var drawn = all("svg.panel polyline, svg.panel text, td, p, a");
  seen.pale = drawn.filter(function (one) {
    var style = getComputedStyle(one);
    return contrast(one.matches("polyline") ? style.stroke
      : one.matches("text") ? style.fill : style.color, seen.paper) < 2;
  }).length;
  parent.postMessage(JSON.stringify(seen), "*");
});
function contrast(one, other) {
  function light(color) {
    var parts = color.match(/[0-9.]+/g).slice(0, 3).map(function (part) {
      var c = part / 255;
      return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4); });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }
  var a = light(one), b = light(other);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
</script>"""


#: A window of Chromium is never narrower than 500 pixels, a frame in it is.
FRAME = """<iframe src="watched.html" style="border: 0; width: %dpx; height: 900px">
</iframe><pre id="seen"></pre><script>
window.addEventListener("message", function (event) {
  document.getElementById("seen").textContent = event.data; });
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


def looked_at(page, folder, width, scheme="light", add=""):
    """What the browser sees on the page in a frame of that width."""
    text = page.read_text(encoding="utf-8")
    text = text.replace("<head>", "<head>" + LISTEN + add, 1)
    watched = folder / "watched.html"
    watched.write_text(text.replace("</body>", ASK + "</body>"), encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME % width, encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1300,950",
            f"--blink-settings=preferredColorScheme={SCHEMES.index(scheme)}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            frame.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    start = done.stdout.index('<pre id="seen">') + len('<pre id="seen">')
    text = done.stdout[start : done.stdout.index("</pre>", start)]
    seen = json.loads(unescape(text))
    assert seen["width"] == width
    return seen


@pytest.fixture(scope="module")
def light(page, tmp_path_factory):
    """What is seen of the page in light, by width."""
    return {
        width: looked_at(page, tmp_path_factory.mktemp(f"{width}"), width)
        for width in (1200, 420)
    }


def works(seen):
    """What holds of every page."""
    assert seen["problems"] == seen["requests"] == seen["clipped"] == []
    assert (seen["unsorted"], seen["silent"], seen["pale"]) == (0, 0, 0)
    assert not seen["wide"]
    assert seen["shown"] == "block"
    assert seen["lines"] < 2.1
    assert seen["narrowest"] >= 330


@pytest.mark.parametrize("width", [1200, 420])
def test_the_page_works(light, width):
    seen = light[width]
    works(seen)
    assert seen["tables"] >= 8
    assert seen["panels"] == 3 * 3  # two holding costs and one portfolio
    assert "objective" in seen["tip"]
    assert seen["red"] == "rgb(176, 0, 32)"


def test_a_minute_comes_first_and_links_unfold_the_rest(light):
    seen = light[1200]
    assert seen["open"] == 0
    # Before anything is opened; half of it are cells of tables.
    assert seen["words"] < 550
    assert seen["opened"] == [
        "newsvendor", "portfolio", "what-each-promise-assumes", "verdicts",
    ]  # fmt: skip


def test_tables_that_scroll_on_a_phone_say_so(light):
    seen = light[420]
    assert seen["scrolling"] > seen["tables"] / 2
    assert seen["silent"] == 0
    assert light[1200]["scrolling"] < seen["tables"] / 2


def test_the_page_of_the_demonstration_works_on_a_phone(demonstration, tmp_path):
    seen = looked_at(demonstration, tmp_path, 420, "dark")
    works(seen)
    assert (seen["tables"], seen["panels"]) == (1, 3 + 1 + 1)
    assert "promised" in seen["tip"]


def test_dark_is_dark(page, tmp_path):
    seen = looked_at(page, tmp_path, 1200, "dark")
    works(seen)
    assert seen["paper"] == "rgb(20, 24, 29)"
    assert seen["red"] == "rgb(255, 123, 134)"


def test_errors_would_be_seen(page, tmp_path):
    add = "<script>throw new Error('planted')</script>"
    assert "planted" in looked_at(page, tmp_path, 1200, add=add)["problems"][0]
