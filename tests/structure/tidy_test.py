# SPDX-License-Identifier: Apache-2.0
"""script/tidy: what it remembers as clean, without clang."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("tidy", str(SOURCE / "script/tidy"))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)


class Sources:
    """Those of a tree in which a.cc includes a.h."""
    def key(self, path):
        return f"digest-of-{path.name}"

    def closure(self, path):
        return {path, path.with_suffix(".h")}


class Remembered(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.cache = pathlib.Path(scratch.name)
        self.path = pathlib.Path("a.cc")

    def run_of(self, alone):
        return tidy.Run(Sources(), self.cache, alone)

    def test_what_is_clean_among_others_may_not_be_so_alone(self):
        for alone in (False, True):
            self.assertFalse(self.run_of(alone).known(self.path))
            self.run_of(alone).keep([self.path], [])
            self.assertTrue(self.run_of(alone).known(self.path))

    def test_what_has_findings_in_itself_or_a_header_is_not_clean(self):
        for name in ("a.cc", "a.h"):
            run = self.run_of(alone=False)
            run.findings["a finding"] = pathlib.Path(name)  # printed once
            run.keep([self.path], [(pathlib.Path(name), "a finding")])
            self.assertFalse(self.run_of(alone=False).known(self.path), name)


if __name__ == "__main__":
    unittest.main()
