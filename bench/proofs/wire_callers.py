# SPDX-License-Identifier: Apache-2.0
"""Callers from many addresses, each with a few Classify calls in flight. All run in one process, with a small HTTP/2 client.

    python -m proofs.wire_callers ADDRESS MODEL PICTURE CALLERS CALLS

Each connection keeps CALLS calls in flight until the end of the standard input. Prints a line once every connection has got
an answer. A client library would need many times the processor time and would limit the measured rate.
"""
import pathlib
import resource
import selectors
import socket
import sys

from vitrine import _descriptors

CONNECTIONS = 1000
# Frame types and flags: RFC 9113, section 6.
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 1
END_HEADERS = 4
HEAD = 9  # bytes of a frame's head
# A flow-control window so large that no run exhausts it. Each connection sets it when it begins and never updates it.
WINDOW = (1 << 31) - 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def header_block(path, content_type="application/grpc"):
    """Returns the header block of a request as literal fields without indexing (RFC 7541, section 6.2.2)."""
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost",
              "content-type": content_type, "te": "trailers"}
    return b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
                    for name, value in fields.items())


def source(number, callers):
    """Returns the address of a connection's caller, in 127.0.0.0/8."""
    caller = number % callers
    return f"127.1.{caller // 250}.{1 + caller % 250}"


class Connection:
    """A connection that sends a new call for each call that ended. The server's metrics count the results."""

    def __init__(self, address, origin, message, calls):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=30, source_address=(origin, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.block = header_block("/vitrine.v1.Classifier/Classify")
        self.body = b"\0" + len(message).to_bytes(4, "big") + message
        self.stream, self.was_answered, self.unread = 1, False, b""
        begin = PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, (WINDOW - 65535).to_bytes(4, "big"))
        self.socket.sendall(begin + b"".join(self.call() for _ in range(calls)))

    def call(self):
        stream, self.stream = self.stream, self.stream + 2
        return frame(HEADERS, END_HEADERS, stream, self.block) + frame(DATA, END_STREAM, stream, self.body)

    def read(self):
        """Reads the received bytes and sends the next calls. Returns False if the server has ended the connection."""
        taken = self.socket.recv(1 << 16)
        if not taken:
            return False
        buffer, at, out = self.unread + taken, 0, []
        while at + HEAD <= len(buffer):
            end = at + HEAD + int.from_bytes(buffer[at:at + 3], "big")
            if end > len(buffer):
                break
            kind, flags = buffer[at + 3], buffer[at + 4]
            if kind in (HEADERS, DATA) and flags & END_STREAM or kind == RST_STREAM:
                self.was_answered = True
                out.append(self.call())
            elif kind in (SETTINGS, PING) and not flags & ACK:
                out.append(frame(kind, ACK, 0, b"" if kind == SETTINGS else buffer[at + HEAD:end]))
            elif kind == GOAWAY:
                return False
            at = end
        self.unread = buffer[at:]
        if out:
            self.socket.sendall(b"".join(out))
        return True


def main(address, model, picture, callers, calls):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    image = pathlib.Path(picture).read_bytes()
    message = _descriptors.message("vitrine.v1.ClassifyRequest")(model=model, image=image, top_k=1).SerializeToString()
    selector = selectors.EpollSelector()
    connections = [Connection(address, source(number, int(callers)), message, int(calls)) for number in range(CONNECTIONS)]
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    selector.register(sys.stdin, selectors.EVENT_READ)
    told = False
    while True:
        for key, _ in selector.select():
            if key.data is None:
                return
            if not key.data.read():
                sys.exit("the server ended a connection")
        if not told and all(connection.was_answered for connection in connections):
            print("busy", flush=True)
            told = True


if __name__ == "__main__":
    main(*sys.argv[1:])
