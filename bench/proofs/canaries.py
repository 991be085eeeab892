# SPDX-License-Identifier: Apache-2.0
"""Tests the canary guard with its default bounds on real versions. The guard must take each bad canary out of service within
GOAL seconds, and must keep the harmless canaries.

All models are on one server, and each gives a tenth of its requests to its canary.
"""
import concurrent.futures
import sys
import time

import vitrine

from driver import precisions
from driver.report import Row
from driver.service import Server, bench
from proofs import canary_cases, versions

RATE = 50  # requests/s of each model
PERCENT = 10  # share of a model's requests that its canary gets
SECONDS = 80  # length of the observation
GOAL = 60  # maximum s until a bad canary is out of service
ENOUGH = 100  # minimum answers of a canary in the guard's window; with fewer, the guard does not judge the canary
STABLE, CANARY = 1, 2


def write_config(path, canaries):
    """Writes a serving configuration that sets only the precision of canaries."""
    path.write_text("\n".join(f'models {{ model: "{canary.name}" version_precisions {{ version: {CANARY} '
                              f'precision: "{canary.precision}" }} }}' for canary in canaries if canary.precision))
    return path


def begin(admin, repository, canaries):
    """Publishes every canary beside its stable version. Then sets each canary's share of the requests, which the server may
    reject."""
    for canary in canaries:
        admin.set_label(canary.name, "stable", STABLE)
        versions.place(canary.canary, repository, canary.name, CANARY, canary.change)
    for canary in canaries:
        print(f"\r  {canary.name}: {PERCENT} % of its requests", end="\033[K", file=sys.stderr)
        try:
            admin.set_traffic(canary.name, {CANARY: PERCENT})
        except vitrine.FailedPrecondition as refused:
            canary.seconds, canary.reason = 0.0, f"given nothing: {refused}"
    print(file=sys.stderr)


def note(admin, canaries, begun):
    """Reads the guard's current measurements of the canaries."""
    serving = {model.model: model for model in admin.serving().models}
    for canary in canaries:
        model = serving[canary.name]
        if model.put_away and not canary.reason:
            canary.seconds, canary.reason = time.monotonic() - begun, model.put_away[0].reason
        if model.proto.canaries:
            canary.status = model.proto.canaries[0]


def observe(setup, server, admin, canaries, seconds):
    """Sends requests to all models at their rates, and records when canaries are taken out of service. Returns the load generator's
    report."""
    mix = ";".join(f"model={canary.name},images={canary.pictures}" for canary in canaries)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        begun = time.monotonic()
        load = pool.submit(bench, setup, server, setup.other_core, "--mix", mix, "--rate", RATE * len(canaries), "--warmup",
                           "0s", "--duration", f"{seconds}s", complete=False)
        while not load.done():
            note(admin, canaries, begun)
            time.sleep(0.25)
        note(admin, canaries, begun)
        return load.result()


def answered(canary):
    """Returns the number of the canary's answers in the guard's window, as last read while the canary was in service."""
    return canary.status.requests if canary.status else 0


def bad_row(canary):
    return Row(f"{canary.what}: put away after", "s", (canary.seconds,) * 3, GOAL, at_least=False,
               note=f"{answered(canary)} answers of its own; {canary.reason or 'not put away'}")


def harmless_row(canary):
    status = canary.status
    measured = "not watched" if status is None else (
        f"{answered(canary)} answers of its own in the last minute; {status.compute_ratio:.2f} times the compute time; "
        f"differences: confidence {status.confidence_difference:+.3f}, classes {status.class_difference:.3f}, unsure "
        f"{status.unsure_difference:+.3f}; another class for {status.disagreement:.1%} of {status.paired} images")
    return Row(f"{canary.what}: put away", "times", (int(bool(canary.reason)),) * 3, 0, at_least=False,
               note=(canary.reason + "; " if canary.reason else "") + measured)


def measure(setup):
    canaries = canary_cases.make(setup)
    seconds = setup.seconds(SECONDS)
    repository = setup.scratch / "canaries"
    for canary in canaries:
        (repository / canary.name).mkdir(parents=True)
        versions.place(canary.stable, repository, canary.name, STABLE)
    admin_address = f"unix://{setup.scratch / 'admin'}"
    flags = ["--admin", admin_address, "--serving-config", write_config(setup.scratch / "serving", canaries)]
    with Server(setup, repository, setup.both(), flags) as server, \
            vitrine.AdminClient(admin_address) as admin:
        begin(admin, repository, canaries)
        print(f"  {RATE} requests/s to each of {len(canaries)} models for {seconds:.0f} s", file=sys.stderr)
        load = observe(setup, server, admin, canaries, seconds)
        harmless = [canary for canary in canaries if canary.harmless]
        judged = min(map(answered, harmless))
        rows = [bad_row(canary) for canary in canaries if not canary.harmless]
        rows += [harmless_row(canary) for canary in harmless]
    rows.append(Row("harmless canaries that stayed", f"of {len(harmless)}", (sum(not canary.reason for canary in harmless),) * 3,
                    len(harmless), note=f"{seconds:.0f} s of {RATE} requests/s to each model, {PERCENT} % to its canary"))
    rows.append(Row("answers of a harmless canary in the guard's window at the end, fewest", "answers", (judged,) * 3, ENOUGH))
    rows.append(Row("requests that were not answered", "requests", (load["due"] - load["answered"],) * 3, 0, at_least=False,
                    note=f"of {load['due']:,} due: none is lost with a canary"))
    if not precisions.multiplied("int8"):
        rows.append(precisions.left_out("canary of a bundled model", "int8"))
    return rows
