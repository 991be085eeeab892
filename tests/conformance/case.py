# SPDX-License-Identifier: Apache-2.0
"""The cases of the conformance tests, and the classes that describe the reaction that a case expects from the server."""

import dataclasses
import typing

from http2_client import *

CASES = []


@dataclasses.dataclass
class Case:
    section: str  # "9113 5.1": RFC and section
    name: str
    run: typing.Callable  # sends frames on the given connection; returns the expectation
    begins: bool  # True: preface and SETTINGS are exchanged before `run`

    @property
    def title(self):
        return f"{self.section} {self.name}"


def case(section, name, begins=True):
    """Returns a decorator that registers a function as a case."""

    def declare(run):
        made = Case(section, name, run, begins)
        if any(each.title == made.title for each in CASES):
            raise ValueError(f"two cases are called {made.title}")
        CASES.append(made)
        return run

    return declare


class Connection(Http2Client):
    """A connection to a target. PATH is a unary method that accepts an empty message. WATCH is a method whose stream stays
    open after the request is complete."""

    PATH = "/grpc.health.v1.Health/Check"
    WATCH = "/grpc.health.v1.Health/Watch"
    MESSAGE = bytes(5)  # an empty message of gRPC

    def fields(self, path=None, **others):
        """Returns a request's header fields. `others` replaces fields; the value None removes a field."""
        made = {":method": "POST", ":scheme": "http", ":authority": "localhost", ":path": path or self.PATH,
                "content-type": "application/grpc", "te": "trailers"}
        made.update({name.replace("__", ":").replace("_", "-"): value for name, value in others.items()})
        return [(name, value) for name, value in made.items() if value is not None]

    def open(self, stream=1, **others):
        """Sends the headers of a request without its body. finish() sends the body."""
        self.headers(stream, self.fields(**others))

    def request(self, stream=1, extra=(), **others):
        """Sends a complete request."""
        self.headers(stream, self.fields(**others) + list(extra))
        self.data(stream, self.MESSAGE, True)

    def finish(self, stream=1):
        """Sends the body of a request that open() has started."""
        self.data(stream, self.MESSAGE, True)

    def whole(self, block, stream=1):
        """Sends a complete request with this header block."""
        self.send_frame(HEADERS, END_HEADERS, stream, block)
        self.data(stream, self.MESSAGE, True)

    def answered(self, stream=1):
        """Sends a complete request and waits for the end of its answer."""
        self.request(stream)
        if not self.wait(lambda: self.stream(stream).closed):
            raise AssertionError("a request was not answered")

    def watch(self, stream=1):
        """Sends a complete request whose response stays open, and waits for the response headers. Afterwards the
        stream is half-closed (remote)."""
        self.request(stream, path=self.WATCH)
        self.wait(lambda: self.stream(stream).blocks or self.stream(stream).closed)
        if self.stream(stream).closed:
            raise NotImplementedError("this target has no stream that stays open")

    def block(self, *without, **others):
        """Returns a request's header block in literal encoding, without the fields in `without`."""
        return b"".join(literal(name, value) for name, value in self.fields(**others) if name not in without)


def describe(client, stream=None):
    """Returns a description of the received frames."""
    parts = []
    if client.goaway:
        parts.append(f"GOAWAY {code_name(client.goaway[1])} {client.goaway[2].decode('latin-1')!r}")
    for number, each in sorted(client.streams.items()):
        if stream not in (None, number):
            continue
        if each.reset is not None:
            parts.append(f"stream {number}: RST_STREAM {code_name(each.reset)}")
        if each.blocks:
            parts.append(f"stream {number}: status {each.status}" + ("" if each.ended else ", open"))
    if client.text:
        parts.append(f"text {client.text[:40]!r}")
    if client.closed:
        parts.append("connection reset" if client.was_reset else "connection closed")
    return "; ".join(parts) or "nothing"


# The classes below are expectations. check(client) returns None if the expectation is met, otherwise the reason.


@dataclasses.dataclass
class Goaway:
    """The server sends GOAWAY with one of these codes, then closes the connection."""
    codes: tuple

    def __init__(self, *codes):
        self.codes = codes

    def check(self, client):
        client.wait(lambda: client.closed)
        if client.goaway is None:
            return "no GOAWAY"
        if client.goaway[1] not in self.codes:
            return "another code in GOAWAY"
        return None if client.closed else "the connection stays open"

    def __str__(self):
        return "GOAWAY " + " or ".join(map(code_name, self.codes))


@dataclasses.dataclass
class Reset:
    """The server resets the stream with one of these codes, and the connection stays open."""
    stream: int
    codes: tuple

    def __init__(self, stream, *codes):
        self.stream, self.codes = stream, codes

    def check(self, client):
        client.wait(lambda: client.goaway or client.closed or client.stream(self.stream).reset is not None)
        if client.goaway or client.closed:
            return "the connection was ended"
        if client.stream(self.stream).reset not in self.codes:
            return "no RST_STREAM with that code"
        return None if client.ping() else "PING is not answered afterwards"

    def __str__(self):
        return f"RST_STREAM {' or '.join(map(code_name, self.codes))} on {self.stream}"


@dataclasses.dataclass
class Malformed:
    """The server treats the request as malformed (RFC 9113, section 8.1.1): it sends RST_STREAM with PROTOCOL_ERROR,
    optionally after an error response, and the connection stays open."""
    stream: int = 1

    def check(self, client):
        client.wait(lambda: client.goaway or client.closed or client.stream(self.stream).closed)
        taken = client.stream(self.stream)
        if client.goaway or client.closed:
            return "the connection was ended"
        if taken.reset != PROTOCOL_ERROR and not (taken.status or "2").startswith("4"):
            return "it is not refused"
        return None if client.ping() else "PING is not answered afterwards"

    def __str__(self):
        return f"stream {self.stream} refused as malformed"


@dataclasses.dataclass
class Answered:
    """The request is answered, and the connection stays open."""
    stream: int = 1
    status: tuple = ("200",)

    def check(self, client):
        taken = client.stream(self.stream)
        client.wait(lambda: client.closed or taken.closed)
        if not taken.ended or taken.status not in self.status:
            return "no answer of status " + " or ".join(self.status)
        return None if client.ping() else "PING is not answered afterwards"

    def __str__(self):
        return f"stream {self.stream} answered"


@dataclasses.dataclass
class Alive:
    """The connection stays open: PING and a request are answered."""
    stream: int = 101

    def check(self, client):
        if not client.ping(b"conforms"):
            return "PING is not answered"
        client.request(self.stream)
        return Answered(self.stream).check(client)

    def __str__(self):
        return "the connection goes on"


@dataclasses.dataclass
class Closed:
    """The server closes the connection, with or without GOAWAY or an HTTP/1 error."""

    def check(self, client):
        return None if client.wait(lambda: client.closed, 15) else "the connection stays open"

    def __str__(self):
        return "connection closed"


@dataclasses.dataclass
class OneOf:
    """One of several expectations, for cases in which the RFC allows different reactions."""
    choices: tuple

    def __init__(self, *choices):
        self.choices = choices

    def check(self, client):
        faults = []
        for each in self.choices:
            faults.append(each.check(client))
            if faults[-1] is None:
                return None
        return " / ".join(faults)

    def __str__(self):
        return " or ".join(map(str, self.choices))


@dataclasses.dataclass
class Holds:
    """A condition that the case has already checked."""
    held: bool
    what: str

    def check(self, client):
        return None if self.held else "not so: " + self.what

    def __str__(self):
        return self.what
