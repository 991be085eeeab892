# SPDX-License-Identifier: Apache-2.0
"""script/skips: finds every kind of skip, and refuses what tests/allowed-skips.txt does not name."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest
from xml.sax.saxutils import escape

SOURCE = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("skips", str(SOURCE / "script/skips"))
skips = importlib.util.module_from_spec(importlib.util.spec_from_loader("skips", loader))
loader.exec_module(skips)

GTEST = """[ RUN      ] Listener.Six
/source/tests/server/listener_test.cc:91: Skipped
this machine has no IPv6: UNAVAILABLE

[  SKIPPED ] Listener.Six (0 ms)
[ RUN      ] Listener.Four
[       OK ] Listener.Four (1 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Listener.Six
"""
UNITTEST = """test_a (t.A.test_a) ... skipped "it's here"
test_b (t.A.test_b)
What it does. ... a line of a server
skipped 'why'
setUpClass (t.B) ... skipped 'whole'
test_c (t.A.test_c) ... ok

OK (skipped=3)
"""
PYTEST = """ss.x                                                                     [100%]
SKIPPED [1] tests/test_a.py:2: for: reasons
SKIPPED [2] tests/test_a.py:5: twice
1 passed, 3 skipped, 1 xfailed in 0.02s
"""


class Found(unittest.TestCase):
    def test_by_gtest(self):
        self.assertEqual(skips.of_gtest(GTEST), [("Listener.Six", "this machine has no IPv6: UNAVAILABLE")])
        self.assertEqual(skips.of_gtest(GTEST.replace(" 1 test,", " 3 tests,"))[1:], [("", skips.NO_REASON)] * 2)
        self.assertEqual(skips.of_gtest("  YOU HAVE 2 DISABLED TESTS\n"), [("", "the test is disabled")] * 2)
        silent = "[ RUN      ] A.B\n[  SKIPPED ] A.B (0 ms)\n"
        self.assertEqual(skips.of_gtest(silent), [("A.B", "")])

    def test_by_unittest(self):
        found = [("test_a", "it's here"), ("test_b", "why"), ("setUpClass", "whole")]
        self.assertEqual(skips.of_unittest(UNITTEST), found)
        self.assertEqual(skips.of_unittest("ss\n\nOK (skipped=2)\n"), [("", skips.NO_REASON)] * 2)
        self.assertEqual(skips.of_unittest("s\n\nFAILED (failures=1, skipped=1)\n"), [("", skips.NO_REASON)])

    def test_by_pytest(self):
        twice = ("tests/test_a.py:5", "twice")
        self.assertEqual(skips.of_pytest(PYTEST), [("tests/test_a.py:2", "for: reasons"), twice, twice])
        self.assertEqual(skips.of_pytest("1 passed, 3 skipped in 0.02s\n"), [("", skips.NO_REASON)] * 3)

    def test_by_our_scripts(self):
        said = "kubernetes-check: NOT RENDERED, there is no kubectl; checking file by file\nskipped: no Python\nSKIPPED once\nSKIP trainer\n"
        self.assertEqual([reason for _, reason in skips.of_scripts(said)],
                         ["NOT RENDERED, there is no kubectl; checking file by file", "skipped: no Python", "SKIP trainer"])

    def test_nothing_where_nothing_was_skipped(self):
        for output in ("", "[ RUN      ] A.B\n[       OK ] A.B (1 ms)\n", "test_a (t.A.test_a) ... ok\n\nOK\n", "9 passed in 2.1s\n"):
            self.assertEqual([reader(output) for reader in (*skips.READERS, skips.of_reports)], [[]] * 5)


class Judged(unittest.TestCase):
    def judge(self, test, reason, strict=False):
        rules = skips.read_rules("rights | a_test/* | * not let * | why\nnetwork | b_test | * no package index | why\n")
        allowed, _ = skips.judge([(test, reason)], rules, strict)
        return bool(allowed)

    def test_by_test_and_reason(self):
        self.assertTrue(self.judge("a_test/A.B", "does not let it", strict=True))
        self.assertFalse(self.judge("a_test/A.B", "no reason"))
        self.assertFalse(self.judge("c_test/A.B", "does not let it"))

    def test_ci_needs_what_a_newcomer_may_lack(self):
        self.assertTrue(self.judge("b_test", "pip reaches no package index"))
        self.assertFalse(self.judge("b_test", "pip reaches no package index", strict=True))

    def test_a_list_that_is_not_understood_is_an_error(self):
        for line in ("rights | a | b", "luck | a | b | c", "rights | a |  | c"):
            with self.assertRaises(ValueError):
                skips.read_rules(line)

    def test_the_list_of_the_tests_is_understood(self):
        self.assertTrue(skips.read_rules(skips.ALLOWED.read_text()))


class Program(unittest.TestCase):
    def run_on(self, cases, *flags):
        return self.run_with(f"<testsuite>{cases}</testsuite>", *flags)

    def run_with(self, text, *flags):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(text)
            file.flush()
            return subprocess.run([SOURCE / "script/skips", *flags, file.name], capture_output=True, text=True,
                                  env={"PATH": "/usr/bin:/bin"})

    def test_passes_or_fails(self):
        case = '<testcase name="server_test" status="{}"><system-out>{}</system-out></testcase>'
        self.assertEqual(self.run_on(case.format("run", "fine")).returncode, 0)
        ran = self.run_on(case.format("run", escape(GTEST.replace("this machine has no IPv6", "no idea"))))
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("   1 server_test/Listener.Six: no idea: UNAVAILABLE\n", ran.stdout)
        ran = self.run_on(case.format("notrun", "one\ncannot be run\n"))
        self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1]), (1, "   1 server_test: cannot be run"))
        self.assertEqual(self.run_on("").returncode, 1)

    def test_data_are_needed_in_ci(self):
        output = "[ RUN      ] Bundled.Reads\nx.cc:1: Skipped\nVITRINE_DATA is not set\n\n[  SKIPPED ] Bundled.Reads (0 ms)\n"
        case = f'<testcase name="bundled_test" status="run"><system-out>{output}</system-out></testcase>'
        self.assertEqual([self.run_on(case, *flags).returncode for flags in ((), ("--strict",))], [0, 1])

    def test_tells_what_a_log_says(self):
        ran = self.run_with(GTEST + UNITTEST + PYTEST + "a-check: SKIPPED, no disk\n", "--log")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout.splitlines(), [
            "   1 SKIPPED, no disk",
            "   1 Listener.Six: this machine has no IPv6: UNAVAILABLE",
            "   1 setUpClass: whole",
            "   1 test_a: it's here",
            "   1 test_b: why",
            "   1 tests/test_a.py:2: for: reasons",
            "   2 tests/test_a.py:5: twice"])
        self.assertEqual(self.run_with("[       OK ] A.B (1 ms)\n9 passed in 2.1s\n", "--log").stdout, "")

    def test_a_log_may_have_its_own_report(self):
        case = f'<testcase name="server_test" status="run"><system-out>{escape(GTEST)}</system-out></testcase>'
        report = self.run_on(case).stdout
        self.assertIn("Listener.Six", report)
        told = self.run_with(f"  12 before: it\n{report}asan: done\n  12 after: it\n", "--log").stdout
        self.assertRegex(told, r"^   1 server_test/Listener\.Six: this machine has no IPv6: UNAVAILABLE; rights: .*\n$")


if __name__ == "__main__":
    unittest.main()
