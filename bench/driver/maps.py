# SPDX-License-Identifier: Apache-2.0
"""Measures how the latency of seven eighths of the requests changes if the other eighth asks for attention maps."""
import json
import subprocess
import sys

from driver import workers
from driver.report import Row
from driver.service import Server, load
from driver.setup import ROOT, sizes_of

MOST = 1.1
LOAD = 0.4  # share of the closed loop's rate
OTHERS = 7
PICTURES = ROOT / "samples" / "digits"  # small, so that decoding varies little compared to the model


def overlay(setup, server, model):
    """Returns the name of the first attention kind that `vitrine models` lists for the model."""
    command = [setup.program("vitrine"), "models", "--server", server.address, "--format", "json"]
    listed = map(json.loads, subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())
    kinds = [kind for one in listed if one["model"] == model for kind in one["attention_kinds"]]
    if not kinds:
        raise RuntimeError(f"the server offers no attention of {model}")
    return kinds[0]


def mix(kind):
    return f"name=others,weight={OTHERS}; name=eighth" + (f",attention={kind}" if kind else "")


def p99_of_others(point):
    return next(one for one in point["classes"] if one["name"] == "others")["latency_ms"]["p99"]


def own_size(version):
    """Returns flags that resize images to a size in the middle of the range of a model with native resolution. Returns no flags
    for other models. With large images, a measurement would have too few requests for a 99th percentile."""
    native = "native {" in (version / "manifest.textproto").read_text()
    return ("--resolution", sizes_of(version)["batch 1"][0]) if native else ()


def measure_model(setup, model, version):
    print(f"  {model}: one in eight asks for maps", file=sys.stderr)
    size = own_size(version)
    with Server(setup, setup.repository, [setup.core]) as server:
        kind = overlay(setup, server, model)
        rate = LOAD * load(server, model, PICTURES, setup.seconds(4), setup.other_core, *size)["answered_per_second"]
        sides = {side: lambda asked=asked: p99_of_others(load(server, model, PICTURES, setup.seconds(20), setup.other_core,
                                                              *size, "--rate", rate, "--mix", mix(asked)))
                 for side, asked in (("none", ""), ("maps", kind))}
        results = workers.interleave(sides, setup.rounds(5))
    ratios = [maps / none for maps, none in zip(results["maps"], results["none"], strict=True)]
    without, with_maps = (workers.spread(results[side])[0] for side in ("none", "maps"))
    return Row(f"{model}, p99 of seven in eight, the eighth asks for {kind}", "of that where none asks",
               workers.spread(ratios), MOST, at_least=False,
               note=f"{with_maps:.1f} against {without:.1f} ms at {rate:,.0f} requests/s, open loop")


def measure(setup):
    return [measure_model(setup, model, version) for model, version in setup.models().items()]
