"""The reference pages say what the docstrings say."""

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_reference_is_up_to_date():
    pages = runpy.run_path(str(DOCS / "scripts" / "reference.py"))["pages"]()
    stale = [
        name
        for name, text in pages.items()
        if not (DOCS / "reference" / name).is_file()
        or (DOCS / "reference" / name).read_text(encoding="utf-8") != text
    ]
    assert not stale, f"Run `make docs`: {stale} differ from the docstrings."
