#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests script/dev/mutants without a compiler: the faults of a line, the random draw, and the verdicts in a small
artificial tree."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cpp  # noqa: E402
import faults  # noqa: E402
import population  # noqa: E402
import suites  # noqa: E402
import summary  # noqa: E402
import workshop  # noqa: E402


def afters(text, kind=None):
    return [m.after.strip() for m in faults.mutants_of("a.cc", text) if kind in (None, m.kind)]


class Code(unittest.TestCase):
    def test_comments_and_strings_are_masked(self):
        self.assertEqual(cpp.masked('a = "x < 1"; // b < 2'), 'a = "_____";' + " " * 9)
        self.assertEqual(cpp.masked("a /* < \n < */ < b"), "a      \n      < b")
        self.assertEqual(cpp.masked('R"x(1 < "2")x" < 3'), "R" + "_" * 12 + '" < 3')
        self.assertEqual(cpp.masked("1'000'000 < '9'"), "1'000'000 < '_'")
        self.assertEqual(cpp.masked(r'"a\"b" + 1'), '"____" + 1')

    def test_messages_logs_and_hints_have_no_faults(self):
        for text in ["#include <a/b1.h>", "using A = B<1>;", "static_assert(sizeof(int) == 4);",
                     "spdlog::info(\"{} of {}\", i + 1, count);", "vitrine::Log(LogLevel::kInfo, \"x\",\n    {{\"n\", 1}});",
                     "values.reserve(2 * count);", "// a < b", "  pthread_setname_np(thread, name);",
                     'return Columns{{"p50 ms", true}, {"stage", false}};',
                     'throw absl::InvalidArgumentError(absl::StrCat("at most ", kMost - 1));']:
            self.assertEqual(afters(text, "operator") + afters(text, "constant") + afters(text, "statement"), [], text)

    def test_the_statement_after_a_log_line_has_faults(self):
        self.assertEqual(afters("spdlog::info(\"a\",\n  1);\nreturn 1;"), ["return 2;"])


class Faults(unittest.TestCase):
    def test_operators(self):
        self.assertEqual(afters("return a < b;"), ["return a <= b;"])
        self.assertEqual(afters("return a == b;"), ["return a != b;"])
        self.assertEqual(afters("return a && b;"), ["return a || b;"])
        self.assertEqual(afters("return a + b;"), ["return a - b;"])
        self.assertEqual(afters('return "a" + b;'), [])
        self.assertEqual(afters("std::vector<int>& a = *b;", "operator"), [])
        self.assertEqual(afters("return a && b && c;"), [])

    def test_constants(self):
        self.assertEqual(afters("return 0;"), ["return 1;"])
        self.assertEqual(afters("return 12u;"), ["return 24u;"])
        self.assertEqual(afters("return 0.5f;"), ["return 1.5f;"])
        self.assertEqual(afters("return 1'000'000;"), ["return 2000000;"])
        self.assertEqual(afters("return 0xFF;"), ["return 0x100;"])
        self.assertEqual(afters("return true;"), ["return false;"])
        self.assertEqual(afters("return float32x4;"), [])

    def test_bounds(self):
        self.assertEqual(afters("return a.size();"), ["return a.size() - 1;"])
        self.assertEqual(afters("return std::min(a, b);"), ["return std::max(a, b);"])
        self.assertEqual(afters("for (int i = 0; i < n; ++i) {", "bound"),
                         ["for (int i = 1; i < n; ++i) {", "for (int i = 0; i + 1 < n; ++i) {"])

    def test_conditions(self):
        self.assertEqual(afters("if (a) {"), ["if (!(a)) {"])
        self.assertEqual(afters("if (a) return b;"), ["if (!(a)) return b;", ""])
        self.assertEqual(afters("if (auto a = b(); a.ok()) {"), ["if (auto a = b(); !(a.ok())) {"])
        self.assertEqual(afters("if (A* a = b()) {"), [])
        self.assertEqual(afters("x = y(!a);", "condition"), ["x = y(a);"])

    def test_indices(self):
        self.assertEqual(afters("return a[i];"), ["return a[0];"])
        self.assertEqual(afters("return a[0];"), ["return a[1];"])
        self.assertEqual(afters("return f(a, i);"), ["return f(a, 0);"])
        self.assertEqual(afters("for (const A& a : b) c.push_back(F(a, i));", "index"),
                         ["for (const A& a : b) c.push_back(F(a, 0));"])
        self.assertEqual(afters("return a.back();"), ["return a.front();"])
        self.assertEqual(afters("int a[kCount];", "index") + afters("f([i] { return b; });", "index"), [])

    def test_statements(self):
        self.assertEqual(afters("a.Add(b);"), [""])
        self.assertEqual(afters("a = b;  // c"), [""])
        self.assertEqual(afters("++a->b;"), [""])
        self.assertEqual(afters("A a(b);") + afters("return F(a);") + afters("f(a,\n  b);"), [])

    def test_apply_changes_one_line_and_refuses_other_text(self):
        text = "int f() {\n  return 1;\n}\n"
        mutant, = faults.mutants_of("a.cc", text)
        self.assertEqual(faults.apply(text, mutant), "int f() {\n  return 2;\n}\n")
        with self.assertRaises(ValueError):
            faults.apply("\n" + text, mutant)

    def test_ids_do_not_depend_on_lines_above(self):
        text = "a = 1;\nb = a;\na = 1;\n"
        before = [mutant.id for mutant in faults.mutants_of("a.cc", text)]
        self.assertEqual([mutant.id for mutant in faults.mutants_of("a.cc", "// new\n" + text)], before)
        self.assertEqual(len(set(before)), len(before))


