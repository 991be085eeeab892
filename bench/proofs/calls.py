# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of a call in our transport and in gRPC 1.51: a call without a message, and a call with a message of 110 KB.

h2load on one core calls a server on the other. Each transport has a server that answers at once with an empty message and does
not parse the request: bench_null_server for gRPC 1.51, and tests/interop/interop_server for our transport. Both servers have one
thread for connections and the same settings of malloc, and their rounds alternate. Before the rounds of the method Check and the
rounds with 110 KB, h2load makes calls for a second that are not measured.

Two rows compare the processor time of a call with 110 KB: with the same number of calls a second for both servers, and with as many
calls as h2load can make. In the latter row, h2load's core limits the rate, so the servers have different loads. A server that is not
busy all the time reads less at once and sleeps more often, which increases the processor time of a call.
"""
import os
import re
import shutil
import statistics
import subprocess
import time

from driver import workers
from driver.report import Row
from driver.service import Server
from proofs.metrics import processor_seconds

NULL_GOAL = 150_000  # calls a second
LARGE_GOAL = 1.1  # minimum processor time of a call with gRPC, divided by the processor time with our transport
LARGE_BYTES = 110_000
SECONDS, ROUNDS = 4, 5
CHECK_ROUNDS, LARGE_ROUNDS = 15, 11  # more than ROUNDS, because on shared machines the rates of rounds differ by a factor of up to 1.7
CONNECTIONS, STREAMS = 8, 64
LARGE_CONNECTIONS, LARGE_STREAMS = 8, 16
# Calls with 110 KB a second on each connection, in the rounds in which both servers get the same load. All connections together then
# make less than half of the calls that h2load can make on one core.
SAME_RATE = 1000
# The malloc settings of vitrine-server (server/main.cc), for both servers of the comparison.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(4 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20), "MALLOC_TOP_PAD_": str(4 << 20)}
CHECK = "/grpc.health.v1.Health/Check"
CLASSIFY = "/vitrine.v1.Classifier/Classify"
EMPTY = "/grpc.testing.TestService/EmptyCall"


class NullServer:
    """Context manager: bench_null_server on one core."""

    def __init__(self, setup):
        self.command = ["taskset", "-c", str(setup.core), setup.program("bench_null_server")]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **MALLOC))
        self.address = self.process.stdout.readline().split()[-1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


class InteropServer:
    """Context manager: tests/interop/interop_server on one core."""

    def __init__(self, setup):
        self.command = ["taskset", "-c", str(setup.core), str(setup.build / "tests" / "interop_server"), "127.0.0.1:0",
                        "1"]  # one event loop

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **MALLOC))
        self.address = self.process.stdout.readline().split()[-1]
        return self

    def __exit__(self, *_):
        self.process.communicate()


class TlsServer:
    """Context manager: vitrine-server on one core, with TLS and a new certificate."""

    def __init__(self, setup):
        self.ports = setup.scratch / "tls-ports"
        self.command = ["taskset", "-c", str(setup.core), setup.program("vitrine-server"), "--repository", str(setup.repository),
                        "--listen", "127.0.0.1:0", "--metrics", "", "--port-file", str(self.ports),
                        *certificate(setup.scratch)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while not self.ports.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                self.__exit__()
                raise RuntimeError("the server with TLS did not start")
            time.sleep(0.05)
        self.address = re.search("grpc=(.*)", self.ports.read_text()).group(1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


def certificate(folder):
    """Creates a self-signed certificate and returns the server's flags for it."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "30", "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, stderr=subprocess.DEVNULL)
    key.chmod(0o600)
    return ["--tls-cert", str(cert), "--tls-key", str(key)]


class Calls:
    """Calls one method. h2load makes the calls, on the core that the server does not use. Each call sends `count` times the
    message; if `message` is a number, the message has this number of zero bytes."""

    def __init__(self, setup, server, method, message, name, scheme="http", count=1):
        self.process = server.process
        body, self.log = setup.scratch / f"{name}.bin", setup.scratch / f"{name}.log"
        message = bytes(message)
        body.write_bytes((b"\0" + len(message).to_bytes(4, "big") + message) * count)  # frames of gRPC
        self.command = ["taskset", "-c", str(setup.other_core), "h2load", "-d", str(body), "-H", "te: trailers",
                        "-H", "content-type: application/grpc"]
        self.url = f"{scheme}://{server.address}{method}"

    def load(self, seconds, connections=CONNECTIONS, streams=STREAMS, rate=None):
        """Returns (calls a second, microseconds of the server's processor time for a call). `rate`: calls a second on each
        connection; by default as many as the server answers.
        """
        spent = sum(processor_seconds(self.process).values())
        text = self.run("-D", f"{seconds:g}", "-c", str(connections), "-m", str(streams), *(["--rps", str(rate)] if rate else []))
        spent = sum(processor_seconds(self.process).values()) - spent
        done = int(re.search(r"(\d+) succeeded, 0 failed, 0 errored", text).group(1))
        return done / seconds, 1e6 * spent / done

    def alone(self, count):
        """Returns the median time of a call in microseconds, if one connection makes one call at a time."""
        self.log.unlink(missing_ok=True)
        self.run("-n", str(count), "-c", "1", "-m", "1", f"--log-file={self.log}")
        return statistics.median(int(line.split()[2]) for line in self.log.read_text().splitlines())

    def run(self, *more):
        done = subprocess.run([*self.command, *more, self.url], check=True, stdout=subprocess.PIPE, text=True).stdout
        # A call that ends with an error of gRPC has no data, but h2load counts it as succeeded. A message has 5 bytes before its content.
        calls = re.search(r"(\d+) succeeded, 0 failed, 0 errored", done)
        data = re.search(r"\((\d+)\) data", done)
        if not calls or not data or int(calls[1]) == 0 or int(data[1]) < 5 * int(calls[1]):
            raise RuntimeError(f"h2load: a call failed:\n{done}")
        return done


