# SPDX-License-Identifier: Apache-2.0
"""What mkdocs asks while it builds the site: pages that are made from the source, and links that leave docs/."""
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
MEASURED = "bench/results"  # pages of the site too, beside docs/
PICTURE = "samples/attention.jpg"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def pages_of(folder):
    """Names of the pages in a folder of the site, as `nav` has them."""
    source = ROOT / MEASURED if folder == "research/measured/" else ROOT / "docs" / folder
    return [folder + path.name for path in sorted(source.glob("*.md"))]


def on_config(config):
    for section in config.nav:
        for entries in section.values():
            for entry in entries if isinstance(entries, list) else []:
                for title, name in entry.items():
                    if name.endswith("/"):
                        entry[title] = pages_of(name)
    return config


def on_files(files, config):
    build = pathlib.Path(os.environ["VITRINE_BUILD"])
    for name, content in {
        "reference/programs.md": program_reference.page(build / "bin"),
        "reference/api.md": proto_reference.page(ROOT / "proto", proto_reference.API),
        "reference/text-files.md": proto_reference.page(ROOT / "proto", proto_reference.TEXT_FILES),
    }.items():
        files.append(File.generated(config, name, content=content))
    for path in sorted((ROOT / MEASURED).iterdir()):
        name = f"research/measured/{path.name}"
        files.append(File.generated(config, name, abs_src_path=str(path)))
    files.append(File.generated(config, PICTURE, abs_src_path=str(ROOT / PICTURE)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links to files of the tree that are no pages become their names."""
    here = posixpath.dirname(page.file.src_uri)

    def mend(match):
        text, target, anchor = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join("docs", here, target))
        if page.file.src_uri.startswith("research/measured/"):
            path = posixpath.normpath(posixpath.join(MEASURED, target))
        if path.startswith(MEASURED + "/"):
            return f"[{text}]({posixpath.relpath('research/measured/' + posixpath.basename(path), here)}{anchor or ''})"
        if path.startswith("docs/") and (ROOT / path).is_dir():
            return f"[{text}]({posixpath.relpath(path.removeprefix('docs/') + '/index.md', here)})"
        if path.startswith("docs/") and not page.file.src_uri.startswith("research/measured/"):
            return match[0]
        if path.startswith("docs/"):
            return f"[{text}]({posixpath.relpath(path.removeprefix('docs/'), here)}{anchor or ''})"
        if not (ROOT / path).exists():
            raise ValueError(f"{page.file.src_uri}: {target} is not in the tree")
        return f"`{path}`" if text.strip("`") in (path, posixpath.basename(path)) else f"{text} (`{path}`)"

    return "".join(part if index % 2 else LINK.sub(mend, part) for index, part in enumerate(FENCE.split(markdown))
                   ).replace(f"](../{PICTURE})", f"]({PICTURE})")
