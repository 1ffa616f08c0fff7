"""Every snippet of README and docs runs, prints what the page says, and links resolve.

Blocks of one page share a namespace, in order. A ``text`` block right after a
``python`` block is the expected output; ``...`` stands for anything. A block is left
out only by the info string ``python no-run``. A page that begins with a comment
``<!-- needs: fastapi -->`` is run where that is installed.

Pages of docs/gallery are written by scripts: see test_gallery.py.
"""

import contextlib
import doctest
import io
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
# A snippet that cannot run is a promise nobody checks; allow next to none.
MOST_UNRUN = 2

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.M | re.S)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
HOME = PROJECT["urls"]["Repository"]
NEEDS = re.compile(r"^<!-- needs: (?P<names>[\w, ]+) -->\n")
HEADING = re.compile(r"^#+ (?P<title>.+)$", re.M)
WHITESPACE = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def name(page):
    return str(page.relative_to(ROOT))


def fences(page):
    """Info string, body and first line number of each fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("body"))
        yield match["info"].strip(), match["body"], line, match


def examples(page):
    """Each runnable block with its line number and expected output, if any."""
    text = page.read_text(encoding="utf-8")
    blocks = list(fences(page))
    for index, (info, body, line, match) in enumerate(blocks):
        if info != "python":
            continue
        expected = None
        if index + 1 < len(blocks):
            following, output, _, after = blocks[index + 1]
            between = text[match.end() : after.start()]
            if following == "text" and not between.strip():
                expected = output
        yield body, line, expected


def prose(page):
    """The page without its code, where brackets are not links."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def anchors(page):
    """The anchors a Markdown renderer gives the headings of the page."""
    titles = (match["title"] for match in HEADING.finditer(without_fences(page)))
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def without_fences(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def tracked_files():
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listing.stdout.splitlines()]


def written_by_hand(page):
    return page.parent != ROOT / "docs" / "gallery"


RUN = [page for page in PAGES if written_by_hand(page) and list(examples(page))]


@pytest.mark.parametrize("page", RUN, ids=name)
def test_snippets_run(page, tmp_path, monkeypatch):
    needs = NEEDS.match(page.read_text(encoding="utf-8"))
    for module in needs["names"].split(", ") if needs else ():
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    for body, line, expected in examples(page):
        # Leading newlines make a traceback point at the line of the page.
        code = compile("\n" * line + body, str(page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if expected is not None:
            assert doctest.OutputChecker().check_output(
                expected, printed.getvalue(), WHITESPACE
            ), f"{name(page)}:{line + 1} printed\n{printed.getvalue()}not\n{expected}"


def test_next_to_no_snippet_is_left_out():
    unrun = [
        f"{name(page)}:{line}"
        for page in PAGES
        for info, _, line, _ in fences(page)
        if info.startswith("python") and info != "python"
    ]
    assert len(unrun) <= MOST_UNRUN, unrun


def test_the_checker_rejects_a_wrong_output():
    check = doctest.OutputChecker().check_output
    assert check("0.10\n", "0.10 \n", WHITESPACE)
    assert not check("0.10\n", "0.11\n", WHITESPACE)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_local_links_resolve(page):
    for match in LINK.finditer(prose(page)):
        target, _, anchor = match["target"].partition("#")
        linked = (page.parent / target).resolve() if target else page
        if "://" in target:
            # What is in the repository can be looked up; for other sites see there.
            at_home = re.fullmatch(rf"{HOME}/(?:blob|raw|tree)/main/(.+)", target)
            if not at_home:
                continue
            linked = ROOT / at_home[1]
        assert linked.exists(), f"{name(page)} links to {match['target']}"
        if anchor:
            assert anchor in anchors(linked), f"{name(page)}: no #{anchor}"


def test_the_readme_reads_the_same_on_a_package_index():
    targets = [m["target"] for m in LINK.finditer(prose(ROOT / "README.md"))]
    assert any(target.startswith(f"{HOME}/raw/main/") for target in targets)
    assert not [target for target in targets if "://" not in target]


def test_every_page_is_in_the_index():
    index = ROOT / "docs" / "index.md"
    listed = {
        (index.parent / match["target"].partition("#")[0]).resolve()
        for match in LINK.finditer(prose(index))
    }
    pages = set((ROOT / "docs").rglob("*.md")) - {index}
    assert not {name(page) for page in pages - listed}


def test_no_file_names_a_machine_or_a_registry():
    # Written in two halves, or this file would find itself.
    forbidden = [
        "/wor" + "k/",
        "/roo" + "t/",
        "/hom" + "e/",
        "/op" + "t/",
        "artifac" + "tory",
        "pypi." + "org",
        "python" + "hosted",
    ]
    found = [
        f"{name(path)}: {word}"
        for path in tracked_files()
        if path.is_file()
        for word in forbidden
        if word.encode() in path.read_bytes()
    ]
    assert not found