def costs(rounds):
    """Returns text for the median cost of rounds [(calls a second, microseconds of the server's processor time for a call)]."""
    cost, busy = (workers.spread(values)[0] for values in ([each for _, each in rounds], [r * each / 1e6 for r, each in rounds]))
    return f"{cost:.1f} us of the server's processor time for a call, {busy:.2f} cores busy"


def check_calls(setup, server, what, scheme="http", goal=None):
    with server:
        calls = Calls(setup, server, CHECK, 0, "check", scheme)
        calls.load(1)
        rounds = [calls.load(setup.seconds(SECONDS)) for _ in range(setup.rounds(CHECK_ROUNDS))]
    return Row(f"calls of Check a second, {what}", "calls/s", workers.spread([rate for rate, _ in rounds]), goal,
               note=f"{len(rounds)} rounds, {CONNECTIONS} connections of {STREAMS} calls, {costs(rounds)}, every limit at its default")


def beside_grpc(setup):
    """Yields rows that compare our transport with gRPC's. The rounds of the two servers alternate."""
    with NullServer(setup) as theirs, InteropServer(setup) as ours:
        sides = {"theirs": (theirs, CLASSIFY), "ours": (ours, EMPTY)}
        large = {name: Calls(setup, *side, LARGE_BYTES, name) for name, side in sides.items()}
        small = {name: Calls(setup, *side, 0, f"{name}-empty") for name, side in sides.items()}
        for calls in large.values():
            calls.load(1, LARGE_CONNECTIONS, LARGE_STREAMS)
        rounds, same = (workers.interleave(
            {name: lambda calls=calls, rate=rate: calls.load(setup.seconds(SECONDS), LARGE_CONNECTIONS, LARGE_STREAMS, rate)
             for name, calls in large.items()}, setup.rounds(LARGE_ROUNDS)) for rate in (None, SAME_RATE))
        alone = workers.interleave({name: lambda calls=calls: calls.alone(round(setup.seconds(4000)))
                                    for name, calls in small.items()}, setup.rounds(ROUNDS))
    slowest = min(made for each in same.values() for made, _ in each)
    same_rate = f"{LARGE_CONNECTIONS * SAME_RATE:,} calls/s (at least {slowest:,.0f} made)"
    for load, both in (same_rate, same), ("as many calls as h2load makes", rounds):
        yield Row(f"processor time of a call with 110 KB, gRPC 1.51's over ours, {load}", "times",
                  workers.spread([theirs[1] / ours[1] for theirs, ours in zip(both["theirs"], both["ours"])]), LARGE_GOAL,
                  note=f"gRPC: {costs(both['theirs'])}; ours: {costs(both['ours'])}")
    pairs = list(zip(rounds["theirs"], rounds["ours"]))
    rates = {name: workers.spread([rate for rate, _ in each])[0] for name, each in rounds.items()}
    yield Row("calls a second with 110 KB, ours over gRPC 1.51's", "times",
              workers.spread([ours[0] / theirs[0] for theirs, ours in pairs]),
              note=f"{rates['ours']:,.0f} and {rates['theirs']:,.0f} calls/s; h2load's core is the limit if the server is busy "
                   "for less than one core")
    middle = {name: workers.spread(times)[0] for name, times in alone.items()}
    yield Row("time of a single call without a message, ours over gRPC 1.51's", "times",
              workers.spread([ours / theirs for theirs, ours in zip(alone["theirs"], alone["ours"])]), 1.0, at_least=False,
              note=f"medians of {middle['ours']:.0f} and {middle['theirs']:.0f} us")


def measure(setup):
    if shutil.which("h2load") is None:
        return [Row("calls", note="LEFT OUT: h2load is missing; install nghttp2-client")]
    return [check_calls(setup, Server(setup, setup.repository, [setup.core]), "server on one core", goal=NULL_GOAL),
            check_calls(setup, TlsServer(setup), "over TLS", "https"),
            check_calls(setup, Server(setup, setup.repository, setup.both(), ["--queues", "2"]),
                        "two event loops on both cores, one of them h2load's"), *beside_grpc(setup)]
