# SPDX-License-Identifier: Apache-2.0
"""bench/driver: how a row is judged, and that what is measured outlives an interruption."""
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench"))
import driver.__main__ as program
import proofs.__main__ as proofs
from driver import engine, precisions, ratio_plot, report


def row(ratio, share=None):
    return report.Row("ours against theirs", "times as fast", (ratio, 0.9 * ratio, 1.1 * ratio), 1.2, share=share)


class Judgement(unittest.TestCase):
    def test_by_ratio_or_by_share(self):
        self.assertEqual([row(ratio).judgement() for ratio in (1.3, 1.2, 1.1)], ["met", "met", "MISSED"])
        self.assertEqual(row(1.1, (0.85, 0.84)).judgement(), "met by share")
        self.assertEqual(row(1.3, (0.83, 0.84)).judgement(), "met by ratio")
        self.assertEqual(row(1.3, (0.84, 0.84)).judgement(), "met by ratio and share")
        self.assertEqual([row(1.1, (share, 0.84)).judgement() for share in (0.83, 1.01)], ["MISSED"] * 2)
        self.assertEqual(row(1.1, (0.83, 0.84)).goal_text(), "at least 1.2, or 84% of the peak")

    def test_of_what_was_not_measured_there_is_none(self):
        left = precisions.left_out("a model", "bf16")
        self.assertEqual(left.cells()[:-1], ["a model, bf16", "", "", "", "", ""])
        self.assertIn("avx512_bf16", left.note)
        self.assertNotIn("a model", ratio_plot.svg("title", [row(1.1), left]))


class Precisions(unittest.TestCase):
    def test_by_instructions(self):
        expected = {("avx2",): {"fp32", "int8"}, ("avx2", "avx512f", "avx512_vnni"): {"fp32", "int8"},
                    ("avx2", "avx512f", "avx512_vnni", "avx512_bf16"): {"fp32", "bf16", "int8"}, (): {"fp32"}}
        for instructions, multiplied in expected.items():
            with mock.patch.object(precisions, "instruction_sets", lambda: list(instructions)):
                self.assertEqual({one for one in ("fp32", "bf16", "int8") if precisions.multiplied(one)}, multiplied)
        with mock.patch.object(precisions, "instruction_sets", lambda: ["avx2", "avx_vnni"]):
            self.assertFalse(precisions.wide("int8"))


class Cases(unittest.TestCase):
    def parse(self, *arguments):
        with mock.patch("sys.argv", ["bench", *arguments]), mock.patch("sys.stderr", io.StringIO()) as said:
            try:
                return program.parse(), ""
            except SystemExit:
                return None, said.getvalue()

    def test_are_chosen_by_their_names(self):
        chosen = [case.what() for case in engine.chosen("engine", "xcit-t12, 224x224, batch 8")]
        self.assertEqual(chosen, [f"xcit-t12, 224x224, batch 8{more}" for more in ("", ", avx2", ", two cores")])
        self.assertEqual(engine.chosen("narrow", ""), engine.PARTS["narrow"])
        self.assertEqual(self.parse("--cases", "avx2", "engine", "narrow")[0].cases, "avx2")

    def test_that_nothing_has_are_refused_before_the_hours_begin(self):
        self.assertIn("not of decode", self.parse("--cases", "avx2", "engine", "decode")[1])
        self.assertIn("xcit-t12, 224x224", self.parse("--cases", "avx3", "engine")[1])


class Scripts(unittest.TestCase):
    def run_script(self, *command):
        return subprocess.run([SOURCE / "script" / command[0], *command[1:]], capture_output=True, text=True)

    def test_explain_themselves_before_they_build(self):
        for name in ("bench", "prove"):
            help_, wrong = self.run_script(name, "--help"), self.run_script(name, "nothing-of-that-name")
            self.assertEqual((help_.returncode, help_.stdout.split("[")[0]), (0, f"usage: script/{name} "))
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("nothing-of-that-name", wrong.stderr)
            self.assertNotIn("ninja", wrong.stdout + wrong.stderr)

    def test_have_every_proof_that_they_name(self):
        for proof in proofs.PROOFS.values():
            self.assertIn(f"\ndef {proof[2]}(", (SOURCE / "bench" / "proofs" / f"{proof[1]}.py").read_text())


class Result(unittest.TestCase):
    def test_is_written_after_every_part(self):
        def interrupted(setup):
            raise KeyboardInterrupt

        parts = {"first": ("The first part", lambda setup: [row(1.3)]), "second": ("The second part", interrupted)}
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(program, "PARTS", parts), \
                mock.patch("sys.stdout"), mock.patch("sys.stderr"):
            path = pathlib.Path(folder) / "result.md"
            with mock.patch("sys.argv", ["bench", "--output", str(path)]), self.assertRaises(KeyboardInterrupt):
                program.main()
            written = path.read_text()
            self.assertIn("## The first part", written)
            self.assertIn("UNFINISHED: second not measured yet", written)
            with mock.patch("sys.argv", ["bench", "--output", str(path), "first"]):
                program.main()
            self.assertNotIn("UNFINISHED", path.read_text())


if __name__ == "__main__":
    unittest.main()
