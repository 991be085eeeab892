# SPDX-License-Identifier: Apache-2.0
"""One caller in eight asks for attention maps: what that does to the latency of the seven others."""
import json
import subprocess
import sys

from driver import workers
from driver.report import Row
from driver.service import Server, load

MOST = 1.1
LOAD = 0.7  # of what a closed loop reaches
OTHERS = 7


def offered(setup, server, model):
    """The kinds of attention that a model has, as the client calls them."""
    command = [setup.program("vitrine"), "models", "--server", server.address, "--format", "json"]
    listed = map(json.loads, subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())
    kinds = [one["attention_kinds"] for one in listed if one["model"] == model]
    if not kinds or not kinds[0]:
        raise RuntimeError(f"the server offers no attention of {model}")
    return kinds[0]


def mix(kinds):
    return f"name=others,weight={OTHERS}; name=eighth" + (f",attention={'+'.join(kinds)}" if kinds else "")


def p99_of_others(point):
    return next(one for one in point["classes"] if one["name"] == "others")["latency_ms"]["p99"]


def measure_model(setup, model):
    print(f"  {model}: one in eight asks for maps", file=sys.stderr)
    pictures, _ = setup.photographs()
    with Server(setup, setup.repository, [setup.core], [f"model/{model}"]) as server:
        kinds = offered(setup, server, model)
        rate = LOAD * load(server, model, pictures, setup.seconds(4), setup.other_core)["answered_per_second"]
        sides = {side: lambda asked=asked: p99_of_others(load(server, model, pictures, setup.seconds(10), setup.other_core,
                                                              "--rate", rate, "--mix", mix(asked)))
                 for side, asked in (("none", []), ("maps", kinds))}
        results = workers.interleave(sides, setup.rounds(7))
    ratios = [maps / none for maps, none in zip(results["maps"], results["none"], strict=True)]
    without, with_maps = (workers.spread(results[side])[0] for side in ("none", "maps"))
    return Row(f"{model}, p99 of seven in eight, the eighth asks for {', '.join(kinds)}", "of that where none asks",
               workers.spread(ratios), MOST, at_least=False,
               note=f"{with_maps:.1f} against {without:.1f} ms at {rate:,.0f} requests/s, open loop")


def measure(setup):
    return [measure_model(setup, model) for model in setup.models()]
