# SPDX-License-Identifier: Apache-2.0
"""Runs, at full length, the proofs that are test programs, and reads their output."""
import os
import re
import subprocess

from driver.report import Row


def run(program, tests, environment=None):
    """Returns (passed, skipped, failed, output) of a test program."""
    result = subprocess.run([program, f"--gtest_filter={tests}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, env={**os.environ, **(environment or {})})
    if result.returncode not in (0, 1) or not re.search(r"^\[ *OK *\]", result.stdout, re.MULTILINE):
        raise RuntimeError(f"{program} ended with {result.returncode}:\n{result.stdout[-2000:]}")
    passed, skipped, failed = (len(re.findall(rf"^\[ *{word} *\] \S+(, where .*)? \(\d+ ms\)$", result.stdout, re.MULTILINE))
                               for word in ("OK", "SKIPPED", "FAILED"))
    return passed, skipped, failed, result.stdout


def measure_swaps(setup):
    swaps, requests = (50, 10_000) if setup.quick else (1000, 1_000_000)
    _, _, failed, text = run(setup.build / "tests" / "faults_test", "Swaps.*",
                             {"VITRINE_SWAPS": str(swaps), "VITRINE_SWAP_REQUESTS": str(requests)})
    found = re.search(r"swaps=(\d+) requests=(\d+) lost=(\d+) wrong=(\d+) unready=(\d+)", text)
    if not found:
        raise RuntimeError(f"the swaps printed no figures:\n{text[-2000:]}")
    done, sent, lost, wrong, unready = map(int, found.groups())
    return [
        Row("version swaps under load", "swaps", (done,) * 3, swaps, note="; ".join(re.findall(r"note: (.*)", text))),
        Row("requests meanwhile", "requests", (sent,) * 3, requests),
        Row("requests lost", "requests", (lost,) * 3, 0, at_least=False),
        Row("answers that are not those of the version they claim", "answers", (wrong,) * 3, 0, at_least=False),
        Row("looks at /readyz that found no version ready", "looks", (unready,) * 3, 0, at_least=False),
        Row("tests failed", "tests", (failed,) * 3, 0, at_least=False),
    ]


def measure_publishes(setup):
    rows = []
    for program in ("publish_fault_test", "publish_program_fault_test"):
        passed, skipped, failed, text = run(setup.build / "tests" / program, "*")
        calls = [int(count) for count in re.findall(r"(\d+) system calls", text)]
        rows.append(Row(f"{program}: tests that failed or were skipped", "tests", (failed + skipped,) * 3, 0, at_least=False,
                        note=f"{passed} passed" + (f"; killed at each of {max(calls)} system calls" if calls else "")))
    return rows
