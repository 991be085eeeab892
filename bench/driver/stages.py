# SPDX-License-Identifier: Apache-2.0
"""Google Benchmark programs: single stages of a request, and the prepared feed-forward block."""
import json
import pathlib
import re
import subprocess
import sys

from driver.report import Row
from driver.service import picture_for_null

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def run(setup, name, *flags):
    command = ["taskset", "-c", str(setup.core), setup.program(name), "--benchmark_format=json", *map(str, flags)]
    report = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return json.loads(report)["benchmarks"]


def stages(setup):
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
             "parse_safetensors": f"{weights.parent.parent.name}, {weights.stat().st_size // 1000} KB"}
    rows = []
    for name, values in times.items():
        ordered = sorted(values)
        rows.append(Row(f"stage {name}", "us", (ordered[len(ordered) // 2], ordered[0], ordered[-1]),
                        note=notes.get(name.split(":")[0], "")))
    return rows


def feed_forward(setup):
    print("  feed-forward block", file=sys.stderr)
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    path = "avx512" if "avx512vl" in flags else "avx2" if "avx2" in flags else "portable"
    results = run(setup, "feed_forward_bench", f"--benchmark_filter=^{path}_.*width:(128|250)/tokens:196")
    return [Row("prepared feed-forward block, " + re.sub("/(manual_time|iterations:[0-9]+)", "", result["name"]),
                "times as fast", (result["ratio"], result["ratio_low"], result["ratio_high"]),
                note=f"as its reference layer; {result['gflops']:.0f} GFLOP/s; quartiles")
            for result in results]


def measure(setup):
    return stages(setup) + feed_forward(setup)
