# SPDX-License-Identifier: Apache-2.0
"""Tests that the audit compares results with the git history."""
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from claims_test import FOLDER, ROOT, Copy, digit_rows, run  # noqa: E402  (this import makes the modules below importable)

import history  # noqa: E402
import library  # noqa: E402
import program  # noqa: E402
import records  # noqa: E402


class History(Copy):
    def setUp(self):
        super().setUp()
        self.root = self.folder.parent / "repository"
        (self.root / records.CLAIMS).parent.mkdir(parents=True)
        shutil.move(self.folder, self.root / records.CLAIMS)
        self.folder = self.root / records.CLAIMS
        for path in ("cmake/program_sources.cmake", "trainer/loader.cc", "script/pins/libtorch.txt"):
            (self.root / path).parent.mkdir(parents=True)
            shutil.copy(ROOT / path, self.root / path)
        self.git("init", "-q")
        self.commit()

    def add_digits(self, scores, more=""):
        """Adds results of 01-digits-small whose program is that of HEAD."""
        head = history.git(self.root, "rev-parse", "HEAD").strip()
        self.add_runs("01-digits-small", digit_rows(scores), f'revision = "{head}"\n{more}', program.digest(self.root, "HEAD"))

    def check(self):
        found = library.read(self.folder)
        return history.check(self.root, found.experiments, found.runs)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], check=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "c")

    def test_a_rule_older_than_its_result_is_valid(self):
        self.add_digits({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0})
        self.assertEqual(self.check(), ["runs/01-digits-small.csv is not committed"])
        self.commit()
        self.assertEqual(self.check(), [])

    def test_a_rule_changed_after_its_result_is_an_error(self):
        self.add_digits({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0})
        self.commit()
        self.change("data/004.toml", "high = 0.9\n", "high = 0.95\n")
        self.commit()
        self.assertRegex("\n".join(self.check()), "^K6: its rule on 01-digits-small is not the one before")

    def test_a_rule_that_cannot_decide_stays_undecided(self):
        self.add_digits({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0})
        self.commit()
        self.assertEqual(self.check(), [])
        path = self.folder / "data/003.toml"
        text = path.read_text()
        path.write_text(re.sub("(?m)^cannot_decide = .*\n", "", text))
        self.commit()
        self.assertRegex("\n".join(self.check()), "^V11: its rule 1 could not decide in commit [0-9a-f]{12}, and cannot_decide no longer names it$")
        path.write_text(text.replace('reason = "with POST', 'reason = "In short: with POST'))
        self.commit()
        self.assertEqual(self.check(), [])

    def test_a_changed_result_is_an_error_in_any_later_commit(self):
        self.add_digits({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0})
        self.commit()
        self.add_digits({"SUB": 1.0, "SWAP": 0.9, "COPY": 1.0})
        self.commit()
        self.assertEqual(len(self.check()), 1)
        self.assertRegex(self.check()[0], "^runs/01-digits-small has another test/accuracy of task=SWAP,attention=QKV,seed=1 than in commit")

    def test_results_may_get_rows_columns_and_other_seconds(self):
        rows = digit_rows({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0})
        failures = 'failures = [{cell = "task=COPY,attention=KV,seed=3", reason = "diverged"}]\n'
        self.add_runs("01-digits-small", rows[:-2], failures, program.digest(self.root, "HEAD"))
        self.commit()
        self.assertRegex("\n".join(self.check()), "^01-digits-small: has no revision, a commit whose sources have the digest")
        later = [f"{rows[0]},cpu", *(row.replace(",2,10,", ",2,11,") + ",x" for row in rows[1:-1])]
        head = history.git(self.root, "rev-parse", "HEAD").strip()
        self.add_runs("01-digits-small", later, f'revision = "{head}"\n{failures}', program.digest(self.root, "HEAD"))
        self.assertEqual(self.check(), [])
        self.add_runs("01-digits-small", later[:-2], f'revision = "{head}"\n', program.digest(self.root, "HEAD"))
        self.assertRegex("\n".join(self.check()), "has another row of task=COPY,attention=KV,seed=1 than in commit")

    def test_the_program_must_be_that_of_the_revision(self):
        self.add_digits({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0})
        self.commit()
        (self.root / "trainer/loader.cc").write_text("int other;\n")
        self.commit()
        later = history.git(self.root, "rev-parse", "HEAD").strip()
        path = self.folder / "data/runs/01-digits-small.toml"
        text = path.read_text()
        for revision, said in ((later, f"that of its revision {later} is "), ("0" * 40, f"its revision {'0' * 40} is no commit")):
            path.write_text(re.sub('revision = ".*"', f'revision = "{revision}"', text))
            self.assertIn(said, "\n".join(self.check()))
        path.write_text(re.sub('program = ".*"', 'program = "nonsense"', text))
        self.assertRegex("\n".join(self.check()), "its program is nonsense, that of its revision .* is [0-9a-f]{64}(.|\n)*another program")


class Committed(unittest.TestCase):
    def test_a_changed_copy_of_the_committed_results_is_refused(self):
        if not history.full(ROOT):
            self.skipTest(history.MISSING)
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "claims"
            shutil.copytree(FOLDER, folder)
            path = folder / "data/runs/03-norms.csv"
            text = path.read_text()
            self.assertIn(",2.249", text)
            path.write_text(text.replace(",2.249", ",2.349"))
            origin = path.with_suffix(".toml")
            changes = {"sha256": f'"{hashlib.sha256(path.read_bytes()).hexdigest()}"', "program": '"nonsense"', "data_digest": '"x"',
                       "cpu": '"abacus"', "hours": "0.0"}
            for field, value in changes.items():
                origin.write_text(re.sub(f"(?m)^{field} = .*$", f"{field} = {value}", origin.read_text()))
            run("--folder", folder, "build")
            ran = run("--folder", folder, "audit")
        self.assertEqual(ran.returncode, 1)
        for text in ("its program is no SHA-256", "its data_digest is no SHA-256", "its hours are 0.0", "has another test/loss of",
                     "its program is nonsense, that of its revision"):
            self.assertIn(text, ran.stderr)


if __name__ == "__main__":
    unittest.main()
