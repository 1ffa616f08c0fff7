"""The navigation of the site, read from the front page.

docs/index.md lists every page under headings. The list is the navigation: a heading of
the second level is a tab, one of the third a section in it, a link a page. So pages are
listed once, and a page that is not listed fails the build.
"""

import re
from pathlib import Path

LINE = re.compile(
    r"^(?P<marks>##|###) (?P<heading>.+)$"
    r"|^- \[(?P<title>[^\]]+)\]\((?P<target>[^)#:]+\.md)\)",
    re.M,
)


def navigation(text):
    """The nested list that MkDocs calls `nav`, from the text of the front page."""
    home = [{"Home": "index.md"}]
    tab = section = None
    for match in LINE.finditer(text):
        if match["marks"] == "##":
            tab = section = []
            home.append({match["heading"]: tab})
        elif match["marks"] == "###" and tab is not None:
            section = []
            tab.append({match["heading"]: section})
        elif match["title"] and section is not None:
            section.append({match["title"]: match["target"]})
    return [entry for entry in home if next(iter(entry.values()))]


def on_config(config):
    """MkDocs calls this once the settings are read."""
    front = Path(config["docs_dir"]) / "index.md"
    config["nav"] = navigation(front.read_text(encoding="utf-8"))
    return config