class Tree(unittest.TestCase):
    """Tests that use the repository's own sources."""
    @classmethod
    def setUpClass(cls):
        cls.mutants = population.all_mutants()
        cls.table = suites.read(suites.TABLE.read_text())

    def test_the_draw_is_large_and_follows_the_seed(self):
        self.assertGreater(len(self.mutants), 1000)
        self.assertEqual(len({mutant.id for mutant in self.mutants}), len(self.mutants))
        first = list(population.drawn(self.mutants, "a"))
        self.assertEqual(len(first), len(self.mutants))
        self.assertEqual(first[:120], list(population.drawn(list(reversed(self.mutants)), "a"))[:120])
        self.assertNotEqual(first[:120], list(population.drawn(self.mutants, "b"))[:120])
        self.assertEqual([mutant.kind for mutant in first[:6]], faults.CLASSES)
        self.assertEqual({mutant.file.split("/")[0] for mutant in first[:120]}, {room.split("/")[0] for room in population.ROOMS})

    def test_a_changed_file_does_not_change_draws_from_other_files(self):
        gone = "server/server.cc"
        rest = [mutant for mutant in self.mutants if mutant.file != gone]
        kept = [mutant for mutant in population.drawn(self.mutants, "a") if mutant.file != gone]
        self.assertEqual({m.id for m in kept[:60]} - {m.id for m in list(population.drawn(rest, "a"))[:80]}, set())

    def test_the_draw_includes_kernels(self):
        kernels = population.files(["models/engine/cuda/kernels"])
        self.assertIn("models/engine/cuda/kernels/fast/attention.cuh", kernels)
        barriers = [mutant for mutant in population.all_mutants(["models/engine/cuda/kernels"])
                    if mutant.after == "" and "SyncBlock" in mutant.before]
        self.assertGreater(len(barriers), 10)

    def test_every_fault_applies(self):
        texts = {file: (population.ROOT / file).read_text() for file in population.files()}
        for mutant in self.mutants[::50]:
            self.assertNotEqual(faults.apply(texts[mutant.file], mutant), texts[mutant.file])

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


