"""Check the built site without a network: links and anchors lead somewhere, and pages load nothing from elsewhere.

python docs/links.py build/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        target = given.get("href") or given.get("src")
        if target:
            (self.links if tag == "a" else self.loaded).add(target)


def faults(site: Path) -> list[str]:
    """Return what is wrong with a site, a line for each fault."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    found = [] if pages else [f"{site} must have pages, got none."]
    for path, page in pages.items():
        for target in sorted(page.links | page.loaded):
            where = urlsplit(target)
            if where.scheme or where.netloc:
                if target in page.loaded and where.scheme != "data":
                    found.append(f"{path.relative_to(site.resolve())} loads {target}")
                continue
            file = (path.parent / unquote(where.path)).resolve() if where.path else path
            anchor = unquote(where.fragment)
            if not file.is_file() or (anchor and file in pages and anchor not in pages[file].anchors):
                found.append(f"{path.relative_to(site.resolve())} links to {target}, which does not exist")
    return found


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(1 if lines else 0)
