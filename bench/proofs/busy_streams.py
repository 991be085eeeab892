# SPDX-License-Identifier: Apache-2.0
"""Runs streams that are never idle, as a separate process: after each answer or rejection, the next request follows at once.

    python -m proofs.busy_streams ADDRESS MODEL PICTURE read|unread

Prints a line once every stream is busy, and its counts as JSON when the server has ended all streams.
"""
import itertools
import json
import pathlib
import sys
import threading
import time

import grpc
from vitrine.v1 import classifier_pb2 as pb

STREAMS = 4
IN_FLIGHT = 128
BUSY = 50  # a stream is busy after this many answers, or requests if it reads no answers


class Stream:
    """One ClassifyStream on its own connection. If `reads` is False, it reads no answer, and sends until the connection
    accepts no more data."""

    def __init__(self, address, model, picture, reads):
        self.answered = self.refused = self.sent = 0
        self.last_answer = 0.0  # time of reading, on the clock that all processes share
        self.end = ""
        self.busy, self.over = threading.Event(), threading.Event()
        self.reads, self.room = reads, threading.Semaphore(IN_FLIGHT)
        self.request = pb.ClassifyRequest(model=model, image=picture)
        self.channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
        self.call = self.channel.stream_stream(
            "/vitrine.v1.Classifier/ClassifyStream", request_serializer=pb.ClassifyRequest.SerializeToString,
            response_deserializer=pb.ClassifyStreamResponse.FromString)(self._requests())
        self.reader = threading.Thread(target=self._read if reads else self._hold)
        self.reader.start()

    def finish(self):
        """Blocks until the server has ended the stream."""
        self.reader.join()
        self.channel.close()

    def _requests(self):
        for number in itertools.count():
            if self.reads:
                self.room.acquire()
            if self.over.is_set():
                return
            self.sent = number + 1
            if not self.reads and self.sent >= BUSY:
                self.busy.set()
            self.request.request_id = str(number)
            yield self.request

    def _read(self):
        try:
            for answer in self.call:
                if answer.HasField("response"):
                    self.answered += 1
                    self.last_answer = time.monotonic()
                    if self.answered == BUSY:
                        self.busy.set()
                else:
                    self.refused += 1
                self.room.release()
        except grpc.RpcError as error:
            self.end = error.details()
        self.over.set()
        self.busy.set()
        self.room.release()

    def _hold(self):
        """Waits for the end of the connection, because gRPC does not report the end of a call while answers are unread."""
        states = []

        def note(state):
            states.append(state)
            if grpc.ChannelConnectivity.READY in states and state is not grpc.ChannelConnectivity.READY:
                self.over.set()

        self.channel.subscribe(note)
        self.over.wait()
        self.channel.unsubscribe(note)
        self.call.cancel()


def main():
    address, model, picture, kind = sys.argv[1:]
    streams = [Stream(address, model, pathlib.Path(picture).read_bytes(), kind == "read") for _ in range(STREAMS)]
    for stream in streams:
        stream.busy.wait()
    print("busy", flush=True)
    for stream in streams:
        stream.finish()
    print(json.dumps({"answered": sum(s.answered for s in streams), "refused": sum(s.refused for s in streams),
                      "last_answer": max(s.last_answer for s in streams), "ends": sorted({s.end for s in streams})}))


if __name__ == "__main__":
    main()
