# SPDX-License-Identifier: Apache-2.0
"""A caller whose images take long: sends one request after another, each PAUSE seconds after the previous answer.

    slow_caller.py ADDRESS FILE PAUSE      FILE contains the serialized request

When its standard input is closed, it prints the server's time for each request in ms. It is a separate process that computes
almost nothing, because its own processor time would increase the latency that is measured for the server.
"""
import select
import sys

import grpc
from vitrine import _descriptors


def main(address, file, pause):
    with open(file, "rb") as opened:
        request = opened.read()
    response = _descriptors.message("vitrine.v1.ClassifyResponse")
    milliseconds = []
    # Eight overlays are 8 MB. For this user agent, the server does not assume the limit of 4 MiB of other gRPC clients.
    options = [("grpc.max_receive_message_length", -1), ("grpc.primary_user_agent", "vitrine-bench")]
    with grpc.insecure_channel(address, options) as channel:
        classify = channel.unary_unary("/vitrine.v1.Classifier/Classify", bytes, response.FromString)
        grpc.channel_ready_future(channel).result(timeout=10)
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], float(pause))[0]:
            milliseconds.append(1000 * classify(request, timeout=10).timings.total)
    print(*milliseconds)


main(*sys.argv[1:])
