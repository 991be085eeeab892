# SPDX-License-Identifier: Apache-2.0
"""Forwards TCP connections and delays the bytes in both directions, without a limit of bandwidth.

    python -m proofs.delay_relay ADDRESS MILLISECONDS

Prints "listening on HOST:PORT". MILLISECONDS is the delay of each direction.
"""
import asyncio
import socket
import sys

CHUNK = 1 << 20


async def forward(reader, writer, delay):
    """Forwards until the end of the input. The delay of each chunk begins when it is read."""
    loop, chunks = asyncio.get_running_loop(), asyncio.Queue()

    async def deliver():
        while chunk := await chunks.get():
            due, data = chunk
            await asyncio.sleep(due - loop.time())
            if not writer.is_closing():
                writer.write(data)
        writer.close()

    delivery = asyncio.create_task(deliver())
    try:
        while data := await reader.read(CHUNK):
            chunks.put_nowait((loop.time() + delay, data))
    except ConnectionError:
        pass
    chunks.put_nowait(None)
    await delivery


async def main(address, milliseconds):
    host, port = address.rsplit(":", 1)
    delay = float(milliseconds) / 1e3

    async def relay(reader, writer):
        there_reader, there_writer = await asyncio.open_connection(host, int(port), limit=CHUNK)
        for each in (writer, there_writer):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(forward(reader, there_writer, delay), forward(there_reader, writer, delay))

    server = await asyncio.start_server(relay, "127.0.0.1", 0, limit=CHUNK)
    print(f"listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
