# SPDX-License-Identifier: Apache-2.0
"""An open loop over HTTP/1.1 with Poisson arrivals, for servers whose API `vitrine bench` does not support, and a search for the
highest rate within a latency bound.

    python -m driver.http_load HOST PORT FOLDER RATE WARM_UP SECONDS SEED

Each file in FOLDER is a request with head and body; the requests are sent in turn. Prints a JSON object. Latency counts from the
time at which a request was due. The latency is infinite if a request fails or has no answer after PATIENCE seconds.
"""
import asyncio
import collections
import http.client
import json
import math
import pathlib
import random
import subprocess
import sys
import time

PATIENCE = 5
OLD = 2  # seconds without use after which a connection is replaced: servers close idle connections after 5 s or later
SLIP = 5  # ms that the generator itself may be late at p99
GROWTH, CLOSENESS, TRIES = 1.4, 0.05, 16


def message(host, port, method, path, body=b"", **fields):
    """Returns a request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{port}", f"Content-Length: {len(body)}",
             *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ask(host, port, method, path, body=None, **fields):
    """Sends one request and returns (status, body)."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in fields.items()})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


async def read_answer(reader):
    """Returns (status, True if the connection may be used again)."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    fields = dict(line.split(b":", 1) for line in head.split(b"\r\n")[1:-2])
    if b"content-length" in fields:
        await reader.readexactly(int(fields[b"content-length"]))
    else:  # chunked transfer encoding
        while length := int(await reader.readline(), 16):
            await reader.readexactly(length + 2)
        await reader.readline()
    return int(head.split()[1]), b"close" not in fields.get(b"connection", b"")


class Loop:
    def __init__(self, address, requests, begin, end):
        self.address, self.requests, self.begin, self.end = address, requests, begin, end
        self.idle, self.took, self.slips, self.failures = [], [], [], collections.Counter()

    async def exchange(self, request):
        while self.idle and time.monotonic() - self.idle[0][0] > OLD:
            self.idle.pop(0)[2].close()
        reader, writer = self.idle.pop()[1:] if self.idle else await asyncio.open_connection(*self.address)
        writer.write(request)
        status, again = await read_answer(reader)
        if again:
            self.idle.append((time.monotonic(), reader, writer))
        else:
            writer.close()
        return status

    async def send(self, number, due):
        slip, failure = time.monotonic() - due, None
        try:
            status = await asyncio.wait_for(self.exchange(self.requests[number % len(self.requests)]), PATIENCE)
            failure = None if status == 200 else f"status {status}"
        except (OSError, EOFError, TimeoutError, asyncio.TimeoutError) as error:
            failure = type(error).__name__
        if self.begin <= due < self.end:
            self.slips.append(slip)
            self.took.append(math.inf if failure else time.monotonic() - due)
            self.failures.update([failure] if failure else [])

    async def run(self, due, rate, seed):
        arrivals, sent = random.Random(seed), []
        while due < self.end:
            await asyncio.sleep(max(0, due - time.monotonic()))
            sent.append(asyncio.create_task(self.send(len(sent), due)))
            due += arrivals.expovariate(rate)
        await asyncio.gather(*sent)
        for *_, writer in self.idle:
            writer.close()


def percentile(values, share):
    """Returns the percentile in ms; None if it is infinite."""
    value = sorted(values)[math.ceil(share * len(values)) - 1] if values else math.inf
    return round(1e3 * value, 3) if math.isfinite(value) else None


def measure(host, port, folder, rate, warm_up, seconds, seed):
    requests = [path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())]
    start = time.monotonic() + 0.1
    loop = Loop((host, port), requests, start + warm_up, start + warm_up + seconds)
    asyncio.run(loop.run(start, rate, seed))
    return {"rate": rate, "due": len(loop.took), "failures": dict(loop.failures), "p50": percentile(loop.took, 0.5),
            "p99": percentile(loop.took, 0.99), "slip_p99": percentile(loop.slips, 0.99)}


class Generator:
    """An open loop in a separate process on the given cores. Each call uses different arrival times."""

    def __init__(self, host, port, requests, folder, cores, warm_up, seconds):
        folder.mkdir()
        for number, request in enumerate(requests):
            (folder / f"{number:04}").write_bytes(request)
        self.command = ["taskset", "-c", cores, sys.executable, "-m", "driver.http_load", host, port, folder]
        self.warm_up, self.seconds, self.seed = warm_up, seconds, 0

    def __call__(self, rate):
        self.seed += 1
        command = [*self.command, rate, self.warm_up, self.seconds, self.seed]
        return json.loads(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout)


def search(generator, bound, start):
    """Returns (result of the highest rate within the bound, result of the last rate that missed the bound); each may be None. A
    rate misses the bound if, in each of two measurements, its p99 is above the bound or the generator is late."""
    best = missed = None
    rate = start
    for _ in range(TRIES):
        for point in (generator(rate) for _ in range(2)):
            if met := point["p99"] is not None and point["p99"] <= bound and point["slip_p99"] <= SLIP:
                break
        best, missed = (point, missed) if met else (best, point)
        if best and missed and missed["rate"] <= best["rate"] * (1 + CLOSENESS):
            break
        rate = rate / 2 if not best else rate * GROWTH if not missed else (best["rate"] + missed["rate"]) / 2
    return best, missed


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), sys.argv[3], *map(float, sys.argv[4:7]), int(sys.argv[7]))))
