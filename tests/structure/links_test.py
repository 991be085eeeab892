# SPDX-License-Identifier: Apache-2.0
"""Tests that every link between documents has a target, and that every page of docs/ that a file names exists."""
import os
import pathlib
import re
import unittest

import tree

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
NAMED = re.compile(r"(?<![\w/-])docs/[a-z-]+(?:/[\w-]+)*\.md")


def anchors(markdown: str) -> set[str]:
    """Returns the anchors that GitHub and the documentation site generate for the headings."""
    plain = (re.sub(r"[`*]", "", heading).lower() for heading in HEADING.findall(FENCE.sub("", markdown)))
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading).strip()) for heading in plain}


def broken(page: pathlib.PurePath, markdown: str) -> list[str]:
    found = []
    for target, anchor in LINK.findall(FENCE.sub("", markdown)):
        if "://" in target or not (target or anchor):
            continue
        to = pathlib.PurePath(os.path.normpath(page.parent / target) if target else page)
        if not (tree.SOURCE / to).exists():
            found.append(f"{page}: {target} is not there")
        elif anchor and to.suffix == ".md" and anchor not in anchors(tree.text(to)):
            found.append(f"{page}: {to} has no heading for #{anchor}")
    return found


class Links(unittest.TestCase):
    def test_links_of_documents_have_targets(self):
        pages = [path for path in tree.files() if path.suffix == ".md"]
        self.assertGreater(len(pages), 50)
        self.assertEqual([fault for page in pages for fault in broken(page, tree.text(page))], [])

    def test_pages_that_are_named_exist(self):
        missing = {f"{path} names {name}" for path in tree.files() for name in NAMED.findall(tree.text(path))
                   if not (tree.SOURCE / name).exists()}
        self.assertEqual(missing, set())

    def test_detects_broken_links(self):
        readme, contributing = pathlib.PurePath("README.md"), pathlib.PurePath("CONTRIBUTING.md")
        self.assertEqual(broken(readme, "[a](CHANGELOG.md) [b](docs) [c](https://example.org/x)"), [])
        self.assertEqual(broken(readme, "```\n[d](gone.md)\n```"), [])
        self.assertEqual(broken(readme, "[a](docs/gone)"), ["README.md: docs/gone is not there"])
        self.assertEqual(broken(readme, f"[a]({contributing}#gone)"),
                         ["README.md: CONTRIBUTING.md has no heading for #gone"])
        self.assertEqual(anchors("## A `word`, and more\n```\n# none\n```"), {"a-word-and-more"})


if __name__ == "__main__":
    unittest.main()
