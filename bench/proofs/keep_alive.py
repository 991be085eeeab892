# SPDX-License-Identifier: Apache-2.0
"""Callers that keep a connection over HTTP/1.1 or cleartext HTTP/2, and record how each connection ends.

They are strict, because a client library would hide a broken connection by a retry. A request that was not answered is lost,
unless the server's GOAWAY excludes it. If the server sends `Connection: close` or GOAWAY, a new connection replaces the old one.
"""
import http.client
import socket

from proofs.callers import BACKOFF, CallerThreads
from proofs.wire_callers import (ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEAD, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS,
                                 WINDOW, WINDOW_UPDATE, frame, header_block)

TIMEOUT = 60  # seconds for an answer


class Excluded(Exception):
    """The server's GOAWAY says that it has not processed the request."""


class Http1:
    """A connection of HTTP/1.1. `is_ending`: the server has announced its end."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=TIMEOUT)
        self.connection.connect()
        self.connection.auto_open = 0
        self.is_ending = False

    def ask(self, path, picture):
        self.connection.request("POST", path, picture, {"Content-Type": "image/jpeg"})
        response = self.connection.getresponse()
        text = response.read()
        self.is_ending = response.will_close
        return text

    def close(self):
        self.connection.close()


class Http2:
    """A connection of cleartext HTTP/2. `is_ending`: the server has announced its end."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream, self.is_ending, self.buffer = 1, False, b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, (WINDOW - 65535).to_bytes(4, "big")))

    def ask(self, path, picture):
        """Returns the body of the answer. `picture` has at most 16,384 bytes, the size of one frame."""
        stream, self.stream, text = self.stream, self.stream + 2, b""
        self.socket.sendall(frame(HEADERS, END_HEADERS, stream, header_block(path, "image/jpeg"))
                            + frame(DATA, END_STREAM, stream, picture))
        while True:
            kind, flags, of, payload = self.read()
            if kind == GOAWAY:
                self.is_ending = True
                if code := int.from_bytes(payload[4:8], "big"):
                    raise ConnectionError(f"GOAWAY, code {code}")
                if int.from_bytes(payload[:4], "big") < stream:
                    raise Excluded
            elif kind in (SETTINGS, PING) and not flags & ACK:
                self.socket.sendall(frame(kind, ACK, 0, b"" if kind == SETTINGS else payload))
            elif of == stream and kind == RST_STREAM:
                raise ConnectionError(f"RST_STREAM, code {int.from_bytes(payload, 'big')}")
            elif of == stream and kind in (HEADERS, DATA):
                text += payload if kind == DATA else b""
                if flags & END_STREAM:
                    return text

    def read(self):
        """Returns (type, flags, stream, payload) of the next frame."""
        head = self.take(HEAD)
        return head[3], head[4], int.from_bytes(head[5:], "big"), self.take(int.from_bytes(head[:3], "big"))

    def take(self, size):
        while len(self.buffer) < size:
            received = self.socket.recv(1 << 16)
            if not received:
                raise ConnectionError("the connection was closed without an answer")
            self.buffer += received
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def close(self):
        self.socket.close()


class KeepAliveCallers(CallerThreads):
    """Callers that use `protocol`, Http1 or Http2, to send a JPEG file. Each has its own connection."""

    def __init__(self, protocol, address, count, picture, model):
        super().__init__(count, self._run)
        self.protocol, self.address, self.picture = protocol, address, picture
        self.path = f"/v1/models/{model}:classify"

    def _run(self, ledger):
        connection = None
        while not self.over.is_set():
            if connection is None:
                try:
                    connection = self.protocol(self.address)
                except ConnectionRefusedError:
                    ledger.unreached += 1
                    return
                except OSError as error:  # Http2 already sends bytes when it connects
                    self._lose(ledger, repr(error))
                    continue
            if not self._ask(ledger, connection) or connection.is_ending:
                connection.close()
                connection = None

    def _ask(self, ledger, connection):
        """Sends a request and records the result. Returns False if the connection has ended."""
        try:
            text = connection.ask(self.path, self.picture)
        except Excluded:
            ledger.excluded += 1
            return False
        except (OSError, http.client.HTTPException) as error:
            self._lose(ledger, repr(error))
            return False
        if b'"predictions":' in text:
            ledger.answered += 1
        elif b"the server is draining" in text:
            ledger.draining += 1
            self.over.wait(BACKOFF)
        else:
            self._lose(ledger, text.decode())
        return True

    def _lose(self, ledger, why):
        ledger.lost += 1
        ledger.first_loss = ledger.first_loss or f"{self.protocol.__name__}: {why}"
