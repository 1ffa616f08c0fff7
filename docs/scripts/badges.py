"""Draw the README's badges from pyproject.toml: `make docs` runs this.

What they say is read from the settings that make it true, and a test holds the files to
that. They are files of the repository: no other server is asked for them.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "figures"
#: Width of a letter, and of what is left free around a word, in pixels.
LETTER, ROOM = 6.6, 10


def badge(label, value):
    """Two words side by side, as an SVG."""
    left, right = (round(len(word) * LETTER + 2 * ROOM) for word in (label, value))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" '
        f'role="img" aria-label="{label}: {value}">'
        f'<rect width="{left + right}" height="20" rx="3" fill="#00796b"/>'
        f'<rect width="{left}" height="20" rx="3" fill="#444"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
        f'text-anchor="middle"><text x="{left / 2}" y="14">{label}</text>'
        f'<text x="{left + right / 2}" y="14">{value}</text></g></svg>\n'
    )


def badges():
    """The text of every badge, by file name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    marks = [mark.rpartition(" :: ")[2] for mark in project["classifiers"]]
    versions = [mark for mark in marks if mark.startswith("3.")]
    strict = settings["tool"]["mypy"]["strict"] and "Typed" in marks
    return {
        "badge-python.svg": badge("python", " | ".join(versions)),
        "badge-licence.svg": badge("licence", project["license"]),
        "badge-types.svg": badge("types", "mypy strict" if strict else "in part"),
    }


def main():
    for name, text in badges().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"docs/figures/{name}")


if __name__ == "__main__":
    main()
