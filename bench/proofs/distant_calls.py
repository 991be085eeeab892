# SPDX-License-Identifier: Apache-2.0
"""Compares calls with 110 KB over our transport and over gRPC 1.51 if each round trip takes 50 ms.

A relay between h2load and the servers delays the bytes. Its bandwidth has no limit, so only the flow-control windows bound the
rate. Each round has new connections, so it includes the growth of the windows. The rounds of the two servers alternate. In the
last row, all messages are on the stream of one call, so the window of this stream also bounds the rate.
"""
import shutil
import subprocess
import sys

from driver import workers
from driver.report import Row
from proofs.calls import CLASSIFY, EMPTY, LARGE_BYTES, Calls, InteropServer, NullServer

DELAY = 25  # ms in each direction
CALLS = 60  # one after another
STREAMS = 256  # calls at a time on one connection
MESSAGES = 250  # messages of a call of a streaming method
# A ClassifyRequest with an image of 110 KB (field 3). Messages of other types ignore this field.
IMAGE_MESSAGE = b"\x1a\xb0\xdb\x06" + bytes(LARGE_BYTES)
CLASSIFY_STREAM = "/vitrine.v1.Classifier/ClassifyStream"
INPUT_STREAM = "/grpc.testing.TestService/StreamingInputCall"
TIME_GOAL = 1.05  # maximum time of a call, divided by the time with gRPC
RATE_GOAL = 0.95  # minimum rate, divided by the rate with gRPC
SECONDS, ROUNDS = 6, 5


class Relay:
    """Context manager: proofs.delay_relay in front of a server."""

    def __init__(self, setup, server):
        self.process = server.process
        self.command = ["taskset", "-c", str(setup.other_core), sys.executable, "-m", "proofs.delay_relay", server.address,
                        str(DELAY)]

    def __enter__(self):
        self.relay = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.address = self.relay.stdout.readline().split()[-1]
        return self

    def __exit__(self, *_):
        self.relay.terminate()
        self.relay.wait(60)


def measure(setup):
    if shutil.which("h2load") is None:
        return [Row("distant calls", note="LEFT OUT: h2load is missing; install nghttp2-client")]
    with NullServer(setup) as theirs, InteropServer(setup) as ours, \
            Relay(setup, theirs) as far_theirs, Relay(setup, ours) as far_ours:
        sides = {"theirs": Calls(setup, far_theirs, CLASSIFY, LARGE_BYTES, "theirs"),
                 "ours": Calls(setup, far_ours, EMPTY, LARGE_BYTES, "ours")}
        streams = {"theirs": Calls(setup, far_theirs, CLASSIFY_STREAM, IMAGE_MESSAGE, "their-stream", count=MESSAGES),
                   "ours": Calls(setup, far_ours, INPUT_STREAM, IMAGE_MESSAGE, "our-stream", count=MESSAGES)}
        rounds = []
        for _ in range(setup.rounds(ROUNDS)):
            alone = {name: calls.alone(CALLS) / 1e3 for name, calls in sides.items()}
            rates = {name: calls.load(setup.seconds(SECONDS), 1, STREAMS)[0] for name, calls in sides.items()}
            streamed = {name: 1e6 * MESSAGES / calls.alone(1) for name, calls in streams.items()}
            rounds.append((alone, rates, streamed))
    times, rate, stream_rate = [{name: workers.spread([each[i][name] for each in rounds])[0] for name in sides} for i in range(3)]
    time_ratios, rate_ratios, stream_ratios = [[each[i]["ours"] / each[i]["theirs"] for each in rounds] for i in range(3)]
    return [
        Row(f"time of a call with 110 KB at {2 * DELAY} ms of round trip, ours over gRPC 1.51's", "times",
            workers.spread(time_ratios), TIME_GOAL, at_least=False,
            note=f"medians of {times['ours']:.1f} and {times['theirs']:.1f} ms; one connection, one call after another"),
        Row(f"calls with 110 KB a second at {2 * DELAY} ms of round trip, ours over gRPC 1.51's", "times",
            workers.spread(rate_ratios), RATE_GOAL,
            note=f"medians of {rate['ours']:,.0f} and {rate['theirs']:,.0f} calls/s; {STREAMS} calls at a time on one connection, "
                 "from its opening"),
        Row(f"messages of 110 KB a second on one stream at {2 * DELAY} ms of round trip, ours over gRPC 1.51's", "times",
            workers.spread(stream_ratios), RATE_GOAL,
            note=f"medians of {stream_rate['ours']:,.0f} and {stream_rate['theirs']:,.0f} messages/s; one call with {MESSAGES} "
                 "messages on a new connection"),
    ]
