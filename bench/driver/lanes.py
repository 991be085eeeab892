# SPDX-License-Identifier: Apache-2.0
"""Measures one caller that waits for each answer: one executor per image, compared with all executors together."""
import contextlib
import sys

from driver import published, workers
from driver.report import Row
from driver.service import Server, bench

AT_LEAST = 1.6
MODELS = ("xcit-t12", "vit-b16")
ALONE, TOGETHER = 1, 0  # --lane-width


def compute_ms(setup, server, model):
    seconds = setup.seconds(4)
    point = bench(setup, server, setup.core_list(), "--model", model, "--concurrency", 1, "--warmup", f"{seconds / 4}s",
                  "--duration", f"{seconds}s")
    return point["server"]["stages_ms"]["compute"]["p50"]


def measure_model(setup, servers, model):
    print(f"  {model}: a batch of one", file=sys.stderr)
    sides = {width: lambda server=server: compute_ms(setup, server, model) for width, server in servers.items()}
    results = workers.interleave(sides, setup.rounds(5))
    ratios = [alone / together for alone, together in zip(results[ALONE], results[TOGETHER], strict=True)]
    alone, together = (workers.spread(results[width])[0] for width in (ALONE, TOGETHER))
    return Row(f"{model} at 224x224, a batch of one on {setup.cores()} idle cores against one", "times as fast",
               workers.spread(ratios), AT_LEAST if setup.cores() == 2 else None,
               note=f"{together:.1f} against {alone:.1f} ms, medians of the model's time of each answer; random weights")


def measure(setup):
    repository = setup.scratch / "lanes"
    for model in MODELS:
        published.run(setup.program("vitrine-repo"), "create", repository, model, "--variant", model)
    with contextlib.ExitStack() as stack:
        servers = {width: stack.enter_context(Server(setup, repository, setup.both(), [f"model/{MODELS[-1]}"],
                                                     ("--lane-width", width))) for width in (ALONE, TOGETHER)}
        return [measure_model(setup, servers, model) for model in MODELS]
