# SPDX-License-Identifier: Apache-2.0
"""Runs the interoperability cases with grpcio. Usage: grpcio_client.py HOST:PORT [CASE...]."""

import queue
import sys
import time

import grpc

from messages import *


class Client:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)

        def method(kind, name, response, service=SERVICE):
            return getattr(self.channel, kind)(service + name, request_serializer=lambda message: message.SerializeToString(), response_deserializer=response.FromString)

        self.empty = method("unary_unary", "EmptyCall", Empty)
        self.unary = method("unary_unary", "UnaryCall", SimpleResponse)
        self.input = method("stream_unary", "StreamingInputCall", InputResponse)
        self.output = method("unary_stream", "StreamingOutputCall", OutputResponse)
        self.duplex = method("stream_stream", "FullDuplexCall", OutputResponse)
        self.unimplemented = method("unary_unary", "UnimplementedCall", Empty)
        self.no_service = method("unary_unary", "UnimplementedCall", Empty, "/grpc.testing.UnimplementedService/")

    def empty_unary(self):
        check(self.empty(Empty(), timeout=10) == Empty(), "another answer")

    def large_unary(self):
        check(self.unary(large(), timeout=20).payload.body == bytes(314159), "another payload")

    def client_compressed_unary(self):
        try:
            self.unary(large(MIXED, expect_compressed={"value": True}), timeout=20)
            check(False, "a message that is not compressed passes for one that is")
        except grpc.RpcError as fault:
            check(fault.code() == grpc.StatusCode.INVALID_ARGUMENT, fault.code())
        for value, how in ((True, grpc.Compression.Gzip), (False, grpc.Compression.NoCompression)):
            answer = self.unary(large(MIXED, expect_compressed={"value": value}), timeout=20, compression=how)
            check(len(answer.payload.body) == 314159, "another payload")

    def server_compressed_unary(self):
        for value in (True, False):
            check(self.unary(large(response_compressed={"value": value}), timeout=20).payload.body == bytes(314159), "another payload")
        return "(the client does not show the flag)"

    def client_streaming(self):
        answer = self.input((InputRequest(payload=zeros(size)) for size in SENT), timeout=20)
        check(answer.aggregated_payload_size == 74922, answer.aggregated_payload_size)

    def client_compressed_streaming(self):
        raise Unsupported("compression is a matter of a call, not of a message")

    def server_streaming(self):
        sizes = [len(each.payload.body) for each in self.output(output(*ASKED), timeout=20)]
        check(sizes == list(ASKED), sizes)

    def server_compressed_streaming(self):
        request = OutputRequest(response_parameters=[{"size": 31415, "compressed": {"value": True}}, {"size": 92653, "compressed": {"value": False}}])
        sizes = [len(each.payload.body) for each in self.output(request, timeout=20)]
        check(sizes == [31415, 92653], sizes)
        return "(the client does not show the flag)"

    def ping_pong(self):
        asked = queue.Queue()
        answers = self.duplex(iter(asked.get, None), timeout=20)
        for size, sent in zip(ASKED, SENT):
            asked.put(output(size, payload=sent))
            check(len(next(answers).payload.body) == size, "another payload")
        asked.put(None)
        check(list(answers) == [], "more than was asked for")

    def empty_stream(self):
        check(list(self.duplex(iter(()), timeout=20)) == [], "an answer")

    def custom_metadata(self):
        sent = ((INITIAL, "test_initial_metadata_value"), (TRAILING, b"\x0a\x0b\x0a\x0b\x0a\x0b"))
        _, call = self.unary.with_call(large(), metadata=sent, timeout=20)
        for told in (call, self.duplex(iter([output(314159, payload=271828)]), metadata=sent, timeout=20)):
            if told is not call:
                check(len(list(told)) == 1, "not one answer")
            check(dict(told.initial_metadata()).get(INITIAL) == sent[0][1], "initial metadata")
            check(dict(told.trailing_metadata()).get(TRAILING) == sent[1][1], "trailing metadata")

    def _status(self, message):
        status = {"code": 2, "message": message}
        for call in (lambda: self.unary(SimpleRequest(response_status=status), timeout=20), lambda: list(self.duplex(iter([OutputRequest(response_status=status)]), timeout=20))):
            try:
                call()
            except grpc.RpcError as fault:
                check(fault.code() == grpc.StatusCode.UNKNOWN and fault.details() == message, f"{fault.code()} {fault.details()!r}")
            else:
                check(False, "no status")

    def status_code_and_message(self):
        self._status(SENTENCE)

    def special_status_message(self):
        self._status(SPECIAL)

    def _unimplemented(self, method):
        try:
            method(Empty(), timeout=20)
        except grpc.RpcError as fault:
            check(fault.code() == grpc.StatusCode.UNIMPLEMENTED, fault.code())
        else:
            check(False, "it is answered")

    def unimplemented_method(self):
        self._unimplemented(self.unimplemented)

    def unimplemented_service(self):
        self._unimplemented(self.no_service)

    def cancel_after_begin(self):
        asked = queue.Queue()
        call = self.input.future(iter(asked.get, None), timeout=20)
        call.cancel()
        asked.put(None)
        check(call.cancelled() and call.code() == grpc.StatusCode.CANCELLED, call.code())

    def cancel_after_first_response(self):
        asked = queue.Queue()
        call = self.duplex(iter(asked.get, None), timeout=20)
        asked.put(output(31415, payload=27182))
        next(call)
        call.cancel()
        asked.put(None)
        try:
            next(call)
            check(False, "an answer after the cancellation")
        except (grpc.RpcError, StopIteration):
            check(call.code() == grpc.StatusCode.CANCELLED, call.code())

    def timeout_on_sleeping_server(self):
        asked = queue.Queue()
        call = self.duplex(iter(asked.get, None), timeout=0.001)
        asked.put(OutputRequest(payload=zeros(27182), response_parameters=[{"size": 31415, "interval_us": 500000}]))
        try:
            next(call)
            check(False, "an answer")
        except grpc.RpcError as fault:
            check(fault.code() == grpc.StatusCode.DEADLINE_EXCEEDED, fault.code())
        asked.put(None)

    def concurrent_large_unary(self):
        calls = [self.unary.future(large(), timeout=60) for _ in range(100)]
        check(all(len(each.result().payload.body) == 314159 for each in calls), "another payload")


if __name__ == "__main__":
    client = Client(sys.argv[1])
    found = [(name, getattr(client, name)) for name in vars(Client) if not name.startswith("_")]
    sys.exit(1 if run(found, sys.argv[2:]) else 0)
