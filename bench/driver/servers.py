# SPDX-License-Identifier: Apache-2.0
"""Compares our server with a server made of grpc.aio and OpenVINO: the highest rate of photographs at which p99 is at most 50
ms.

`vitrine bench --find-max` finds this rate in an open loop. Server and load generator share the cores. The rates of decoding
alone and of the model alone are measured in the same rounds.
"""
import itertools
import json
import subprocess
import sys

from driver import ideal_queue, precisions, published, service, workers
from driver import setup as setups
from driver.report import Row

ROUNDS = 5
NAME, ARCHITECTURE, SIDE = "xcit-n12", published.PEERS["xcit-n12"], 224
BATCH = 8
GOALS = {"fp32": None, "bf16": 1.2, "int8": 1.4}  # {precision: minimum ratio of our rate to the peer's}
SHARE_GOAL = 0.9  # our rate, as a share of cores * limit()
BOUND, BOUND_SECONDS = "p99=50ms", 0.05
CLOSENESS = 0.03  # relative precision of the search
START = 0.3  # first rate of the first search, as a share of the limit
LATER_START = 0.7  # first rate of later searches, as a share of the previous result
TRIES = 4
CALLERS = 64  # closed-loop clients, for the maximum rate at any latency
SECONDS, WARM_UP = 10, 1.5  # per rate
# Allowed root mean square of the logits' differences, relative to the spread of the logits over the images. The differences come
# from the precision and from OpenCV's resize filter. A value above 1 would permit unrelated answers.
TOLERANCES = {"fp32": 0.5, "bf16": 0.5, "int8": 0.7}


def what(precision):
    return f"{NAME}, {SIDE}x{SIDE}, {precision}"


