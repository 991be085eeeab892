# SPDX-License-Identifier: Apache-2.0
"""script/nightly: every proof is in a step, and a step's row says what was left out. The programs of its steps are made up."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PYTEST = "SKIPPED [2] tests/test_a.py:5: no mypy\n1 passed, 2 skipped in 0.02s"
UNITTEST = "test_a (t.A.test_a) ... skipped 'no index'\n\nOK (skipped=1)"


def steps(**environment):
    """Name -> (what, command) of `script/nightly --list`."""
    ran = subprocess.run([SOURCE / "script/nightly", "--list"], check=True, capture_output=True, text=True,
                         env={"PATH": os.environ["PATH"], **environment})
    return {name: (what, command) for name, what, command in (line.split(" | ", 2) for line in ran.stdout.splitlines())}


def proofs(listed):
    return [word for _, command in listed.values() if command.startswith("script/prove ") for word in command.split()]


class Steps(unittest.TestCase):
    def test_every_proof_is_run(self):
        table = re.search(r"^PROOFS = \{\n(.*?)^\}", (SOURCE / "bench/proofs/__main__.py").read_text(), re.M | re.S)[1]
        names = re.findall(r'^    "(\w+)":', table, re.M)
        self.assertGreater(len(names), 5)
        self.assertEqual(set(names) - set(proofs(steps(VITRINE_OLD_SERVER="old"))), set())

    def test_without_another_server_no_update_is_said_to_pass(self):
        self.assertNotIn("rolling", proofs(steps()))
        self.assertRegex(steps()["rolling"][1], "SKIPPED, VITRINE_OLD_SERVER .*exit 77$")
        self.assertNotRegex(steps()["proofs"][0], "rolling|replicas")
        self.assertTrue(steps(VITRINE_OLD_SERVER="an old/one")["rolling"][1].endswith("--old-server an\\ old/one"))

    def test_every_script_is_there(self):
        for name, (_, command) in steps().items():
            for script in re.findall(r"\bscript/[\w-]+", command):
                self.assertTrue((SOURCE / script).is_file(), f"{name}: {script}")


class Report(unittest.TestCase):
    def nightly(self, *chosen, says="", code=0):
        """(exit code, report) of steps whose script says that."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "script").mkdir()
            for name in ("nightly", "skips"):
                shutil.copy(SOURCE / "script" / name, root / "script" / name)
            (root / "says").write_text(says + "\n")
            for name in ("tidy", "dependencies-check"):
                (root / "script" / name).write_text(f"#!/bin/sh\ncat says\nexit {code}\n")
                (root / "script" / name).chmod(0o755)
            ran = subprocess.run([root / "script/nightly", *chosen], capture_output=True, text=True,
                                 env={"PATH": os.environ["PATH"]})
            report, = root.glob("build/nightly/*/report.md")
            return ran.returncode, report.read_text()

    def test_what_passes_whole(self):
        code, report = self.nightly("tidy", "dependencies", says="all is well")
        self.assertEqual(code, 0, report)
        self.assertRegex(report, r"(?m)^\| tidy \|.*\| passed \| 0 min")
        self.assertNotIn("kipped", report)

    def test_what_a_step_skips_is_told(self):
        for says, line in ((PYTEST, "   2 tests/test_a.py:5: no mypy"), (UNITTEST, "   1 test_a: no index"),
                           ("SKIP trainer: no data", "   1 SKIP trainer: no data")):
            code, report = self.nightly("tidy", says=says)
            self.assertEqual(code, 3, report)
            self.assertRegex(report, r"(?m)^\| tidy \|.*\| skipped in part, passed otherwise \|")
            self.assertIn(line + "\n", report)

    def test_what_could_not_run(self):
        code, report = self.nightly("rolling", "tidy", says="fine")
        self.assertEqual(code, 3, report)
        self.assertRegex(report, r"(?m)^\| rolling \|.*\| skipped \|")
        self.assertIn("SKIPPED, VITRINE_OLD_SERVER names no server to begin with", report)

    def test_what_fails_fails_though_something_was_skipped(self):
        code, report = self.nightly("tidy", says=PYTEST, code=1)
        self.assertEqual(code, 1, report)
        self.assertRegex(report, r"(?m)^\| tidy \|.*\| FAILED with 1 \|")


if __name__ == "__main__":
    unittest.main()
