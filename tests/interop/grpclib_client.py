# SPDX-License-Identifier: Apache-2.0
"""Runs the interoperability cases with grpclib. Usage: grpclib_client.py HOST:PORT [CASE...]."""

import asyncio
import sys

from grpclib.client import Channel, StreamStreamMethod, StreamUnaryMethod, UnaryStreamMethod, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from messages import *


class Client:
    def __init__(self, channel):
        self.empty = UnaryUnaryMethod(channel, SERVICE + "EmptyCall", Empty, Empty)
        self.unary = UnaryUnaryMethod(channel, SERVICE + "UnaryCall", SimpleRequest, SimpleResponse)
        self.input = StreamUnaryMethod(channel, SERVICE + "StreamingInputCall", InputRequest, InputResponse)
        self.output = UnaryStreamMethod(channel, SERVICE + "StreamingOutputCall", OutputRequest, OutputResponse)
        self.duplex = StreamStreamMethod(channel, SERVICE + "FullDuplexCall", OutputRequest, OutputResponse)
        self.unimplemented = UnaryUnaryMethod(channel, SERVICE + "UnimplementedCall", Empty, Empty)
        self.no_service = UnaryUnaryMethod(channel, "/grpc.testing.UnimplementedService/UnimplementedCall", Empty, Empty)

    async def empty_unary(self):
        check(await self.empty(Empty(), timeout=10) == Empty(), "another answer")

    async def large_unary(self):
        check((await self.unary(large(), timeout=20)).payload.body == bytes(314159), "another payload")

    async def client_compressed_unary(self):
        raise Unsupported("it has no compression")

    server_compressed_unary = client_compressed_streaming = server_compressed_streaming = client_compressed_unary

    async def client_streaming(self):
        answer = await self.input([InputRequest(payload=zeros(size)) for size in SENT], timeout=20)
        check(answer.aggregated_payload_size == 74922, answer.aggregated_payload_size)

    async def server_streaming(self):
        sizes = [len(each.payload.body) for each in await self.output(output(*ASKED), timeout=20)]
        check(sizes == list(ASKED), sizes)

    async def ping_pong(self):
        async with self.duplex.open(timeout=20) as stream:
            for number, (size, sent) in enumerate(zip(ASKED, SENT), 1):
                await stream.send_message(output(size, payload=sent), end=number == len(SENT))
                check(len((await stream.recv_message()).payload.body) == size, "another payload")
            check(await stream.recv_message() is None, "more than was asked for")

    async def empty_stream(self):
        async with self.duplex.open(timeout=20) as stream:
            await stream.send_request()
            await stream.end()
            check(await stream.recv_message() is None, "an answer")

    async def custom_metadata(self):
        sent = {INITIAL: "test_initial_metadata_value", TRAILING: b"\x0a\x0b\x0a\x0b\x0a\x0b"}
        for method, request in ((self.unary, large()), (self.duplex, output(314159, payload=271828))):
            async with method.open(metadata=sent, timeout=20) as stream:
                await stream.send_message(request, end=True)
                await stream.recv_initial_metadata()
                await stream.recv_message()
                if method is self.duplex:
                    await stream.recv_message()
                await stream.recv_trailing_metadata()
                check(stream.initial_metadata.get(INITIAL) == sent[INITIAL], "initial metadata")
                check(stream.trailing_metadata.get(TRAILING) == sent[TRAILING], "trailing metadata")

    async def _status(self, message):
        status = {"code": 2, "message": message}
        for call in (lambda: self.unary(SimpleRequest(response_status=status), timeout=20), lambda: self.duplex([OutputRequest(response_status=status)], timeout=20)):
            try:
                await call()
            except GRPCError as fault:
                check(fault.status == Status.UNKNOWN and fault.message == message, f"{fault.status} {fault.message!r}")
            else:
                check(False, "no status")

    async def status_code_and_message(self):
        await self._status(SENTENCE)

    async def special_status_message(self):
        await self._status(SPECIAL)

    async def _unimplemented(self, method):
        try:
            await method(Empty(), timeout=20)
        except GRPCError as fault:
            check(fault.status == Status.UNIMPLEMENTED, fault.status)
        else:
            check(False, "it is answered")

    async def unimplemented_method(self):
        await self._unimplemented(self.unimplemented)

    async def unimplemented_service(self):
        await self._unimplemented(self.no_service)

    async def cancel_after_begin(self):
        async with self.input.open(timeout=20) as stream:
            await stream.send_request()
            await stream.cancel()
        await self.empty_unary()

    async def cancel_after_first_response(self):
        async with self.duplex.open(timeout=20) as stream:
            await stream.send_message(output(31415, payload=27182))
            await stream.recv_message()
            await stream.cancel()
        await self.empty_unary()

    async def timeout_on_sleeping_server(self):
        try:
            async with self.duplex.open(timeout=0.05) as stream:
                await stream.send_message(OutputRequest(payload=zeros(27182), response_parameters=[{"size": 31415, "interval_us": 500000}]))
                await stream.recv_message()
            check(False, "an answer")
        except asyncio.TimeoutError:
            pass
        except GRPCError as fault:
            check(fault.status == Status.DEADLINE_EXCEEDED, fault.status)

    async def concurrent_large_unary(self):
        answers = await asyncio.gather(*[self.unary(large(), timeout=60) for _ in range(100)])
        check(all(len(each.payload.body) == 314159 for each in answers), "another payload")


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def make():
        return Channel(host, int(port))

    channel = loop.run_until_complete(make())
    client = Client(channel)
    found = [(name, lambda case=getattr(client, name): loop.run_until_complete(case())) for name in vars(Client) if not name.startswith("_")]
    failed = run(found, sys.argv[2:])
    channel.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
