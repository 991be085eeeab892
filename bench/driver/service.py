# SPDX-License-Identifier: Apache-2.0
"""Measures the real server under load: images over gRPC."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from driver import workers
from driver.report import Row

SHARE_GOAL = 0.85


class Server:
    """Context manager: vitrine-server on some cores. It is ready when the context is entered.

    `flags`: flags in addition to those for addresses; `listen`: a fixed address; `program`: another binary of the server;
    `environment`: replaces this process's environment.
    """

    def __init__(self, setup, repository, cores, services=(), flags=(), listen="127.0.0.1:0", program=None,
                 environment=None):
        self.setup, self.cores = setup, ",".join(map(str, cores))
        self.repository, self.services = repository, services
        self.flags, self.listen, self.environment = flags, listen, environment
        self.program = program or setup.program("vitrine-server")
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=setup.scratch))

    def __enter__(self):
        ports = self.folder / "ports"
        waiter = subprocess.Popen([self.setup.program("bench_await_serving"), ports, *self.services],
                                  stdout=subprocess.PIPE, text=True)
        time.sleep(0.2)  # the waiter must be ready before the server starts
        self.log_file = open(self.folder / "server.log", "w")
        started = time.monotonic()
        self.process = subprocess.Popen(
            ["taskset", "-c", self.cores, self.program, "--repository", str(self.repository), "--listen", self.listen,
             "--metrics", "127.0.0.1:0", "--port-file", str(ports), *map(str, self.flags)],
            stdout=subprocess.DEVNULL, stderr=self.log_file, env=self.environment)
        ready, _ = waiter.communicate()
        if waiter.returncode != 0:
            self.__exit__()
            raise RuntimeError("the server did not get ready:\n" + self.log())
        self.start_seconds = float(ready) - started
        addresses = dict(line.split("=", 1) for line in ports.read_text().split())
        self.address, self.metrics, self.http = (addresses.get(name) for name in ("grpc", "metrics", "http"))
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Sends SIGTERM if the server still runs, waits for its end, and returns the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(60)
        self.log_file.close()
        return code

    def log(self):
        return pathlib.Path(self.log_file.name).read_text()

    def megabytes(self, of):
        """Returns resident memory in units of 10^6 bytes. VmRSS: now; VmHWM: the maximum so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{of}:")[1].split()[0]) * 1024 / 1e6

    def peak_megabytes(self):
        return self.megabytes("VmHWM")


def bench(setup, server, core, *arguments, complete=True):
    """Runs `vitrine bench` on a core and returns its only point. `complete`: raises if a request was not answered."""
    command = ["taskset", "-c", str(core), setup.program("vitrine"), "bench", "--server", server.address, "--format",
               "json", "--server-pid", str(server.process.pid), *map(str, arguments)]
    point = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["points"][0]
    if complete and point["answered"] != point["due"]:
        raise RuntimeError(f"{point['due'] - point['answered']} of {point['due']} requests were not answered: "
                           f"{point['errors'] or 'not sent'}")
    return point


def load(server, model, pictures, seconds, core, *more):
    """Returns the results of `vitrine bench` with a model: a closed loop of 64 requests, unless `more` sets another load."""
    loop = () if "--rate" in more else ("--concurrency", 64)
    point = bench(server.setup, server, core, pictures, "--model", model, "--warmup", f"{seconds / 5}s", "--duration",
                  f"{seconds}s", *loop, *more)
    if point["server"]["without_predictions"]:
        raise RuntimeError(f"{point['server']['without_predictions']} answers hold no prediction")
    return point


def measure_model(setup, model):
    """Measures the rate from JPEG over gRPC to the answer, as a share of the rate of decoding and the model alone on the core."""
    print(f"  {model}: service", file=sys.stderr)
    pictures, _ = setup.photographs()
    base = [setup.program("bench_worker")]
    rest = ["--repository", setup.repository, "--model", model, "--pictures", pictures]
    teams = {kind: workers.Team([workers.Worker([*base, kind, *rest], setup.core).wait_until_ready()])
             for kind in ("decode", "model")}
    with Server(setup, setup.repository, [setup.core], [f"model/{model}"]) as server:
        sides = {"service": lambda: load(server, model, pictures, setup.seconds(4), setup.other_core)}
        for kind, team in teams.items():
            repetitions = workers.repetitions_for(team, setup.seconds(1))
            sides[kind] = lambda team=team, n=repetitions: team.run(n) / (n * team.images)
        results = workers.interleave(sides, setup.rounds(5))
        rate = workers.spread([report["answered_per_second"] for report in results["service"]])
        open_rate = max(1, 0.7 * rate[0])
        latency = load(server, model, pictures, setup.seconds(5), setup.other_core, "--rate", open_rate)["latency_ms"]
    for team in teams.values():
        team.workers[0].close()
    limits = [1 / (decode + compute) for decode, compute in zip(results["decode"], results["model"])]
    shares = [report["answered_per_second"] / limit for report, limit in zip(results["service"], limits)]
    decode, compute = (workers.spread(results[kind])[0] * 1e3 for kind in ("decode", "model"))
    batch = results["service"][0]["server"]["batch_images"]["mean"]
    return [
        Row(f"{model}, JPEG over gRPC, one core", "of the limit", workers.spread(shares), SHARE_GOAL,
            note=f"{rate[0]:,.0f} requests/s; decode {decode:.2f} ms, model {compute:.2f} ms an image; batches of {batch:.0f}"),
        Row(f"{model}, p99 latency at 70 % of that, open loop", "ms", (latency["p99"],) * 3,
            note=f"p50 {latency['p50']:.1f} ms at {open_rate:,.0f} requests/s"),
    ]


def measure(setup):
    rows = []
    for model in setup.models():
        rows += measure_model(setup, model)
    return rows
