# SPDX-License-Identifier: Apache-2.0
"""Compares published models at 224 pixels with timm in eager PyTorch; measures mixed batches, and memory against size.

The weights are timm's initial weights, imported by `vitrine-repo import`, so both sides compute the same logits.
"""
import pathlib
import re
import subprocess
import sys

from driver import forward
from driver import setup as setups
from driver import workers
from driver.report import Row

PEERS = {
    "xcit-n12": "xcit_nano_12_p16_224",
    "xcit-t12": "xcit_tiny_12_p16_224",
    "vit-ti16": "vit_tiny_patch16_224",
}
PEER_GOAL = 1.5
BATCH = 8

# Zoo variants that accept any size, with random weights.
MIXED = ["xcit-n12", "vit-ti16-native"]
MIXED_SIZES = ["160x224", "224x160", "224x224", "288x224"]
MIXED_GOAL = 1.05

GROWING = ["xcit-n12", "xvit-t"]
SIDES = [224, 512, 768, 1024]
# Large enough that activations, not loading the weights, determine the peak.
GROWING_BATCH = 8
# Megabytes per token from the third to the fourth size, relative to those from the second to the third: 1 for linear
# growth, 1.9 for an N x N matrix alone.
GROWTH_GOAL = 1.2


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def import_from_timm(setup, repository, name, architecture, drawn=(), flags=()):
    """Publishes timm's initial weights and returns their file. `flags`: for the import; `drawn`: for timm_weights.py."""
    weights = setup.scratch / f"{architecture}.safetensors"
    labels = setup.scratch / "labels.txt"
    labels.write_text("".join(f"class {i}\n" for i in range(1000)))
    run(setup.python, setups.ROOT / "bench/peers/timm_weights.py", architecture, weights, *drawn)
    has_classes = "dinov2" not in architecture and "clip" not in architecture
    run(setup.program("vitrine-repo"), "import", repository, name, weights, "--from", "timm", "--arch", architecture,
        *(["--labels", labels] if has_classes else []), *flags)
    return weights


def our_worker(setup, repository, model, sizes, core, save_inputs=None):
    command = [setup.program("bench_worker"), "forward", "--repository", repository, "--model", model, "--sizes", *sizes]
    if save_inputs:
        command += ["--save-inputs", save_inputs]
    return workers.Worker(command, core)


def measure_peer(setup, repository, name, architecture):
    print(f"  {name}: batch {BATCH} at 224x224 against timm", file=sys.stderr)
    weights = import_from_timm(setup, repository, name, architecture)
    inputs = setup.scratch / "inputs.safetensors"
    ours = our_worker(setup, repository, name, ["224x224"] * BATCH, setup.core, inputs).wait_until_ready()
    theirs = workers.Worker([setup.python, setups.ROOT / "bench/peers/eager_worker.py", "--timm", architecture,
                             "--weights", weights, "--inputs", inputs], setup.core).wait_until_ready()
    forward.check_agreement(ours.results(), theirs.results())
    rounds = forward.compare(workers.Team([ours]), workers.Team([theirs]), setup.rounds(9), setup.seconds(2))
    for worker in (ours, theirs):
        worker.close()
    mine, peer, ratio = (workers.spread([each[i] for each in rounds]) for i in range(3))
    return Row(f"{name}, batch {BATCH} at 224x224, against timm eager", "times as fast", ratio, PEER_GOAL,
               note=f"{mine[0]:,.1f} against {peer[0]:,.1f} images/s")


def measure_mixed(setup, repository, name):
    print(f"  {name}: a mixed batch against its parts", file=sys.stderr)
    batches = {"mixed": [size for size in MIXED_SIZES for _ in range(2)]}
    batches |= {size: [size] * 2 for size in MIXED_SIZES}
    team = {what: workers.Team([our_worker(setup, repository, name, sizes, setup.core).wait_until_ready()])
            for what, sizes in batches.items()}
    times = {what: workers.repetitions_for(each, setup.seconds(1)) for what, each in team.items()}
    sides = {what: lambda each=each, n=times[what]: each.run(n) / n for what, each in team.items()}
    results = workers.interleave(sides, setup.rounds(9))
    for each in team.values():
        each.workers[0].close()
    ratios = [results["mixed"][i] / sum(results[size][i] for size in MIXED_SIZES) for i in range(len(results["mixed"]))]
    return Row(f"{name}, one batch of {len(MIXED_SIZES)} grids against a batch for each", "times the cost",
               workers.spread(ratios), MIXED_GOAL, at_least=False,
               note=f"{len(batches['mixed'])} images of {', '.join(MIXED_SIZES)}")


def peak_megabytes(worker):
    status = pathlib.Path(f"/proc/{worker.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def measure_growth(setup, repository, name):
    print(f"  {name}: memory by size", file=sys.stderr)
    peaks = []
    for side in SIDES:
        worker = our_worker(setup, repository, name, [f"{side}x{side}"] * GROWING_BATCH, setup.core).wait_until_ready()
        peaks.append(peak_megabytes(worker))
        worker.close()
    tokens = [(side // 16) ** 2 for side in SIDES]
    slopes = [(peaks[i + 1] - peaks[i]) / (tokens[i + 1] - tokens[i]) for i in (1, 2)]
    return Row(f"{name}, memory per token from {SIDES[2]} to {SIDES[3]} pixels over that from {SIDES[1]} to {SIDES[2]}",
               "times", (slopes[1] / slopes[0],) * 3, GROWTH_GOAL, at_least=False,
               note=f"{GROWING_BATCH} images, peak " + ", ".join(f"{peak:.0f} MB at {side}" for side, peak in zip(SIDES, peaks)))


def measure(setup):
    imported, random = setup.scratch / "imported", setup.scratch / "random"
    rows = [measure_peer(setup, imported, name, architecture) for name, architecture in PEERS.items()]
    for name in sorted({*MIXED, *GROWING}):
        run(setup.program("vitrine-repo"), "create", random, name, "--variant", name, "--max-tokens", (SIDES[-1] // 16) ** 2)
    rows += [measure_mixed(setup, random, name) for name in MIXED]
    rows += [measure_growth(setup, random, name) for name in GROWING]
    return rows
