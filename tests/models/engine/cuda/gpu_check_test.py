# SPDX-License-Identifier: Apache-2.0
"""Tests vitrine-gpu-check with the fake driver: all checks pass, an HTML page shows them, and injected faults make checks fail.

    gpu_check_test.py PROGRAM FOLDER-OF-THE-FAKE [TEST...]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
PROGRAM, FAKE = sys.argv[1:3]


def run(*arguments: str, fake: str = "", driver: bool = True) -> "tuple[int, str]":
    environment = {**os.environ, "VITRINE_FAKE_GPU": fake, "LD_LIBRARY_PATH": FAKE if driver else ""}
    command = [PROGRAM, "--repository", str(ROOT / "models/bundled"), "--samples", str(ROOT / "samples"), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    return ran.returncode, ran.stdout + ran.stderr


class GpuCheck(unittest.TestCase):
    def test_all_checks_pass_and_the_page_reports_it(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "report.html"
            code, text = run("--check", "primitives,forms,memory,swap,refusal,load", "--form", "vit", "--seconds", "0.5",
                             "--profile", "vit", "--throughput", "vit", "--batch", "2", "--passes", "2",
                             "--precision", "int8", "--out", str(page))
            self.assertEqual(code, 0, text)
            self.assertIn("10 checks on cuda:0, 0 failed", text)
            html = page.read_text()
            self.assertIn("Emulated GPU", html)
            self.assertIn("vitrine_linear_int8", html)
            self.assertNotRegex(html, r"<script|https?://(?!www\.w3\.org)|<link")
            self.assertLess(len(html), 100_000)

    def test_errors_up_to_those_of_the_cpu_are_allowed(self):
        code, text = run("--check", "forms", "--form", "xvit_no_norm")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"ok +xvit_no_norm .*int8 \S+, on the CPU ")

    def test_a_rounding_of_another_architecture_fails(self):
        code, text = run("--check", "primitives", fake="rounding=0")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"FAILED +primitives: bf16 products +to nearest and up or down fits 65536 sums")

    def test_a_lost_device_ends_the_checks(self):
        code, text = run("--check", "forms", "--form", "vit", fake="lost=3")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"FAILED +vit .*CUDA_ERROR_ILLEGAL_ADDRESS")

    def test_without_a_driver_it_is_skipped(self):
        code, text = run(driver=False)
        if "multiprocessors" in text:
            self.skipTest("this machine has a driver")
        self.assertEqual(code, 77, text)
        self.assertRegex(text, "^vitrine-gpu-check: device cuda:0 cannot be used: there is no NVIDIA driver")

    def test_measurements_run_without_checks(self):
        code, text = run("--throughput", "vit", "--batch", "1")
        self.assertEqual(code, 0, text)
        self.assertTrue(re.search(r"ok +throughput vit bf16 batch 1 +\d+ images/s", text), text)
        self.assertIn("1 checks on cuda:0, 0 failed", text)

    def test_a_batch_may_take_longer_than_on_a_server(self):
        code, text = run("--throughput", "vit", "--batch", "1", "--threads", "1", fake="kernel_us=600000")  # about 14 s
        self.assertEqual(code, 0, text)

    def test_devices_have_the_names_of_the_server(self):
        for device, code, words in (("cuda:1", 77, "there is no cuda:1"), ("cpu", 2, "--device must be cuda:0")):
            found, text = run("--device", device)
            self.assertEqual(found, code, text)
            self.assertIn(words, text)

    def test_every_check_accepts_every_form(self):
        code, text = run("--check", "forms,refusal", "--form", "vit_clip")
        self.assertEqual(code, 0, text)
        self.assertIn("2 checks on cuda:0, 0 failed", text)

    def test_unknown_models_are_named(self):
        code, text = run("--profile", "xcit-n13")
        self.assertEqual(code, 1, text)
        self.assertIn("xcit-n12", text)
        code, text = run("--check", "forms", "--form", "vit,vlt")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"FAILED +vlt +there is no such form")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
