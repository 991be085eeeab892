# SPDX-License-Identifier: Apache-2.0
"""Measures the HTTP port: readiness while other connections are idle or slow, and the rate compared with gRPC's."""
import http.client
import itertools
import pathlib
import socket
import subprocess
import sys
import threading
import time

from driver import workers
from driver.report import Row
from driver.service import Server, load

MODEL = "eit-mini-cifar10"
IDLE = 200
READY_GOAL = 10  # ms
SHARE_GOAL = 0.85  # share of the rate over gRPC
CALLERS = 64  # in a closed loop, as many as `load` uses over gRPC


class Crowd:
    """Connections that stay open after one request, and a connection that sends its request's head byte by byte."""

    def __init__(self, address):
        self.address = address
        self.connections = []
        self.stopped = threading.Event()
        self.loris = threading.Thread(target=self.drip)

    def __enter__(self):
        for _ in range(IDLE):
            connection = http.client.HTTPConnection(self.address, timeout=10)
            connection.request("GET", "/v2/health/live")
            connection.getresponse().read()
            self.connections.append(connection)
        self.loris.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.loris.join()
        for connection in self.connections:
            connection.close()

    def drip(self):
        host, port = self.address.rsplit(":", 1)
        while not self.stopped.is_set():
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                try:
                    for byte in itertools.chain(b"GET / HTTP/1.1\r\nX: ", itertools.repeat(ord("x"))):
                        connection.send(bytes([byte]))
                        if self.stopped.wait(0.05):
                            return
                except OSError:
                    pass  # rejected: retried later


def readiness(address, seconds):
    """Returns the duration of each readiness probe in ms. Each probe uses a new connection."""
    took = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        connection = http.client.HTTPConnection(address, timeout=10)
        connection.request("GET", "/v2/health/ready")
        if connection.getresponse().status != 200:
            raise RuntimeError("the server is not ready")
        connection.close()
        took.append((time.monotonic() - begun) * 1e3)
        time.sleep(0.005)
    return sorted(took)


def callers(address, model, pictures, seconds):
    """Returns the answers per second of CALLERS connections in a closed loop."""
    bodies = [path.read_bytes() for path in sorted(pictures.iterdir()) if path.suffix.lower() in (".jpg", ".jpeg")]
    begin = time.monotonic() + seconds / 5
    end = begin + seconds
    counts, faults = [0] * CALLERS, []

    def call(number):
        connection = http.client.HTTPConnection(address, timeout=60)
        for body in itertools.islice(itertools.cycle(bodies), number, None):
            if time.monotonic() > end:
                return
            connection.request("POST", f"/v1/models/{model}:classify", body)
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                return faults.append(answer)
            counts[number] += begin <= time.monotonic() <= end

    threads = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise RuntimeError(f"refused: {faults[0].decode()}")
    return sum(counts) / seconds


def over_http(setup, server, pictures, seconds):
    """Returns the result of `callers`, measured by a process on the core that the server does not use."""
    command = ["taskset", "-c", str(setup.other_core), sys.executable, "-m", "proofs.http_front", server.http, MODEL,
               pictures, seconds]
    return float(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(setup):
    pictures, called = setup.photographs()
    seconds = setup.seconds(10)
    with Server(setup, setup.repository, [setup.core], ["--http", "127.0.0.1:0"]) as server:
        with Crowd(server.http):
            probes = [readiness(server.http, seconds) for _ in range(setup.rounds(3))]
        sides = workers.interleave(
            {"http": lambda: over_http(setup, server, pictures, seconds),
             "grpc": lambda: load(server, MODEL, pictures, seconds, setup.other_core)["answered_per_second"]},
            setup.rounds(5))
    shares = [http_rate / grpc_rate for http_rate, grpc_rate in zip(sides["http"], sides["grpc"])]
    http_rate, grpc_rate = (workers.spread(sides[side])[0] for side in ("http", "grpc"))
    return [
        Row(f"p99 of readiness, {IDLE} idle connections and one that drips", "ms",
            workers.spread([took[len(took) * 99 // 100] for took in probes]), READY_GOAL, at_least=False,
            note=f"half within {workers.spread([took[len(took) // 2] for took in probes])[0]:.1f} ms"),
        Row(f"{MODEL}, JPEG over HTTP as a share of over gRPC, one core", "of its rate", workers.spread(shares), SHARE_GOAL,
            note=f"{http_rate:,.0f} and {grpc_rate:,.0f} requests/s, {CALLERS} at a time; {called}"),
    ]


if __name__ == "__main__":
    print(callers(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), float(sys.argv[4])))
