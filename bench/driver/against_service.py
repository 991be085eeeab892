# SPDX-License-Identifier: Apache-2.0
"""Compares how many photographs the servers of two builds answer per second of processor time. Both are under load at the same time and on
the same cores, so that other work of the machine slows down both."""
import concurrent.futures
import dataclasses
import os
import pathlib
import sys

from driver import precisions, servers, service, workers
from driver.report import Row

GOAL = 0.98  # minimum of the lower end of the confidence interval; below it, a loss of 2 % cannot be excluded
ROUNDS = 21
SECONDS = 6  # per round
RANKS = 5, 15  # the 6th smallest and the 6th largest of 21 ratios: 97 % confidence interval of the median


def row_of(precision, rates):
    ratios = [now / before for now, before in zip(rates["now"], rates["before"], strict=True)]
    note = "{:,.0f} and {:,.0f} requests per second of processor time, {} callers of each".format(
        *(workers.spread(rates[side])[0] for side in ("now", "before")), servers.CALLERS)
    low = None
    if len(ratios) == ROUNDS:
        low, high = (sorted(ratios)[rank] for rank in RANKS)
        note += f"; 97 % confidence interval of the median: {low:.3f} .. {high:.3f}, whose lower end is judged"
    return Row(f"{servers.what(precision)}, JPEG service, two cores", "times the rate", workers.spread(ratios), GOAL, judged=low, note=note)


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime


def rate(setup, server, folder):
    """Returns the answered requests per second of the server's processor time. Requests and processor time count from the first request
    to the last answer, because a large batch that is only partly inside of a measured interval would falsify the ratio."""
    before = processor_seconds(server.process)
    point = service.bench(setup, server, setup.core_list(), folder, "--model", servers.NAME, "--concurrency", servers.CALLERS,
                          "--warmup", "0s", "--duration", f"{setup.seconds(SECONDS)}s")
    return point["answered"] / (processor_seconds(server.process) - before)


def at_once(setup, sides, folder):
    """Returns {name: rate} of servers that are all under load during the measurement."""
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as pool:
        points = {name: pool.submit(rate, setup, server, folder) for name, server in sides.items()}
        return {name: point.result() for name, point in points.items()}


def measure_precision(setup, repository, folder, precision):
    print(f"  {precision}", file=sys.stderr)
    flags = ["--precision", precision]
    before = str(setup.against / "bin" / "vitrine-server")
    with (service.Server(setup, repository, setup.both(), flags) as ours,
          service.Server(setup, repository, setup.both(), flags, program=before) as theirs):
        rounds = [at_once(setup, {"now": ours, "before": theirs}, folder) for _ in range(setup.rounds(ROUNDS))]
    return row_of(precision, {name: [rates[name] for rates in rounds] for name in ("now", "before")})


def measure(setup):
    """Returns a row for each precision."""
    folder, repository = setup.photographs()[0], setup.scratch / "servers"
    # The other build publishes the model, because an older server cannot read a newer manifest.
    servers.publish(dataclasses.replace(setup, build=setup.against), repository, servers.jpegs(folder))
    return [measure_precision(setup, repository, folder, precision) if precisions.multiplied(precision)
            else precisions.left_out(f"{servers.NAME}, {servers.SIDE}x{servers.SIDE}", precision)
            for precision in servers.GOALS if setup.cases in servers.what(precision)]