class Equivalents(unittest.TestCase):
    ENTRY = "a.cc\n- return 1;\n+ return 2;\nwhy: nobody reads it\n"

    def test_an_equivalent_fault_is_not_drawn(self):
        mutants = list(faults.mutants_of("a.cc", "  return 1;"))
        self.assertEqual(population.without(mutants, population.read_equivalents(self.ENTRY)), [])

    def test_an_obsolete_entry_is_an_error(self):
        mutants = list(faults.mutants_of("a.cc", "  return 3;"))
        with self.assertRaisesRegex(ValueError, "no longer applies: a.cc: return 1;"):
            population.without(mutants, population.read_equivalents(self.ENTRY))

    def test_an_entry_without_a_reason_is_an_error(self):
        with self.assertRaises(ValueError):
            population.read_equivalents("a.cc\n- return 1;\n+ return 2;\n")


# An artificial tree with grep in place of a compiler. Its only suite passes for the number 41 and hangs for 43.
BUILD = "#!/bin/sh\nif grep -q 'return 40' room/a.cc; then echo 'error: 40'; exit 1; fi\n"
CTEST = """#!/bin/sh
value=$(grep -o '[0-9][0-9]*;' room/a.cc)
case $value in
  "41;") echo '1/1 Test #1: suite ... Passed    0.50 sec'; exit 0;;
  "43;") echo '***Timeout'; exit 8;;
  "44;") exit 0;;
esac
echo '[  FAILED  ] Suite.WantsFortyOne'; exit 8
"""


class Verdicts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.write("room/a.cc", "return 41;\n")
        self.write("script/build", BUILD)
        self.write(".gitignore", "/build*/\n/bin/\n")
        self.write("bin/ctest", CTEST)
        for path in ["script/build", "bin/ctest"]:
            (self.root / path).chmod(0o755)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{self.root / 'bin'}:{path}"
        self.shop = workshop.Workshop(self.root, self.root / "build-mutants")
        self.shop.synchronize()

    def write(self, name, text):
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text)

    def judge(self, number):
        self.shop.prove(["suite"], lambda text: None)
        mutant = faults.Mutant("room/a.cc", 1, "return 41;", f"return {number};", "constant", 0)
        outcome = self.shop.judge(mutant, ["suite"])
        self.assertEqual((self.root / "build-mutants/room/a.cc").read_text(), "return 41;\n", "the fault is still in")
        return outcome

    def test_each_verdict(self):
        self.assertEqual(self.judge(42).verdict, workshop.KILLED)
        self.assertEqual(self.judge(42).by, "suite Suite.WantsFortyOne")
        self.assertEqual(self.judge(43).verdict, workshop.TIMEOUT)
        self.assertEqual(self.judge(44).verdict, workshop.SURVIVED)
        self.assertEqual(self.judge(40).verdict, workshop.UNBUILT)
        self.assertEqual((self.root / "room/a.cc").read_text(), "return 41;\n")

    def test_a_suite_that_fails_without_a_fault_is_an_error(self):
        self.write("room/a.cc", "return 50;\n")
        self.shop.synchronize()
        with self.assertRaisesRegex(workshop.Broken, "suite fails without a fault"):
            self.shop.prove(["suite"], lambda text: None)
        with self.assertRaisesRegex(workshop.Broken, "worth nothing"):
            self.shop.prove_again("suite")

    def test_the_copy_is_updated_from_the_tree(self):
        self.write("room/b.cc", "")
        self.shop.synchronize()
        self.assertTrue((self.root / "build-mutants/room/b.cc").exists())
        (self.root / "room/b.cc").unlink()
        self.shop.synchronize()
        self.assertFalse((self.root / "build-mutants/room/b.cc").exists())

    def test_the_summary_counts_compiled_faults_and_shows_survivors(self):
        outcomes = [self.judge(number) for number in (42, 43, 44, 40)]
        self.assertEqual(summary.headline(outcomes, "x"),
                         "seed x: 2 of 3 killed (1 of them by a time limit), 1 survived; 1 more did not compile")
        for text in [summary.as_text(outcomes, "x"), summary.as_markdown(outcomes, "x")]:
            self.assertIn("room/a.cc:1", text)
            self.assertIn("+ return 44;", text)


if __name__ == "__main__":
    unittest.main()
