# SPDX-License-Identifier: Apache-2.0
"""Measures how the server feeds a GPU. The tests' CUDA driver simulates an infinitely fast device and a slow device."""
import os
import re
import shutil
import urllib.request

from driver import workers
from driver.report import Row
from driver.service import Server, bench, load

MODEL = "kv-pos-mnist"  # the emulated GPU takes a second for its batches, and more than the time limit for larger models
FEED_GOAL = 0.95  # minimum rate, as a share of the rate at which the core decodes
BUSY_GOAL = 0.95  # minimum share of the time in which the device is busy
ALONE_GOAL = 1  # maximum ms of a request in addition to decoding and the device's time
PROVEN = 8  # number of batches that the emulated device computes, so that golden outputs match; for later batches, it only waits
SLOW_KERNEL = 500  # microseconds per kernel: about 40 ms per batch, which is longer than decoding its images
# The emulated GPU can take longer for its first batches than the default time limit.
BATCH = ["--device", "cuda:0", "--device-batch-images", 64, "--device-batch-tokens", 4096, "--device-batch-timeout", "60s",
         "--precision", "fp32"]


def environment(setup, kernel_us):
    return {**os.environ, "LD_LIBRARY_PATH": str(setup.build / "tests" / "cuda"),
            "VITRINE_FAKE_GPU": f"free_after={PROVEN},kernel_us={kernel_us}"}


def metrics(server):
    """Returns {metric's name without the prefix vitrine_device_: value}."""
    with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=30) as response:
        text = response.read().decode()
    return {name: float(value) for name, value in re.findall(r"^vitrine_device_(\w+) (\S+)$", text, re.MULTILINE)}


def gained(server, work):
    """Returns (report of the load, increase of the device's counters during the load)."""
    before = metrics(server)
    result = work()
    return result, {name: value - before[name] for name, value in metrics(server).items()}


def served(setup, kernel_us):
    """Returns a server whose repository has only MODEL.

    A server computes the golden outputs of all its models. On the emulated device, the golden outputs of larger models would
    take longer than the time limit.
    """
    alone = setup.scratch / "alone"
    if not alone.exists():
        shutil.copytree(setup.repository / MODEL, alone / MODEL)
    return Server(setup, alone, [setup.core], BATCH, environment=environment(setup, kernel_us))


def end_computed_batches(setup, server, pictures):
    """Sends requests until the emulated device has computed the first PROVEN batches, which take a second each."""
    bench(setup, server, setup.other_core, pictures, "--model", MODEL, "--requests", 1000, "--concurrency", 64, "--warmup", "0s")


def measure_free(setup, pictures):
    """Returns the rows of a device that computes in no time, so that only decoding limits the server."""
    command = [setup.program("bench_worker"), "decode", "--repository", setup.repository, "--model", MODEL, "--pictures",
               pictures]
    team = workers.Team([workers.Worker(command, setup.core).wait_until_ready()])
    repetitions = workers.repetitions_for(team, setup.seconds(2))
    with served(setup, kernel_us=0) as server:
        end_computed_batches(setup, server, pictures)
        sides = workers.interleave({
            "decode": lambda: repetitions * team.images / team.run(repetitions),
            "service": lambda: load(server, MODEL, pictures, setup.seconds(5), setup.other_core)["answered_per_second"],
        }, setup.rounds(7))
    team.workers[0].close()
    decode, rate = (workers.spread(sides[side])[0] for side in ("decode", "service"))
    row = Row("JPEGs over gRPC on one core with a device that costs nothing, over the core's rate of decoding", "times",
              workers.spread([a / b for a, b in zip(sides["service"], sides["decode"])]), FEED_GOAL,
              note=f"{MODEL}, {rate:,.0f} requests/s and {decode:,.0f} decoded images/s")
    return row, 1e3 / decode


def measure_slow(setup, pictures, decode_ms):
    """Returns the rows of a device that is slower than decoding."""
    seconds = setup.seconds(10)
    with served(setup, SLOW_KERNEL) as server:
        end_computed_batches(setup, server, pictures)
        busy, rates, images = [], [], []
        for _ in range(setup.rounds(5)):
            point, grown = gained(server, lambda: load(server, MODEL, pictures, seconds, setup.other_core))
            # The counters include the warm-up, so the time that they cover is computed as images / rate.
            busy.append(grown["busy_seconds_total"] / (grown["images_total"] / point["answered_per_second"]))
            rates.append(point["answered_per_second"])
            images.append(grown["images_total"] / grown["batches_total"])
        alone, grown = gained(server, lambda: bench(setup, server, setup.other_core, pictures, "--model", MODEL,
                                                    "--duration", f"{seconds}s", "--concurrency", 1))
        device_ms = 1e3 * grown["busy_seconds_total"] / grown["batches_total"]
        beyond = alone["latency_ms"]["p50"] - decode_ms - device_ms
        capacity = workers.spread(rates)[0]
        open_loops = {part: load(server, MODEL, pictures, seconds, setup.other_core, "--rate", part * capacity)["latency_ms"]
                      for part in (0.5, 0.9)}
    return [
        Row("device slower than decoding: share of the time in which it has a batch", "of the time", workers.spread(busy),
            BUSY_GOAL, note=f"{capacity:,.0f} requests/s; {workers.spread(images)[0]:.0f} images a batch"),
        Row("one request alone: p50 beside decoding and the device", "ms", (beyond,) * 3, ALONE_GOAL, at_least=False,
            note=f"p50 {alone['latency_ms']['p50']:.2f} ms; decoding {decode_ms:.2f} ms, device {device_ms:.2f} ms"),
        *(Row(f"p99 at {part:.0%} of the capacity, open loop", "ms", (latency["p99"],) * 3, note=f"p50 {latency['p50']:.1f} ms")
          for part, latency in open_loops.items()),
    ]


def measure(setup):
    pictures, _ = setup.photographs()
    row, decode_ms = measure_free(setup, pictures)
    return [row, *measure_slow(setup, pictures, decode_ms)]
