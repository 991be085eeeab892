# SPDX-License-Identifier: Apache-2.0
"""Hooks for mkdocs. They make pages from the source code, and handle links to files outside of docs/."""
import os
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import program_reference  # noqa: E402
import proto_reference  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders of the repository that are in the site, with their place in the site.
PLACES = {"bench/results/": "research/measured/", "docs/": ""}
PICTURE = "samples/attention.jpg"  # the site has this file under the same name
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def in_site(path):
    """Returns the name that a file of the repository has in the site; None if the site does not have the file."""
    folder = next((folder for folder in PLACES if path.startswith(folder)), None)
    if folder is not None and (ROOT / path).is_file():
        return PLACES[folder] + path.removeprefix(folder)
    return path if path == PICTURE else None


def in_tree(name):
    """Returns the folder of the repository that contains the source of a page."""
    folder, place = next((folder, place) for folder, place in PLACES.items() if name.startswith(place))
    return posixpath.dirname(folder + name.removeprefix(place))


def title_of(path):
    """Returns a page's title."""
    return (ROOT / path).read_text().split("\n", 1)[0].removeprefix("# ")


def on_config(config):
    """Replaces each folder in the table of contents by the folder's pages."""
    for section in config.nav:
        for entries in section.values():
            for entry in entries if isinstance(entries, list) else []:
                for title, name in entry.items():
                    if name.endswith("/"):
                        folder = in_tree(name + "page")
                        pages = sorted((ROOT / folder).glob("*.md"))
                        entry[title] = [in_site(f"{folder}/{path.name}") for path in pages]
    return config


def on_files(files, config):
    build = pathlib.Path(os.environ["VITRINE_BUILD"])
    for name, content in {
        "reference/programs.md": program_reference.page(build / "bin"),
        "reference/api.md": proto_reference.page(ROOT / "proto", proto_reference.API),
        "reference/text-files.md": proto_reference.page(ROOT / "proto", proto_reference.TEXT_FILES),
    }.items():
        files.append(File.generated(config, name, content=content))
    elsewhere = [path for folder in PLACES if folder != "docs/" for path in sorted((ROOT / folder).iterdir())]
    for path in [*elsewhere, ROOT / PICTURE]:
        name = in_site(path.relative_to(ROOT).as_posix())
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Changes links to files of the repository into links to the site's pages. If the site has no such page, the link
    becomes text with the file's path.

    If the text of a link is the file name of a page, the text becomes the title of the page.
    """
    name = page.file.src_uri

    def mend(match):
        text, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(in_tree(name), target))
        if "://" in target or not (ROOT / path).exists():
            return match[0]  # a generated page; if it does not exist, mkdocs reports it
        to = in_site(path)
        if text.endswith(".md") and text == posixpath.basename(path) and to is not None:
            text = title_of(path)
        if to is None:
            return f"`{path}`" if text.strip("`") in (path, posixpath.basename(path)) else f"{text} (`{path}`)"
        return f"[{text}]({posixpath.relpath(to, posixpath.dirname(name))}{anchor or ''})"

    return "".join(part if index % 2 else LINK.sub(mend, part) for index, part in enumerate(FENCE.split(markdown)))
