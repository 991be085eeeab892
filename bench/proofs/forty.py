# SPDX-License-Identifier: Apache-2.0
"""Measures a server with forty models on two cores: memory, start, a rarely used model beside a busy model, and updates under
load."""
import json
import subprocess
import sys
import threading
import time

from driver import published, workers
from driver.report import Row
from driver.service import Server, bench, load
from driver.setup import ROOT
from proofs.versions import place

ARCHITECTURES = ("vit_tiny_patch16_224", "deit_tiny_patch16_224")
EACH = 20
MEMORY_GOAL = 1.3  # maximum memory, divided by the size of the weights
RARE_GOAL = 3.0  # maximum p99 of the rare model, divided by its p99 without load on the hot model
HOT_SHARE = 0.7  # rate of the hot model, divided by its rate in a closed loop
RARE_RATE = 0.5  # requests/s
LEAD = 2  # s of load on the hot model before requests for the rare model
SWAP_SHARE = 0.4  # total rate during updates, divided by the closed-loop rate of one model; loading versions uses cores too
CALLERS = 16  # callers of each model before memory is read, so that every buffer is in use
ROUNDS = 3
SWAP_PATIENCE = 600  # s
READY = "version ready model="  # text in the server's log


def publish(setup, repository):
    """Publishes models with different weights, imported from files that timm_weights.py writes, and returns the models'
    names."""
    labels = setup.scratch / "labels.txt"
    labels.write_text("".join(f"class {i}\n" for i in range(1000)))
    names = []
    for architecture in ARCHITECTURES:
        print(f"  {EACH} of {architecture}", file=sys.stderr)
        weights = [setup.scratch / f"{architecture}-{number:02}.safetensors" for number in range(EACH)]
        published.run(setup.python, ROOT / "bench/peers/timm_weights.py", architecture, *weights, "--lively")
        for number, file in enumerate(weights):
            names.append(f"{architecture.partition('_')[0]}-{number:02}")
            published.run(setup.program("vitrine-repo"), "import", repository, names[-1], file, "--from", "timm", "--arch",
                          architecture, "--labels", labels)
    return names


def measure_rare(setup, server, hot, rare, rate):
    seconds = setup.seconds(200)
    busy = []  # p99 of the hot model; if the server cannot keep up with this model, the comparison means nothing

    def p99():
        point = bench(setup, server, setup.core_list(), setup.photographs()[0], "--model", rare, "--rate", RARE_RATE,
                      "--arrivals", "constant", "--warmup", "0s", "--duration", f"{seconds}s")
        return point["latency_ms"]["p99"]

    def beside():
        command = ["taskset", "-c", setup.core_list(), setup.program("vitrine"), "bench", setup.photographs()[0], "--server",
                   server.address, "--model", hot, "--rate", rate, "--warmup", f"{LEAD}s", "--duration", f"{seconds}s",
                   "--format", "json"]
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
            time.sleep(LEAD)
            figure = p99()
            busy.append(json.load(process.stdout)["points"][0]["latency_ms"]["p99"])
        return figure

    sides = workers.interleave({"alone": p99, "beside": beside}, setup.rounds(ROUNDS))
    alone, loaded = (workers.spread(sides[side])[0] for side in ("alone", "beside"))
    return Row("p99 of a rare model beside a hot one over alone, in turn", "times",
               workers.spread([b / a for a, b in zip(sides["alone"], sides["beside"])]), RARE_GOAL, at_least=False,
               note=f"{rare} once in {1 / RARE_RATE:.0f} s, {alone:.1f} ms alone and {loaded:.1f} ms beside {hot} at {rate:.0f} "
                    f"requests/s, {HOT_SHARE:.0%} of its closed loop, whose p99 was {workers.spread(busy)[0]:.1f} ms")


def measure_swaps(setup, server, repository, names, rate):
    """Publishes version 1 of each model as version 2 of its neighbour, while all models get requests."""
    took = []

    def swap():
        time.sleep(2)
        begin, before = time.monotonic(), server.log().count(READY)
        for name, source in zip(names, names[1:] + names[:1]):
            place(repository / source / "1", repository, name, 2)
        while server.log().count(READY) < before + len(names):
            if time.monotonic() > begin + SWAP_PATIENCE or server.process.poll() is not None:
                return
            time.sleep(0.2)
        took.append(time.monotonic() - begin)

    thread = threading.Thread(target=swap)
    thread.start()
    due = lost = 0
    while thread.is_alive():
        point = bench(setup, server, setup.core_list(), setup.photographs()[0], "--mix",
                      "; ".join(f"model={name}" for name in names), "--rate", rate, "--warmup", "0s", "--duration", "10s",
                      complete=False)
        due, lost = due + point["due"], lost + point["due"] - point["answered"]
    if not took:
        raise RuntimeError(f"not every model was replaced:\n{server.log()[-2000:]}")
    return [Row("models replaced under load", "models", (len(names),) * 3, len(names),
                note=f"in {took[0]:.0f} s, with {due:,} requests to all of them at {rate:.0f}/s"),
            Row("requests of these that were not answered", "requests", (lost,) * 3, 0, at_least=False)]


def measure(setup):
    repository = setup.scratch / "forty"
    names = publish(setup, repository)
    weights = sum(path.stat().st_size for path in repository.rglob("weights.safetensors")) / 1e6
    hot, rare = names[0], names[-1]
    with Server(setup, repository, setup.both()) as server:
        ready = server.megabytes("VmRSS")
        for name in names:
            bench(setup, server, setup.core_list(), setup.photographs()[0], "--model", name, "--warmup", "0s", "--requests",
                  4 * CALLERS, "--concurrency", CALLERS)
        used = server.megabytes("VmRSS")
        rate = load(server, hot, setup.photographs()[0], setup.seconds(10), setup.core_list())["answered_per_second"]
        rare_row = measure_rare(setup, server, hot, rare, max(1, HOT_SHARE * rate))
        swap_rows = measure_swaps(setup, server, repository, names, max(1, SWAP_SHARE * rate))
        peak = server.peak_megabytes()
    return [
        Row(f"resident memory of {len(names)} models after load on each, over their weights", "times", (used / weights,) * 3,
            MEMORY_GOAL, at_least=False,
            note=f"{used:,.0f} MB, {ready:,.0f} MB when ready, {peak:,.0f} MB at most while all were replaced; weights of "
                 f"{weights:,.0f} MB; {' and '.join(ARCHITECTURES)}, {EACH} of each"),
        Row(f"start to ready, {len(names)} models, files in the page cache", "s", (server.start_seconds,) * 3),
        rare_row, *swap_rows]
