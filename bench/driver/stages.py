# SPDX-License-Identifier: Apache-2.0
"""Runs a Google Benchmark program that measures single stages of a request."""
import json
import subprocess
import sys

from driver.report import Row
from driver.service import picture_for_null

GOALS = {"tensor/chw": 40.0}  # us, upper bound
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def run(setup, name, *flags):
    command = ["taskset", "-c", str(setup.core), setup.program(name), "--benchmark_format=json", *map(str, flags)]
    report = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return json.loads(report)["benchmarks"]


def measure(setup):
    print("  stages", file=sys.stderr)
    picture = picture_for_null(setup.photographs()[0])
    weights = max(setup.repository.glob("*/*/weights.safetensors"), key=lambda path: path.stat().st_size)
    results = run(setup, "stages_bench", f"--picture={picture}", f"--weights={weights}",
                  f"--benchmark_repetitions={setup.rounds(5)}", f"--benchmark_min_time={setup.seconds(0.2)}",
                  "--benchmark_enable_random_interleaving=true")
    times = {}
    for result in results:
        if result["run_type"] == "iteration":
            times.setdefault(result["run_name"], []).append(result["cpu_time"] * SECONDS[result["time_unit"]] * 1e6)
    notes = {"decode": f"{picture.name}, {picture.stat().st_size // 1000} KB",
             "tensor/chw": "224x224 normalised floats, from what the transport hands over to what a lane reads",
             "parse_safetensors": f"{weights.parent.parent.name}, {weights.stat().st_size // 1000} KB"}
    rows = []
    for name, values in times.items():
        ordered = sorted(values)
        rows.append(Row(f"stage {name}", "us", (ordered[len(ordered) // 2], ordered[0], ordered[-1]), GOALS.get(name.split(":")[0]),
                        at_least=False, note=notes.get(name.split(":")[0], "")))
    return rows
