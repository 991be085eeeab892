#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the lists of script/dev/mutants, equivalent.txt and suites.txt, fit the repository's sources."""

import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import population  # noqa: E402
import suites  # noqa: E402


class Lists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mutants = population.all_mutants()
        cls.table = suites.read(suites.TABLE.read_text())

    def test_every_listed_equivalent_still_applies(self):
        known = population.equivalents()
        kept = {mutant.id for mutant in population.without(self.mutants, known)}
        self.assertTrue(known)
        for entry in known:
            left_out = [mutant.id for mutant in self.mutants if entry.names(mutant)]
            self.assertTrue(left_out, f"{entry.file} has no fault of {entry.before!r} any more")
            self.assertEqual(kept & set(left_out), set(), entry.file)

    def test_every_file_has_suites_and_every_suite_exists(self):
        for file in population.files():
            self.assertTrue(suites.suites_of(file, self.table), file)
        described = "".join(path.read_text() for path in (population.ROOT / "tests").rglob("*")
                            if path.name == "CMakeLists.txt" or path.suffix == ".cmake")
        known = set(re.findall(r"\bvitrine_(?:script_)?test\((\w+)", described))
        for path, names in self.table.items():
            self.assertTrue((population.ROOT / path).exists(), path)
            self.assertEqual(set(names) - known, set(), path)


if __name__ == "__main__":
    unittest.main()
