# SPDX-License-Identifier: Apache-2.0
"""Compares Vitrine with other servers: BentoML, LitServe, MLServer, Ray Serve and TorchServe (bench/peers/NAME/).

All serve ViT-Ti in fp32 on the same two cores, one server at a time; the load generator shares the cores. `script/bench peers`
runs this comparison.
"""
import base64
import concurrent.futures as futures
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from driver import http_load, published, servers, workers
from driver.report import Row
from driver.setup import ROOT

NAME, ARCHITECTURE = "vit-ti16", published.PEERS["vit-ti16"]
BOUND = 50  # ms at p99
ROUNDS, SECONDS, WARM_UP = 3, 10, 2
SAMPLES, CALLERS = 50, 8  # number of photographs whose best class must equal Vitrine's; number of requests in flight
START_SECONDS = 180
MARK = "VITRINE_BENCH_PEER"  # environment variable by which the processes of a server are found
IMAGE = {"Content_Type": "image/jpeg"}
JSON = {"Content_Type": "application/json"}


def base64_of(jpeg):
    return base64.b64encode(jpeg).decode()


def form(jpeg, boundary="vitrine"):
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="images"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
    return head.encode() + jpeg + f"\r\n--{boundary}--\r\n".encode()


def open_inference(jpeg):
    return json.dumps({"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES", "parameters": {
        "content_type": "base64"}, "data": [base64_of(jpeg)]}]}).encode()


@dataclasses.dataclass
class Side:
    """A server: its title, the HTTP path for classification, a function that makes a request's body from a photograph, and a
    function that finds the best class in an answer."""
    title: str
    path: str
    body: object = lambda jpeg: jpeg
    fields: dict = dataclasses.field(default_factory=lambda: IMAGE)
    best: object = lambda answer: answer["predictions"][0]["index"]


OURS = "vitrine"
SIDES = {
    OURS: Side("Vitrine", f"/v1/models/{NAME}:classify"),
    "bentoml": Side("BentoML", "/classify", form, {"Content_Type": "multipart/form-data; boundary=vitrine"},
                    lambda answer: answer[0][0]["index"]),
    "litserve": Side("LitServe", "/predict", lambda jpeg: json.dumps({"image_data": base64_of(jpeg)}).encode(), JSON),
    "mlserver": Side("MLServer", f"/v2/models/{NAME}/infer", open_inference, JSON,
                     lambda answer: answer["outputs"][0]["data"][0]),
    "rayserve": Side("Ray Serve", "/"),
    "torchserve": Side("TorchServe", f"/predictions/{NAME}"),
}
PEERS = [name for name in SIDES if name != OURS]


