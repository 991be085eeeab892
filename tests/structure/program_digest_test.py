# SPDX-License-Identifier: Apache-2.0
"""Tests the digest of sources that a training's result stores: the sources that it covers, and the changes that it detects.

A source is covered if it determines the result of a training.

Usage: program_digest_test.py BUILD
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tree import SOURCE

BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else SOURCE / "build"
# Sources without influence on the result, although covered sources include them: code for files, texts, counts and progress.
HARMLESS = re.compile(r"common/[^/]*|common/(charts|drawing|file)/.*|models/(repository|workload)/.*"
                      r"|trainer/watch/progress_bar\.h")


def listed() -> "list[str]":
    return (BUILD / "trainer/program_sources.txt").read_text().split()


class Sources(unittest.TestCase):
    def test_covers_training_and_evaluation(self) -> None:
        for name in ("trainer/loop.cc", "trainer/tasks/image_task.cc", "trainer/optimise/optimizer.h", "trainer/cli/run.cc",
                     "models/families/eit.cc", "models/reference/operators/dropout.cc", "models/program/builder.cc",
                     "common/data/csv.cc", "common/imaging/resize.h", "proto/vitrine/v1/recipe.proto"):
            self.assertIn(name, listed())

    def test_omits_serving_documentation_and_reports(self) -> None:
        others = re.compile(r"(docs|server|client|bench|script|tests)/|models/(engine|tool|bundled)/"
                            r"|trainer/(watch/(?!history\.)|sweep/|publish/|recipes/)|.*\.(md|txt|textproto)$")
        self.assertEqual([name for name in listed() if others.match(name)], ["script/pins/libtorch.txt"])

    def test_covers_the_includes_of_covered_sources(self) -> None:
        names = set(listed())
        included = {path for name in names for path in re.findall(r'^#include "([^"]+)"', (SOURCE / name).read_text(), re.M)
                    if not name.startswith("trainer/cli/") and (SOURCE / path).exists()}
        self.assertEqual(sorted(path for path in included - names if not HARMLESS.fullmatch(path)), [])


class Digest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("a.cc", "// Adds.\nint f(int x) {\n  return x + 1;\n}\n")
        self.write("b.h", "int g();\n")

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def digest(self, names: str = "a.cc\nb.h\n") -> str:
        self.write("list", names)
        subprocess.run(["cmake", f"-DSOURCE={self.root}", f"-DLIST={self.root}/list", f"-DOUTPUT={self.root}/out.h", "-P",
                        str(SOURCE / "cmake/write_program_digest.cmake")], check=True)
        return re.fullmatch(r'#define VITRINE_PROGRAM_DIGEST "([0-9a-f]{64})"\n', (self.root / "out.h").read_text())[1]

    def test_comments_and_layout_do_not_change_the_digest(self) -> None:
        before = self.digest()
        self.write("a.cc", "// Returns the next number;\n// see b.h.\n\nint f(int x) {\n    // Adds one.\n    return x + 1;\n}\n")
        self.assertEqual(self.digest(), before)

    def test_code_file_names_and_the_file_list_change_the_digest(self) -> None:
        digests = [self.digest(), self.digest("a.cc\n")]
        self.write("a.cc", "// Adds.\nint f(int x) {\n  return x + 2;\n}\n")
        digests.append(self.digest())
        self.write("c.h", (self.root / "b.h").read_text())
        digests.append(self.digest("a.cc\nc.h\n"))
        self.assertEqual(len(set(digests)), 4)


if __name__ == "__main__":
    unittest.main()
