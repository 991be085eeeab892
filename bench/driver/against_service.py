# SPDX-License-Identifier: Apache-2.0
"""Compares how many photographs per second the servers of two builds answer in a closed loop, in turn on the same cores."""
import dataclasses
import sys

from driver import precisions, servers, service, workers
from driver.report import Row

GOAL = 1.0
ROUNDS = 21
RANKS = 5, 15  # the 6th smallest and the 6th largest of 21 ratios: 97 % confidence interval of the median


def rows_of(precision, rates):
    case = servers.what(precision)
    ratios = [now / before for now, before in zip(rates["now"], rates["before"], strict=True)]
    note = "{:,.0f} and {:,.0f} requests/s, {} callers".format(
        *(workers.spread(rates[side])[0] for side in ("now", "before")), servers.CALLERS)
    if len(ratios) == ROUNDS:
        low, high = (sorted(ratios)[rank] for rank in RANKS)
        note += f"; 97 % confidence interval of the median: {low:.3f} .. {high:.3f}"
    return Row(f"{case}, JPEG service", "times the rate", workers.spread(ratios), GOAL, note=note)


def measure_precision(setup, repository, folder, precision):
    print(f"  {precision}", file=sys.stderr)
    flags = ["--precision", precision]
    before = str(setup.against / "bin" / "vitrine-server")
    with (service.Server(setup, repository, setup.both(), flags) as ours,
          service.Server(setup, repository, setup.both(), flags, program=before) as theirs):
        sides = {name: lambda server=server: servers.closed_loop(setup, server, folder)
                 for name, server in {"now": ours, "before": theirs}.items()}
        return rows_of(precision, workers.interleave(sides, setup.rounds(ROUNDS)))


def measure(setup):
    """Returns a row for each precision. Both servers run all the time; the one that is not called uses no processor time."""
    folder, repository = setup.photographs()[0], setup.scratch / "servers"
    # The other build publishes the model, because an older server cannot read a newer manifest.
    servers.publish(dataclasses.replace(setup, build=setup.against), repository, servers.jpegs(folder))
    return [measure_precision(setup, repository, folder, precision) if precisions.multiplied(precision)
            else precisions.left_out(f"{servers.NAME}, {servers.SIDE}x{servers.SIDE}", precision)
            for precision in servers.GOALS if setup.cases in servers.what(precision)]
