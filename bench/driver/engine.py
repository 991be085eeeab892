# SPDX-License-Identifier: Apache-2.0
"""Compares the compiled CPU engine with OpenVINO and ONNX Runtime. All three compute the same images with the same weights, in
turn on the same cores.

Both peers get PyTorch models from timm, or from tests/oracle if timm does not have the model. The part `imported` compares
models that users import: distilled DeiT, DINOv2 and CLIP's image tower.
"""
import dataclasses
import json
import os
import re
import subprocess
import sys

from driver import precisions, published, workers
from driver import setup as setups
from driver.report import Row, instruction_sets

ROUNDS = 9
SECONDS = 0.5


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # model in our repository
    side: int  # image side
    goal: float
    batch: int = 8
    isa: str = ""  # empty: the best instruction set of the CPU
    cores: int = 1
    precision: str = "fp32"

    def what(self):
        return (f"{self.name}, {self.side}x{self.side}, batch {self.batch}" + (f", {self.isa}" if self.isa else "")
                + (f", {self.precision}" if self.precision != "fp32" else "") + (", two cores" if self.cores == 2 else ""))


GOALS_OF_BF16 = {"xcit-n12": 1.12, "xcit-n12-f-sne-16": 1.12, "xcit-t12": 1.03, "vit-ti16": 1.00,
                 "eit34-mini-cifar10": 1.2, "xvit-t": 1.2, "kv-cifar10-p4-d256-l4": 1.2}
GOALS_OF_INT8 = {"xcit-n12": 1.35, "xcit-n12-f-sne-16": 1.35, "xcit-t12": 1.2, "vit-ti16": 1.15}
GOALS = {"xcit-n12": 1.10, "xcit-t12": 1.02, "vit-ti16": 1.00}
OTHERS = {"xcit-n12-f-sne-16": 224, "eit34-mini-cifar10": 32, "xvit-t": 224, "kv-cifar10-p4-d256-l4": 32}
OTHERS_GOAL = 1.2

CASES = [
    *(Case(name, 224, goal) for name, goal in GOALS.items()),
    *(Case(name, side, OTHERS_GOAL) for name, side in OTHERS.items()),
    *(Case(name, side, 1.0, batch=1) for name, side in (dict.fromkeys(GOALS, 224) | OTHERS).items()),
    *(Case(name, 224, 1.0, isa="avx2") for name in GOALS),
    *(Case(name, 224, goal, cores=2) for name, goal in GOALS.items()),
]

NARROW_GOALS = {"bf16": GOALS_OF_BF16, "int8": GOALS_OF_INT8}
NARROW_CASES = [Case(name, 224 if name in GOALS else OTHERS[name], goal, cores=2, precision=precision)
                for precision, goals in NARROW_GOALS.items() for name, goal in goals.items()]
AVX2_INT8_CASES = [Case(name, 224, 1.0, isa="avx2", precision="int8", cores=cores) for cores in (1, 2) for name in GOALS]
# Imported models: timm's name and the flags of the import. DINOv2's position table is for a side of 518 pixels. The cases have a
# side of 224 pixels, like most images of users, and therefore need --native.
IMPORTED = {
    "dinov2-s14": ("vit_small_patch14_dinov2", ["--native", "1-1369"]),
    "deit-ti16-distilled": ("deit_tiny_distilled_patch16_224", []),
    "clip-b32": ("vit_base_patch32_clip_224.openai", []),
}
IMPORTED_GOAL = 1.1
IMPORTED_CASES = [Case(name, 224, IMPORTED_GOAL, cores=2, precision=precision)
                  for precision in ("fp32", "bf16", "int8") for name in IMPORTED]
PARTS = {"engine": CASES, "narrow": NARROW_CASES + AVX2_INT8_CASES, "imported": IMPORTED_CASES}
# Rate of a case, as a share of the peak rate of multiply-adds in the same run. A case that reaches this share meets its goal,
# even if its rate is too low relative to the peers.
ENOUGH = {"fp32": 0.84, "bf16": 0.76, "int8": 0.65}
# Share of the peak rate that the model SHARED must reach in batches of several images, with the CPU's best instructions.
SHARED, SHARE_GOALS = "xcit-n12", {"fp32": 0.75, "bf16": 0.68, "int8": 0.50}
# Allowed difference of logits, relative to the largest logit. The comparison tests that both sides compute the same model. It
# does not test accuracy, because the weights are untrained.
TOLERANCES = {"fp32": workers.TOLERANCE, "bf16": 0.1, "int8": 0.5}