def environment_of(name):
    """Returns the folder of the peer's Python packages. Creates it if it is missing."""
    made = subprocess.run([ROOT / "script/peer-environment", name], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(made.stdout.strip())


def processes(mark):
    """Returns {process id: its folder in /proc} for the processes of a server. The environment of these processes has `mark`."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}\0".encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = folder
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Running:
    """Context manager: a server. Entering the context waits until the server has answered a photograph."""

    def __init__(self, setup, name, repository, graph):
        self.side, self.cores, self.address = SIDES[name], setup.core_list(), ("127.0.0.1", free_port())
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.folder = setup.scratch / self.mark
        self.folder.mkdir()
        self.jpegs = [path.read_bytes() for path in servers.jpegs(setup.photographs()[0])]
        self.where, port = ROOT / "bench/peers" / name, self.address[1]
        self.environment = {**os.environ, MARK: self.mark, "TMPDIR": str(self.folder), "VITRINE_PEER_MODEL": str(graph),
                            "PYTHONPATH": f"{self.where.parent}:{self.where}"}
        if name == OURS:
            self.where = ROOT
            self.command = [setup.program("vitrine-server"), "--repository", repository, "--listen", f"127.0.0.1:{port}",
                            "--metrics", ""]
        else:
            self.command = [self.where / "run", port]
            self.environment["PATH"] = f"{environment_of(name) / 'bin'}:{os.environ['PATH']}"

    def __enter__(self):
        log, begin = self.folder / "log", time.monotonic()
        self.process = subprocess.Popen(["taskset", "-c", self.cores, *map(str, self.command)], cwd=self.where,
                                        env=self.environment, stdin=subprocess.DEVNULL, stdout=log.open("w"),
                                        stderr=subprocess.STDOUT)
        while time.monotonic() < begin + START_SECONDS and self.process.poll() is None:
            with contextlib.suppress(OSError):
                if self.ask(self.jpegs[0])[0] == 200:
                    self.start_seconds = time.monotonic() - begin
                    return self
            time.sleep(0.02)
        self.__exit__()
        raise RuntimeError(f"{self.side.title} does not answer:\n{log.read_text()[-2000:]}")

    def __exit__(self, *_):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        while left := processes(self.mark):
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.1)
            self.process.poll()

    def ask(self, jpeg):
        return http_load.ask(*self.address, "POST", self.side.path, self.side.body(jpeg), **self.side.fields)

    def requests(self):
        return [http_load.message(*self.address, "POST", self.side.path, self.side.body(jpeg), **self.side.fields)
                for jpeg in self.jpegs]

    def check(self, expected):
        """Returns the rate of a closed loop. Raises if the best class of an image differs from Vitrine's best class, which is in
        `expected`."""
        begin = time.monotonic()
        with futures.ThreadPoolExecutor(CALLERS) as pool:
            answers = list(pool.map(self.ask, self.jpegs[:SAMPLES]))
        rate = len(answers) / (time.monotonic() - begin)
        for number, (status, answer) in enumerate(answers):
            best = self.side.best(json.loads(answer)) if status == 200 else f"status {status}: {answer[:300]!r}"
            if status != 200 or expected.setdefault(number, best) != best:
                raise RuntimeError(f"{self.side.title}: photograph {number} is {best}, Vitrine says {expected.get(number)}")
        return rate

    def peak_megabytes(self):
        """Returns the sum of the peak memory of all processes. Shared pages count in each process."""
        return sum(int((folder / "status").read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6
                   for folder in processes(self.mark).values())


def measure_once(setup, name, repository, graph, expected):
    """Returns {"point", "start", "memory"} of one start of the server."""
    print(f"  {SIDES[name].title}", file=sys.stderr)
    with Running(setup, name, repository, graph) as running:
        rate = running.check(expected)
        generator = http_load.Generator(*running.address, running.requests(), running.folder / "requests", setup.core_list(),
                                        setup.seconds(WARM_UP), setup.seconds(SECONDS))
        best, missed = http_load.search(generator, BOUND, 0.5 * rate)
        if not best:
            raise RuntimeError(f"{running.side.title}: no rate is within {BOUND} ms, not even {missed}")
        return {"point": best, "start": running.start_seconds, "memory": running.peak_megabytes()}


def on_disk(setup, name):
    """Describes the size on disk of the peer's Python packages, or of vitrine-server. The size excludes Python itself and
    Debian's libraries."""
    if name == OURS:
        what, files = "vitrine-server", [pathlib.Path(setup.program("vitrine-server"))]
    else:
        what = (ROOT / "bench/peers" / name / "packages.txt").read_text().split()[0]
        files = (path for path in environment_of(name).rglob("*") if path.is_file() and not path.is_symlink())
    return f"{what}, {sum(path.stat().st_size for path in files) / 1e6:,.0f} MB on disk"


def rows_of(setup, name, results, ours):
    case = f"{NAME}, fp32, {setup.cores()} cores, {SIDES[name].title}"
    rates = [one["point"]["rate"] for one in results]
    p50 = workers.spread([one["point"]["p50"] for one in results])[0]
    rows = [Row(f"{case}: rate with p99={BOUND}ms", "requests/s", workers.spread(rates), note=f"p50 {p50:.1f} ms there")]
    if ours:
        rows.append(Row(f"{case}: Vitrine against it", "times the rate",
                        workers.spread([own["point"]["rate"] / rate for own, rate in zip(ours, rates)]),
                        note=f"best class of {SAMPLES} photographs is the same"))
    return rows + [
        Row(f"{case}: peak memory under load, all processes", "MB", workers.spread([one["memory"] for one in results]),
            note=on_disk(setup, name)),
        Row(f"{case}: start to the first answer", "s", workers.spread([one["start"] for one in results]))]


def measure(setup):
    """Measures the peers named in `setup.cases`, or all peers if `setup.cases` is empty."""
    names = setup.cases.split() or PEERS
    repository, graph, expected = setup.scratch / "models", setup.scratch / "model.xml", {}
    weights = published.import_from_timm(setup, repository, NAME, ARCHITECTURE, drawn=["--lively"])
    published.run(setup.python, ROOT / "bench/peers/export_vit.py", ARCHITECTURE, weights, graph)
    left_out = {}  # {name: reason}

    def side(name):
        if name not in left_out:
            try:
                return measure_once(setup, name, repository, graph, expected)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                if name == OURS:
                    raise
                left_out[name] = str(error)
                print(f"  {error}", file=sys.stderr)
        return None

    # In the first round, Vitrine is measured first, because the answers of the other servers are compared with Vitrine's.
    results = workers.interleave({name: lambda name=name: side(name) for name in (OURS, *names)}, setup.rounds(ROUNDS))
    rows = rows_of(setup, OURS, results[OURS], None)
    for name in names:
        if name in left_out:
            rows.append(Row(f"{NAME}, fp32, {SIDES[name].title}", note=f"LEFT OUT: {' '.join(left_out[name].split())[:300]}"))
        else:
            rows += rows_of(setup, name, results[name], results[OURS])
    return rows
