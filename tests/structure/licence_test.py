# SPDX-License-Identifier: Apache-2.0
"""Tests that every source file states its licence in its first line, or in its second line after `#!`."""
import unittest
from pathlib import PurePath
from typing import Optional

from tree import SOURCE, files, text

LICENCE = "SPDX-License-Identifier: Apache-2.0"
# Start of a comment, by the extension of the file. For `.in` files, the extension before `.in` counts.
COMMENTS = {".cc": "//", ".h": "//", ".cu": "//", ".proto": "//", ".py": "#", ".cmake": "#", ".sh": "#", ".pc": "#", ".js": "//"}
COMMENTS_BY_NAME = {"CMakeLists.txt": "#", "Dockerfile": "#"}


def comment(path: PurePath, content: str) -> Optional[str]:
    """Returns the start of a comment in this file, or None for data, configuration and documentation."""
    if {"corpus", "golden"} & set(path.parts):
        return None
    kind = PurePath(path.name.removesuffix(".in")).suffix
    return COMMENTS_BY_NAME.get(path.name) or COMMENTS.get(kind) or ("#" if content.startswith("#!") else None)


def says_it(mark: str, content: str) -> bool:
    first, _, rest = content.partition("\n")
    line = rest.partition("\n")[0] if first.startswith(("#!", "# syntax=")) else first
    return line == f"{mark} {LICENCE}"


class Licence(unittest.TestCase):
    def test_every_source_states_its_licence(self) -> None:
        sources = [(path, comment(path, text(path))) for path in files()]
        sources = [(path, mark) for path, mark in sources if mark]
        self.assertGreater(len(sources), 1000)
        silent = [str(path) for path, mark in sources if not says_it(mark, text(path))]
        self.assertEqual(silent, [], f"their first line must be // or # and then {LICENCE}")

    def test_repository_has_the_same_licence(self) -> None:
        self.assertRegex((SOURCE / "LICENSE").read_text(), r"Apache License\s+Version 2\.0")

    def test_detects_a_missing_licence(self) -> None:
        self.assertEqual(comment(PurePath("a/b.cc"), ""), "//")
        self.assertEqual(comment(PurePath("script/x"), "#!/bin/sh\n"), "#")
        self.assertEqual(comment(PurePath("trainer/recipes.cc.in"), ""), "//")
        self.assertIsNone(comment(PurePath("README.md"), "text"))
        self.assertTrue(says_it("#", f"#!/bin/sh\n# {LICENCE}\n"))
        self.assertFalse(says_it("#", f"#!/bin/sh\n\n# {LICENCE}\n"))
        self.assertFalse(says_it("//", "#include <a.h>\n"))


if __name__ == "__main__":
    unittest.main()