class Models:
    """Publishes models on demand in one scratch repository, with timm's initial weights or with random weights."""

    def __init__(self, setup):
        self.setup, self.repository = setup, setup.scratch / "models"
        self.peers = {}

    def peer(self, name):
        """Returns the options that select the model of a peer's worker."""
        if name not in self.peers:
            architecture, flags = IMPORTED.get(name, (published.PEERS.get(name), []))
            if architecture:
                weights = published.import_from_timm(self.setup, self.repository, name, architecture, flags=flags)
                self.peers[name] = ["--timm", architecture, "--weights", weights]
            else:
                published.run(self.setup.program("vitrine-repo"), "create", self.repository, name, "--variant", name)
                self.peers[name] = ["--version", self.repository / name / "1"]
        return self.peers[name]

    def gmacs(self, case):
        command = [self.setup.program("vitrine-repo"), "describe", case.name, "--repository", self.repository, "--resolution",
                   case.side, "--no-measure", "--format", "json"]
        return json.loads(subprocess.run(list(map(str, command)), capture_output=True, check=True).stdout)["executed_macs"] / 1e9


class PeerEnded(Exception):
    pass


def peer_worker(setup, program, peer, inputs, case, cores, threads=1):
    isa = case.isa.upper() + ("_VNNI" if case.precision == "int8" and "avx_vnni" in instruction_sets() else "")
    environment = dict(os.environ, ONEDNN_MAX_CPU_ISA=isa) if case.isa else None
    worker = workers.Worker([setup.python, setups.ROOT / "bench/peers" / f"{program}_worker.py", *peer, "--inputs", inputs,
                             "--threads", threads, "--precision", case.precision], cores, environment)
    try:
        return worker.wait_until_ready()
    except workers.EndedEarly as error:
        raise PeerEnded(f"{program} cannot run it on this machine") from error


def has_onnxruntime(case):
    """Returns True if ONNX Runtime can run the case. It has no bf16 on CPUs, and it cannot be limited to AVX2."""
    return case.precision != "bf16" and not (case.isa and "avx512f" in instruction_sets())


def sides_of(setup, models, case):
    """Returns {side: team} for our engine and the peers, each with one process per core. On two cores, adds a side for OpenVINO
    with two threads in one process."""
    peer, inputs = models.peer(case.name), setup.scratch / "inputs.safetensors"
    cores = [setup.core, setup.other_core][:case.cores]
    command = [setup.program("bench_worker"), "forward", "--repository", models.repository, "--model", case.name,
               *(["--isa", case.isa] if case.isa else []), "--precision", case.precision,
               "--save-inputs", inputs,
               "--sizes", *[f"{case.side}x{case.side}"] * case.batch]
    sides = {"ours": workers.Team([workers.Worker(command, core).wait_until_ready() for core in cores])}

    def instances(program):
        return workers.Team([peer_worker(setup, program, peer, inputs, case, core) for core in cores])

    sides["OpenVINO"] = instances("openvino")
    if case.cores > 1:
        sides["OpenVINO, two threads"] = workers.Team(
            [peer_worker(setup, "openvino", peer, inputs, case, setup.core_list(), threads=2)])
    if has_onnxruntime(case):
        sides["ONNX Runtime"] = instances("onnxruntime")
    return sides


def measure_case(setup, models, peak, case):
    """Returns ({side: [images/s of each round]}, the part of the OpenVINO worker's description that counts its nodes). The side
    "peak" is in GFLOP/s."""
    print(f"  {case.what()}", file=sys.stderr)
    sides = sides_of(setup, models, case)
    first = {name: team.workers[0] for name, team in sides.items()}
    for peer in list(first)[1:]:
        workers.check_agreement(first["ours"].results(), first[peer].results(), TOLERANCES[case.precision])
    runs = {}
    for name, team in sides.items():
        repetitions = workers.repetitions_for(team, setup.seconds(SECONDS))
        runs[name] = lambda team=team, n=repetitions: n * team.images / team.run(n)
    rates = workers.interleave({**runs, "peak": peak}, setup.rounds(ROUNDS))
    wide = re.search(r"\d+ nodes .*", first["OpenVINO"].description).group(0)
    for team in sides.values():
        for worker in team.workers:
            worker.close()
    return rates, wide


