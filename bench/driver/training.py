# SPDX-License-Identifier: Apache-2.0
"""Compares training steps with the same model in PyTorch for Python, and mixed batches with padded ones.

Every side takes whole steps (forward, backward, AdamW) on one batch in memory, on both cores, without reading data. All
sides start from the same weights and the same batch, and their first losses must be equal within a tolerance.
"""
import pathlib
import sys

from driver import setup as setups
from driver import workers
from driver.report import Row

BATCH = 128
MODELS = {  # zoo model: image sides
    "eit34-mini-cifar10": 32,
    "xcit-n12-10-classes": 112,
}
GOAL = 1.2
FORMS = {
    "eager fp32": [],
    "eager bf16": ["--autocast"],
    "compiled fp32": ["--form", "compile"],
    "compiled bf16": ["--form", "compile", "--autocast"],
}

MIXED = "eit34-mini-cifar10"
MIXED_SIZES = ["32x32:77", "40x40:26", "48x48:25"]  # 60, 20 and 20 % of 128
PADDED = 48
MIXED_GOAL = 1.5

# Relative, for first losses: bf16 rounds, and BatchNorm's statistics here are per replica's share of the batch.
TOLERANCE = 5e-3
ROUNDS = 5
SECONDS = 1.5


def our_worker(setup, model, sizes, *more):
    return workers.Worker([setup.program("bench_training_worker"), "--model", model, "--threads", setup.cores(), "--sizes",
                           *sizes, *more], setup.core_list())


def peer(setup, folder, form):
    return workers.Worker([setup.python, setups.ROOT / "bench/peers/training_worker.py", "--folder", folder, "--threads",
                           setup.cores(), *FORMS[form]], setup.core_list())


def ready(started):
    """Returns the workers that started, {name: worker}. Names the forms of PyTorch that cannot run here."""
    running = {}
    for name, worker in started.items():
        try:
            running[name] = worker.wait_until_ready()
        except RuntimeError as error:
            if name.startswith("ours"):
                raise
            print(f"  {name} does not run here: {error}", file=sys.stderr)
    return running


def check_first_losses(running):
    losses = {name: worker.results()[0][0] for name, worker in running.items()}
    expected = losses["ours fp32"] if "ours fp32" in losses else losses["ours"]
    for name, loss in losses.items():
        if abs(loss - expected) > TOLERANCE * abs(expected):
            raise RuntimeError(f"the first loss of {name} is {loss}, of ours {expected}")


def rates(setup, running):
    """Returns {name: [images/s per round]}."""
    sides = {}
    for name, worker in running.items():
        team = workers.Team([worker])
        count = workers.repetitions_for(team, setup.seconds(SECONDS))
        sides[name] = lambda team=team, n=count: n * team.images / team.run(n)
    return workers.interleave(sides, setup.rounds(ROUNDS))


def folder_of(setup, name):
    folder = pathlib.Path(setup.scratch) / name
    folder.mkdir()
    return folder


def close(running):
    for worker in running.values():
        worker.close()


def listed(results, names):
    return ", ".join(f"{name} {workers.spread(results[name])[0]:,.0f}" for name in names)


def measure_model(setup, model, side):
    print(f"  {model}: batch {BATCH} at {side}x{side}, four forms of PyTorch", file=sys.stderr)
    folder, sizes = folder_of(setup, model), [f"{side}x{side}:{BATCH}"]
    running = ready({"ours fp32": our_worker(setup, model, sizes, "--save", folder)})
    # Compilation takes half a minute each, so all start in parallel.
    running |= ready({"ours bf16": our_worker(setup, model, sizes, "--bf16"),
                      **{form: peer(setup, folder, form) for form in FORMS}})
    results = rates(setup, running)
    check_first_losses(running)
    close(running)
    peers = [form for form in FORMS if form in results]

    def against(ours, theirs):
        return [mine / max(results[form][i] for form in theirs) for i, mine in enumerate(results[ours])]

    fp32 = [form for form in peers if form.endswith("fp32")]
    what = f"{model}, batch {BATCH} at {side}x{side}"
    return [Row(f"{what}, bf16, against the best of PyTorch", "times as fast", workers.spread(against("ours bf16", peers)),
                GOAL, note=f"images/s: ours {listed(results, ['ours bf16'])[10:]}; PyTorch {listed(results, peers)}"),
            Row(f"{what}, fp32, against the best fp32 of PyTorch", "times as fast",
                workers.spread(against("ours fp32", fp32)), note=f"images/s: {listed(results, ['ours fp32'])}")]


def measure_mixed(setup):
    print(f"  {MIXED}: {', '.join(MIXED_SIZES)} against all padded to {PADDED}", file=sys.stderr)
    folder = folder_of(setup, "mixed")
    running = ready({"ours": our_worker(setup, MIXED, MIXED_SIZES, "--bf16"),
                     "padded": our_worker(setup, MIXED, MIXED_SIZES, "--bf16", "--pad", PADDED, "--save", folder)})
    running |= ready({form: peer(setup, folder, form) for form in ("eager fp32", "eager bf16")})
    results = rates(setup, running)
    check_first_losses({name: worker for name, worker in running.items() if name != "ours"} | {"ours": running["padded"]})
    close(running)
    ratios = [packed / padded for packed, padded in zip(results["ours"], results["padded"])]
    theirs = [packed / max(a, b) for packed, a, b in
              zip(results["ours"], results["eager fp32"], results["eager bf16"])]
    what = f"{MIXED}, sizes {', '.join(MIXED_SIZES)} packed"
    return [Row(f"{what}, against padding to {PADDED}", "times as fast", workers.spread(ratios), MIXED_GOAL,
                note=f"images/s: {listed(results, ['ours', 'padded'])}"),
            Row(f"{what}, against PyTorch padded to {PADDED}", "times as fast", workers.spread(theirs),
                note=f"images/s: {listed(results, ['eager fp32', 'eager bf16'])}")]


def measure(setup):
    rows = [row for model, side in MODELS.items() for row in measure_model(setup, model, side)]
    return rows + measure_mixed(setup)
