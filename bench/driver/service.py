# SPDX-License-Identifier: Apache-2.0
"""Runs the real server, and `vitrine bench` as its load generator."""
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.request

READY_SECONDS = 30


class Server:
    """Context manager: vitrine-server on some cores. Entering the context waits until the server is ready.

    `flags`: additional flags, but not --listen or --metrics; `listen`: a fixed address; `program`: another binary of the server;
    `environment`: replaces this process's environment.
    """

    def __init__(self, setup, repository, cores, flags=(), listen="127.0.0.1:0", program=None, environment=None):
        self.setup, self.cores = setup, ",".join(map(str, cores))
        self.repository = repository
        self.flags, self.listen, self.environment = flags, listen, environment
        self.program = program or setup.program("vitrine-server")
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=setup.scratch))

    def __enter__(self):
        ports = self.folder / "ports"
        self.log_file = open(self.folder / "server.log", "w")
        started = time.monotonic()
        self.process = subprocess.Popen(
            ["taskset", "-c", self.cores, self.program, "--repository", str(self.repository), "--listen", self.listen,
             "--metrics", "127.0.0.1:0", "--port-file", str(ports), *map(str, self.flags)],
            stdout=subprocess.DEVNULL, stderr=self.log_file, env=self.environment)
        try:
            self._await_ready(ports, started)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _await_ready(self, ports, started):
        """Waits until the server has tried to load every version and serves. Reads the log, because requests to the server
        would take processor time from its start."""
        while not (ports.exists() and self._has_logged_ready()):
            if self.process.poll() is not None or time.monotonic() > started + READY_SECONDS:
                raise RuntimeError("the server did not get ready:\n" + self.log())
            time.sleep(0.002)
        self.start_seconds = time.monotonic() - started
        addresses = dict(line.split("=", 1) for line in ports.read_text().split())
        self.address, self.metrics, self.http = (addresses.get(name) for name in ("grpc", "metrics", "http"))
        with urllib.request.urlopen(f"http://{self.metrics}/readyz", timeout=5):  # raises an exception unless the status is 200
            pass

    def _has_logged_ready(self):
        return any(line.split()[1:3] == ["info", "ready"] for line in self.log().splitlines())

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
        """Returns resident memory in units of 10^6 bytes. `of`: "VmRSS" for the current memory, "VmHWM" for the maximum so
        far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{of}:")[1].split()[0]) * 1024 / 1e6

    def peak_megabytes(self):
        return self.megabytes("VmHWM")


def bench(setup, server, core, *arguments, complete=True):
    """Runs `vitrine bench` with one load on a core, and returns the result. `complete`: raises if a request was not answered."""
    command = ["taskset", "-c", str(core), setup.program("vitrine"), "bench", "--server", server.address, "--format",
               "json", "--server-pid", str(server.process.pid), *map(str, arguments)]
    point = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["points"][0]
    if complete and point["answered"] != point["due"]:
        raise RuntimeError(f"{point['due'] - point['answered']} of {point['due']} requests were not answered: "
                           f"{point['errors'] or 'not sent'}")
    return point


def load(server, model, pictures, seconds, core, *more):
    """Runs `vitrine bench` with a model and returns the result. The load is a closed loop of 64 requests, unless `more` sets a
    rate."""
    loop = () if "--rate" in more else ("--concurrency", 64)
    point = bench(server.setup, server, core, pictures, "--model", model, "--warmup", f"{seconds / 5}s", "--duration",
                  f"{seconds}s", *loop, *more)
    if point["server"]["without_predictions"]:
        raise RuntimeError(f"{point['server']['without_predictions']} answers hold no prediction")
    return point
