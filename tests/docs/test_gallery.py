"""Pages of the gallery are what their scripts say."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
GALLERY = runpy.run_path(str(DOCS / "scripts" / "gallery.py"))
SCRIPTS = GALLERY["scripts"]()
PUBLISHED = sorted(path.stem for path in (DOCS / "gallery").glob("*.md"))
PICTURE = re.compile(r"!\[[^\]]+\]\((?P<name>[^)]+)\)")


@pytest.mark.parametrize("name", PUBLISHED)
def test_page_has_the_prose_and_the_code_of_its_script(name):
    page = (DOCS / "gallery" / f"{name}.md").read_text(encoding="utf-8")
    position = 0
    for part in GALLERY["source"](SCRIPTS[name]):
        position = page.find(part, position)
        assert position >= 0, f"Run `make docs`: {name}.md lacks\n{part}"


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_page_has_pictures_and_all_of_them(name):
    page = (DOCS / "gallery" / f"{name}.md").read_text(encoding="utf-8")
    shown = {match["name"] for match in PICTURE.finditer(page)}
    drawn = {path.name for path in (DOCS / "gallery").glob(f"{name}-*.png")}
    assert shown == drawn
    assert shown


def test_a_script_is_cut_into_prose_and_code(tmp_path):
    script = tmp_path / "example.py"
    script.write_text(
        '"""# Title\n\nQuestion."""\n\nx = 1\n\n# %%\n# ## Then\n\ny = 2\n'
    )
    title, then = GALLERY["cells"](script)
    assert (title.prose, title.code) == ("# Title\n\nQuestion.", "x = 1")
    assert (then.prose, then.code) == ("## Then", "y = 2")
    # A traceback must point at the line of the script.
    assert script.read_text().splitlines()[then.line].strip() in ("", "y = 2")
