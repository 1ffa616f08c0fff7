"""The site: its navigation has every page, and what it shows was made by code."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAVIGATION = runpy.run_path(str(DOCS / "scripts" / "site.py"))["navigation"]

#: Phrases that sound better than they explain.
MANNERED = re.compile(
    r"break(s|ing)? (its|their|his|your) word|honestly|\bbreath(e|es|ing)\b|vandals"
    r"|keep(s|ing)? (its|their|your) word|out of the box|seamless|\bdear\b|\brosy\b"
    r"|nobody asked",
    re.I,
)


def targets(entries):
    for entry in entries:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else targets(value)


def test_navigation_has_every_page_once():
    front = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = list(targets(NAVIGATION(front)))
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_headings_are_tabs_and_sections():
    text = "## Learn\n- [First](a.md)\n### More\n- [Second](b.md): why\n## Empty\n"
    learn = [{"First": "a.md"}, {"More": [{"Second": "b.md"}]}]
    assert NAVIGATION(text) == [{"Home": "index.md"}, {"Learn": learn}]


def test_a_page_that_is_not_listed_is_missed():
    assert list(targets(NAVIGATION("## Learn\n- [A](a.md)\n"))) == ["index.md", "a.md"]
    assert list(targets(NAVIGATION("A link to [b](b.md) in a sentence."))) == [
        "index.md"
    ]


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda p: p.stem
)
def test_prose_is_plain(page):
    assert not MANNERED.findall(page.read_text(encoding="utf-8"))


FAULTS = runpy.run_path(str(DOCS / "scripts" / "links.py"))["faults"]


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ('<a href="other.html">', None),
        ('<a href="other.html#there">', None),
        ('<a href="https://example.com">', None),
        ('<a href="missing.html">', "not there"),
        ('<a href="other.html#nowhere">', "no such anchor"),
        ('<img src="missing.png">', "not there"),
        ('<script src="https://example.com/a.js"></script>', "fetches"),
    ],
)
def test_links_of_a_built_site_are_followed(tmp_path, written, fault):
    (tmp_path / "index.html").write_text(written, encoding="utf-8")
    (tmp_path / "other.html").write_text('<h1 id="there">', encoding="utf-8")
    seen = list(FAULTS(tmp_path.resolve()))
    assert len(seen) == (fault is not None)
    assert all(fault in sentence for sentence in seen)


def test_badges_say_what_is_declared():
    drawn = runpy.run_path(str(DOCS / "scripts" / "badges.py"))["badges"]()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, text in drawn.items():
        assert (DOCS / "figures" / name).read_text(encoding="utf-8") == text
        assert f"/docs/figures/{name})" in readme


def test_nothing_is_fetched_when_the_site_is_read():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "- offline" in settings
    # The theme asks a code host for stars where it knows one.
    assert "repo_url" not in settings
    assert "://" not in (DOCS / "stylesheets" / "site.css").read_text(encoding="utf-8")


def test_every_command_that_backs_a_claim_is_there():
    faq = (DOCS / "explanation" / "faq.md").read_text(encoding="utf-8")
    scripts = re.findall(r"`python ((?:bench|docs)/\S+\.py)", faq)
    assert len(scripts) >= 8
    assert all((ROOT / script).is_file() for script in scripts)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"`make (\w+)", faq)
    assert targets
    assert all(f"\n{target}:" in makefile for target in targets)
    pages = re.findall(r"gallery\.py (\w+)", faq)
    assert all((DOCS / "gallery" / f"{page}.py").is_file() for page in pages)