def rows_of(models, case, rates, wide, peak):
    """Returns the rows of a case. Our rate is compared with the fastest peer of each round. `peak`: the highest rate of
    multiply-adds in the whole run."""
    rates = {name: values for name, values in rates.items() if name != "peak"}
    ours, theirs = rates.pop("ours"), [max(round_) for round_ in zip(*rates.values())]
    each = ", ".join(f"{name} {workers.spread(values)[0]:,.0f}" for name, values in rates.items())
    shares = workers.spread([2 * models.gmacs(case) * rate / case.cores / peak for rate in ours])
    note = f"images/s: ours {workers.spread(ours)[0]:,.0f}, {each}; ours at {shares[0]:.1%} of the multiply-add peak"
    rows = [Row(case.what(), "times as fast", workers.spread([a / b for a, b in zip(ours, theirs)]), case.goal,
                note=note + (f"; OpenVINO has {wide}" if case.isa else ""), share=(shares[0], ENOUGH[case.precision]))]
    if case.name == SHARED and case.batch > 1 and not case.isa:
        rows.append(Row(f"{case.what()}, share", "of the peak", shares, SHARE_GOALS[case.precision]))
    return rows


def start_peak(setup, isa, precision):
    """Starts a worker that measures the peak rate of multiply-adds. Returns (function that returns GFLOP/s, worker)."""
    worker = workers.Worker([setup.program("bench_worker"), "peak", *(["--isa", isa] if isa else []), "--precision", precision],
                            setup.core)
    team = workers.Team([worker.wait_until_ready()])
    repetitions = workers.repetitions_for(team, setup.seconds(0.3))
    return lambda: repetitions * team.images / team.run(repetitions), worker


def chosen(part, text):
    """Returns the cases of a part whose names contain the text."""
    return [case for case in PARTS[part] if text in case.what()]


def measure_cases(setup, cases):
    """Measures the cases. The peak rate of multiply-adds is measured in every round of every case, under the same conditions as
    the rates."""
    too_wide = [case for case in cases if case.cores > setup.cores()]
    cases = [case for case in cases if case not in too_wide]
    kinds = sorted({(case.isa, case.precision) for case in cases})
    models, peaks = Models(setup), {kind: start_peak(setup, *kind) for kind in kinds}
    results, failed = [], {}
    for case in cases:
        try:
            results.append(measure_case(setup, models, peaks[case.isa, case.precision][0], case))
        except PeerEnded as error:  # the results of the other cases are kept
            print(f"  {error}", file=sys.stderr)
            failed[case] = f"LEFT OUT: {error}"
    cases = [case for case in cases if case not in failed]
    rows, highest = [], {}
    for kind in kinds:
        worker, gflops = peaks[kind][1], [rate for case, (rates, _) in zip(cases, results)
                                          if (case.isa, case.precision) == kind for rate in rates["peak"]]
        worker.close()
        if not gflops:
            continue
        highest[kind] = max(gflops)
        rows.append(Row(f"peak of one core: {worker.description}", "GFLOP/s", workers.spread(gflops)))
    for case, result in zip(cases, results):
        rows += rows_of(models, case, *result, highest[case.isa, case.precision])
    rows += [Row(case.what(), note=why) for case, why in failed.items()]
    return rows + [Row(case.what(), note="LEFT OUT: this machine has one core") for case in too_wide]


def measure(setup):
    return measure_cases(setup, chosen("engine", setup.cases))


def measure_imported(setup):
    return measure_wide(setup, chosen("imported", setup.cases))


def measure_narrow(setup):
    return measure_wide(setup, chosen("narrow", setup.cases))


def measure_wide(setup, cases):
    """Measures the cases that limit the instructions (`isa`), and the cases in whose precision this CPU multiplies fast. Lists
    the other cases as left out."""
    wide = [case for case in cases if case.isa or precisions.wide(case.precision)]
    return measure_cases(setup, wide) + [precisions.left_out(case.name, case.precision) for case in cases if case not in wide]