class Peer:
    """Context manager: bench/peers/peer_server.py on some cores. Entering the context waits until the server listens."""

    def __init__(self, setup, contract, weights, pictures, precision):
        self.command = ["taskset", "-c", setup.core_list(), setup.python, setups.ROOT / "bench/peers/peer_server.py",
                        "--timm", ARCHITECTURE, "--weights", weights, "--contract", contract, "--pictures", pictures,
                        "--precision", precision, "--threads", setup.cores()]

    def __enter__(self):
        self.process = subprocess.Popen(list(map(str, self.command)), stdout=subprocess.PIPE, text=True)
        self.description, listening = (self.process.stdout.readline().strip() for _ in range(2))
        if not listening:
            raise RuntimeError("the peer ended early: " + " ".join(map(str, self.command)))
        self.address = listening.split()[-1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


def publish(setup, repository, pictures):
    """Publishes a version with precision plans for bf16 and int8, and returns the weights for the peer. The plans need no
    accuracy check, because the weights are untrained."""
    weights = published.import_from_timm(setup, repository, NAME, ARCHITECTURE, drawn=["--lively"])
    labelled = setup.scratch / "labelled" / "class 0"
    labelled.mkdir(parents=True)
    for picture in pictures:
        (labelled / picture.name).symlink_to(picture)
    for precision in filter(precisions.multiplied, ("bf16", "int8")):
        published.run(setup.program("vitrine-repo"), "quantize", repository, NAME, "--precision", precision, "--data",
                      f"imagefolder:{labelled.parent}", "--budget", 100)
    return weights


def describe_contract(setup):
    path, proto = setup.scratch / "contract", setups.ROOT / "proto"
    published.run("protoc", "-I", proto, "--include_imports", f"--descriptor_set_out={path}",
                  proto / "vitrine/v1/classifier.proto")
    return path


def logits(setup, contract, server, pictures):
    command = [setup.python, setups.ROOT / "bench/peers/ask.py", contract, server.address, NAME, *pictures]
    lines = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [[float(value) for value in line.split()] for line in lines]


def root_mean_square(rows, others):
    squares = [(a - b) ** 2 for row, other in zip(rows, others, strict=True) for a, b in zip(row, other, strict=True)]
    return (sum(squares) / len(squares)) ** 0.5


def check_agreement(ours, theirs, tolerance):
    """Returns the difference between the servers' answers, relative to the spread of the logits over the images. Raises if the
    difference exceeds the tolerance."""
    means = [sum(column) / len(ours) for column in zip(*ours)]
    apart = root_mean_square(ours, theirs) / root_mean_square(ours, [means] * len(ours))
    if not apart <= tolerance:
        raise RuntimeError(f"logits of the servers differ by {apart:.2f} of their spread over the pictures; the "
                           f"tolerance is {tolerance}")
    return apart


def search(setup, server, pictures, start, seed):
    """Runs a search of `vitrine bench` that begins at rate `start`, and returns its report. A rate meets the goal of the search only if
    every request is answered before its deadline and the latency is within the bound."""
    command = ["taskset", "-c", setup.core_list(), setup.program("vitrine"), "bench", pictures, "--server",
               server.address, "--model", NAME, "--find-max", "--latency", BOUND, "--good", 1, "--deadline", "2s",
               "--rate", start, "--tolerance", CLOSENESS, "--warmup", f"{setup.seconds(WARM_UP)}s", "--duration",
               f"{setup.seconds(SECONDS)}s", "--seed", seed, "--format", "json"]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    if not done.stdout:
        raise RuntimeError("nothing was measured: " + " ".join(map(str, command)))
    return json.loads(done.stdout)


def find_rate(setup, server, pictures, start, seed):
    """Returns the highest rate within the bound. If no rate of a search meets the bound, searches again from half the rate."""
    for _ in range(TRIES):
        found = search(setup, server, pictures, start, seed)
        if found["best_per_second"]:
            met = [point for point in found["points"] if point["goal_met"]]
            return {"rate": found["best_per_second"], "point": max(met, key=lambda point: point["offered_per_second"])}
        start /= 2
    raise RuntimeError(f"not even {2 * start:.0f} requests/s meet {BOUND}: {found['verdict']}")


class Search:
    """Finds the rate of one server repeatedly, each time with different arrivals."""

    def __init__(self, setup, server, pictures, start):
        self.setup, self.server, self.pictures, self.start = setup, server, pictures, start
        self.seeds = itertools.count(1)

    def __call__(self):
        found = find_rate(self.setup, self.server, self.pictures, self.start, next(self.seeds))
        self.start = LATER_START * found["rate"]
        return found


def closed_loop(setup, server, pictures):
    """Returns the requests per second of a closed loop."""
    point = service.bench(setup, server, setup.core_list(), pictures, "--model", NAME, "--concurrency", CALLERS, "--warmup",
                          f"{setup.seconds(WARM_UP)}s", "--duration", f"{setup.seconds(SECONDS) / 2}s")
    return point["answered_per_second"]


def alone(setup, repository, pictures, precision):
    """Returns two dicts with the keys "decode" and "model": teams of one worker on one core, and teams with a worker on each core."""
    ours = [setup.program("bench_worker")]
    rest = ["--repository", repository, "--model", NAME]
    commands = {"decode": [*ours, "decode", *rest, "--pictures", pictures],
                "model": [*ours, "forward", *rest, "--precision", precision, "--sizes",
                          *[f"{SIDE}x{SIDE}"] * BATCH]}
    found = {kind: [workers.Worker(command, core).wait_until_ready() for core in setup.both()]
             for kind, command in commands.items()}
    return tuple({kind: workers.Team(team[:count]) for kind, team in found.items()} for count in (1, None))


def timed(setup, teams):
    """Returns {kind: function that returns images/s of the team}."""
    runs = {}
    for kind, team in teams.items():
        repetitions = workers.repetitions_for(team, setup.seconds(1))
        runs[kind] = lambda team=team, n=repetitions: n * team.images / team.run(n)
    return runs


def limit(decode, model):
    """Returns the images/s of a core that decodes and runs the model, from the images/s of a core that only decodes and of a
    core that only runs the model."""
    return 1 / (1 / decode + 1 / model)


def rows_of(setup, precision, results, peer, apart):
    rates = {side: [one["rate"] for one in results[side]] for side in ("ours", "peer")}
    cores = setup.cores()
    limits = [cores * limit(*pair) for pair in zip(results["decode"], results["model"])]
    together = [limit(*pair) for pair in zip(results["decode on all"], results["model on all"])]
    decode, model = (workers.spread(results[kind])[0] for kind in ("decode", "model"))

    best = workers.spread(limits)[0]
    saturated = workers.spread(results["ours closed"])[0]
    ideal = ideal_queue.share(cores, cores / best, BOUND_SECONDS)
    ideal_with_us = ideal_queue.share(cores, cores / saturated, BOUND_SECONDS) * saturated / best

    def beside(side):
        points = [one["point"] for one in results[side]]
        p99 = workers.spread([point["latency_ms"]["p99"] for point in points])[0]
        batch = workers.spread([point["server"]["batch_images"]["mean"] for point in points])[0]
        return f"p99 {p99:.1f} ms there; batches of {batch:.1f}"

    case = what(precision)
    return [
        Row(f"{case}, ours: rate with {BOUND}", "requests/s", workers.spread(rates["ours"]), note=beside("ours")),
        Row(f"{case}, peer: rate with {BOUND}", "requests/s", workers.spread(rates["peer"]),
            note=f"{beside('peer')}; {peer.description}"),
        Row(f"{case}, ours against peer", "times the rate",
            workers.spread([a / b for a, b in zip(rates["ours"], rates["peer"])]), GOALS[precision],
            note=f"logits differ by {apart:.2f} of their spread over the pictures; no Triton: PyPI and Debian have none"),
        Row(f"{case}, {CALLERS} callers who wait: ours against peer", "times the rate",
            workers.spread([a / b for a, b in zip(results["ours closed"], results["peer closed"])]),
            note="{:,.0f} against {:,.0f} requests/s, whatever the latency".format(
                *(workers.spread(results[f"{side} closed"])[0] for side in ("ours", "peer")))),
        Row(f"{case}, ours, {cores} cores", "of the limit",
            workers.spread([a / b for a, b in zip(rates["ours"], limits)]), SHARE_GOAL,
            note=f"limit {best:,.0f}/s: {cores} times one core; decode {1e3 / decode:.2f} ms, "
                 f"model {1e3 / model:.2f} ms an image"),
        Row(f"{case}, ours, {cores} cores at once", "of their limit",
            workers.spread([a / b for a, b in zip(rates["ours"], together)]),
            note=f"limit {workers.spread(together)[0]:,.0f}/s: decode and model each on all cores at the same time"),
        Row(f"{case}, an ideal server, {cores} cores", "of the limit", (ideal,) * 3,
            note="simulated: Poisson arrivals, equal requests, nothing but decode and model"),
        Row(f"{case}, an ideal server that spends what ours and the generator do, {cores} cores", "of the limit",
            (ideal_with_us,) * 3, note=f"simulated: as above, a request for every {1e3 * cores / saturated:.2f} ms of a core, "
                                       f"as with {CALLERS} callers who wait"),
    ]


def measure_precision(setup, repository, weights, contract, precision):
    print(f"  {precision}", file=sys.stderr)
    folder = setup.photographs()[0]
    some = jpegs(folder)[:BATCH]
    one, all_ = alone(setup, repository, folder, precision)
    sides = timed(setup, one) | {f"{kind} on all": run for kind, run in timed(setup, all_).items()}
    start = START * setup.cores() * limit(sides["decode"](), sides["model"]())
    ours = service.Server(setup, repository, setup.both(), ["--precision", precision])
    with ours, Peer(setup, contract, weights, folder, precision) as peer:
        answers = [logits(setup, contract, server, some) for server in (ours, peer)]
        apart = check_agreement(*answers, TOLERANCES[precision])
        for side, server in (("ours", ours), ("peer", peer)):
            sides[side] = Search(setup, server, folder, start)
            sides[f"{side} closed"] = lambda server=server: closed_loop(setup, server, folder)
        results = workers.interleave(sides, setup.rounds(ROUNDS))
    for team in all_.values():
        for worker in team.workers:
            worker.close()
    return rows_of(setup, precision, results, peer, apart)


def jpegs(folder):
    return [path for path in sorted(folder.iterdir()) if path.suffix.lower() in (".jpg", ".jpeg")]


def measure(setup):
    repository = setup.scratch / "servers"
    weights = publish(setup, repository, jpegs(setup.photographs()[0]))
    contract = describe_contract(setup)
    rows = []
    for precision in (one for one in GOALS if setup.cases in what(one)):
        rows += (measure_precision(setup, repository, weights, contract, precision) if precisions.multiplied(precision)
                 else [precisions.left_out(f"{NAME}, {SIDE}x{SIDE}", precision)])
    return rows
