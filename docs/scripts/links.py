"""Follow every link of the built site to its file and anchor: `make docs` runs this.

MkDocs checks links between Markdown pages. This reads the pages as a browser would:
links of the theme, of raw HTML, pictures, scripts and styles too. Anything that is
fetched from elsewhere fails, and so does a link to nowhere.

    python docs/scripts/links.py build/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser fetches by itself when it shows a page.
FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """The links of a page and the anchors it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append((tag, name, value))


def faults(folder):
    """A sentence for each link that leads nowhere, or is fetched from elsewhere."""
    pages = {
        path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
    }
    for path, page in pages.items():
        where = path.relative_to(folder).as_posix()
        for tag, name, value in page.links:
            link = urlsplit(value)
            if link.scheme or link.netloc:
                if (tag, name) in FETCHED and link.scheme != "data":
                    yield f"{where} fetches {value}"
                continue
            # The page for addresses that do not exist is served at any depth.
            start = folder if link.path.startswith("/") else path.parent
            target = (start / unquote(link.path).lstrip("/")).resolve()
            target = path if not link.path else target
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{where} links to {value}, which is not there"
            elif link.fragment and target in pages:
                anchors = pages[target].anchors
                if unquote(link.fragment) not in anchors:
                    yield f"{where} links to {value}, which has no such anchor"


def main(folder):
    folder = Path(folder).resolve()
    if not (folder / "index.html").is_file():
        raise SystemExit(f"{folder} has no site: run `make docs`.")
    dead = sorted(set(faults(folder)))
    for fault in dead:
        print(fault)
    if dead:
        raise SystemExit(f"{len(dead)} links are dead.")
    print(f"{len(list(folder.rglob('*.html')))} pages, every link leads somewhere.")


if __name__ == "__main__":
    main(sys.argv[1])
