# SPDX-License-Identifier: Apache-2.0
"""Follows every link of a built site: each page, file and anchor must exist, and nothing may be loaded from another site.

Usage: check_links.py SITE
"""
import html.parser
import pathlib
import sys
import urllib.parse

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(html.parser.HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(value for name in ("id", "name") if (value := values.get(name)))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]):
            self.loaded.append(values[LOADED[tag]])


def faults_of(path: pathlib.Path, site: pathlib.Path, pages: dict[pathlib.Path, Page]):
    page = pages[path]
    for address in page.loaded:
        if urllib.parse.urlsplit(address).netloc:
            yield f"loads {address} from elsewhere"
    for address in page.links + page.loaded:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        anchor = urllib.parse.unquote(parts.fragment)
        if not target.is_relative_to(site) or not target.exists():
            yield f"{address} is not there"
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield f"{address}: that page has no such anchor"


def main() -> int:
    site = pathlib.Path(sys.argv[1]).resolve()
    # The page for addresses that are not found has links from the root, which a web server has and a folder has not.
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    faults = [f"{path.relative_to(site)}: {fault}" for path in sorted(pages) for fault in faults_of(path, site, pages)]
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    links = sum(len(page.links) for page in pages.values())
    print(f"{site}: {len(pages)} pages, {links} links, {len(faults)} of them broken")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
