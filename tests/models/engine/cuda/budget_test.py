# SPDX-License-Identifier: Apache-2.0
"""Tests the table of registers, spills and blocks that script/dev/cuda-budget makes of ptxas's report, and the budget."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
BUDGET = ROOT / "models/engine/cuda/budget.tsv"
ARCHITECTURES = ["sm_100", "sm_120", "sm_80", "sm_89", "sm_90"]
LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'vitrine_add' for 'sm_80'
ptxas info    : Function properties for vitrine_add
    128 bytes stack frame, {stores} bytes spill stores, 0 bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 1024 bytes smem, 408 bytes cmem[0]
"""
HEADER = "kernel\tarchitecture\tregisters\tstack\tspills\tshared\tblocks\n"


def run(log: str, budget: "str | None" = None) -> "tuple[int, str]":
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "log").write_text(log)
        command = [sys.executable, "-B", str(ROOT / "script/dev/cuda-budget"), str(path / "log")]
        if budget is not None:
            (path / "budget").write_text(budget)
            command += ["--check", str(path / "budget")]
        ran = subprocess.run(command, capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


class Budget(unittest.TestCase):
    def test_reads_what_ptxas_reports(self) -> None:
        self.assertEqual(run(LOG.format(stores=0, registers=40)), (0, HEADER + "vitrine_add\tsm_80\t40\t128\t0\t1024\t12\n"))

    def test_names_each_number_that_grew(self) -> None:
        budget = HEADER + "vitrine_add\tsm_80\t40\t128\t0\t1024\t12\n"
        self.assertEqual(run(LOG.format(stores=0, registers=40), budget), (0, ""))
        self.assertEqual(run(LOG.format(stores=0, registers=38), budget), (0, ""))
        code, text = run(LOG.format(stores=8, registers=70), budget)
        self.assertEqual(code, 1)
        for fault in ("registers 70, and the budget is 40", "spills 8, and the budget is 0", "blocks 7, and the budget is 12"):
            self.assertIn(f"vitrine_add on sm_80: {fault}", text)

    def test_a_spill_is_a_fault_even_if_the_budget_has_it(self) -> None:
        budget = HEADER + "vitrine_add\tsm_80\t40\t128\t8\t1024\t12\n"
        self.assertEqual(run(LOG.format(stores=8, registers=40), budget)[0], 1)

    def test_names_kernels_that_came_and_went(self) -> None:
        code, text = run(LOG.format(stores=0, registers=40), HEADER + "vitrine_fill\tsm_80\t40\t128\t0\t0\t12\n")
        self.assertEqual(code, 1)
        self.assertIn("vitrine_add on sm_80 is not in the budget", text)
        self.assertIn("vitrine_fill on sm_80 is gone", text)
        self.assertEqual(run("no kernels")[0], 2)

    def test_the_budget_has_every_kernel_on_every_architecture_without_spills(self) -> None:
        rows = [line.split("\t") for line in BUDGET.read_text().splitlines()[1:]]
        listed = (ROOT / "models/engine/cuda/emulated/kernels.cc").read_text()
        kernels = sorted("vitrine_" + part.split(")")[0] for part in listed.split("VITRINE_NAMED(")[2:])
        self.assertGreater(len(kernels), 20)
        self.assertEqual([(row[0], row[1]) for row in rows], [(kernel, name) for kernel in kernels for name in ARCHITECTURES])
        self.assertEqual({row[4] for row in rows}, {"0"})


if __name__ == "__main__":
    unittest.main()
