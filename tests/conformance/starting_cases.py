# SPDX-License-Identifier: Apache-2.0
"""Cases of RFC 9113, sections 3 and 4: the preface, frames and header blocks."""

import time

from case import *

UNKNOWN = 0x16  # an undefined frame type


@case("9113 3.4", "the server's first frame is SETTINGS")
def _(c):
    return Holds(c.frames[0][0] == SETTINGS and not c.frames[0][2] & ACK, "SETTINGS comes first")


@case("9113 3.4", "preface and a request in one segment", begins=False)
def _(c):
    c.send(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, c.block()) + frame(DATA, END_STREAM, 1, c.MESSAGE))
    return Answered()


@case("9113 3.4", "preface byte by byte", begins=False)
def _(c):
    c.acknowledges = False  # otherwise the client would send the acknowledgement within the preface
    for byte in PREFACE + frame(SETTINGS, 0, 0):
        c.send(bytes([byte]))
        time.sleep(0.002)
    c.request()
    return Answered()


for _name, _wrong in [("wrong in the last line", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"), ("wrong in the middle", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
                      ("of another version", b"PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n"), ("wrong in the first byte", b"\0RI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                      ("in lower case", PREFACE.lower())]:
    @case("9113 3.4", f"preface {_name}", begins=False)
    def _(c, wrong=_wrong):
        c.send(wrong + frame(SETTINGS, 0, 0) * 4)
        return Closed()


for _name, _first in [("PING", frame(PING, 0, 0, bytes(8))), ("WINDOW_UPDATE", frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")),
                      ("acknowledgement of SETTINGS", frame(SETTINGS, ACK, 0)), ("PRIORITY", frame(PRIORITY, 0, 1, b"\0\0\0\0\1")),
                      ("unknown type", frame(UNKNOWN, 0, 0)), ("GOAWAY", frame(GOAWAY, 0, 0, bytes(8)))]:
    @case("9113 3.4", f"{_name} is the first frame", begins=False)
    def _(c, first=_first):
        c.send(PREFACE + first)
        return Goaway(PROTOCOL_ERROR)


@case("9113 3.4", "HEADERS is the first frame", begins=False)
def _(c):
    c.send(PREFACE + frame(HEADERS, END_HEADERS, 1, c.block()))
    return Goaway(PROTOCOL_ERROR)


@case("9113 3.4", "a second preface")
def _(c):
    c.send(PREFACE)
    return Goaway(FRAME_SIZE_ERROR, PROTOCOL_ERROR)


for _name, _stream in [("the connection", 0), ("an idle stream", 5), ("an open stream", 1)]:
    @case("9113 4.1", f"a frame of unknown type on {_name}")
    def _(c, stream=_stream):
        c.open()
        c.send_frame(UNKNOWN, 0xFF, stream, b"whatever")
        c.finish()
        return Answered()


for _name, _payload in [("PING", (PING, 0xFE, 0, bytes(8))), ("SETTINGS", (SETTINGS, 0xFE, 0, b"")), ("WINDOW_UPDATE", (WINDOW_UPDATE, 0xFF, 0, b"\0\0\0\1")),
                        ("PRIORITY", (PRIORITY, 0xFF, 3, b"\0\0\0\0\1")), ("RST_STREAM", (RST_STREAM, 0xFF, 1, b"\0\0\0\x08"))]:
    @case("9113 4.1", f"undefined flags of {_name} are ignored")
    def _(c, sent=_payload):
        c.open()
        c.send_frame(*sent)
        return Alive()


@case("9113 4.1", "undefined flags of HEADERS and DATA are ignored")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | 0xD2 & ~(PADDED | HAS_PRIORITY), 1, c.block())
    c.send_frame(DATA, END_STREAM | 0xF6 & ~PADDED, 1, c.MESSAGE)
    return Answered()


for _name, _kind, _payload in [("PING", PING, bytes(8)), ("SETTINGS", SETTINGS, b""), ("WINDOW_UPDATE", WINDOW_UPDATE, b"\0\0\0\1")]:
    @case("9113 4.1", f"the reserved bit of {_name} is ignored")
    def _(c, kind=_kind, payload=_payload):
        c.send_frame(kind, 0, 1 << 31, payload)
        return Alive()


@case("9113 4.1", "the reserved bit of HEADERS and DATA is ignored")
def _(c):
    c.send_frame(HEADERS, END_HEADERS, 1 << 31 | 1, c.block())
    c.send_frame(DATA, END_STREAM, 1 << 31 | 1, c.MESSAGE)
    return Answered()


@case("9113 4.1", "frames byte by byte")
def _(c):
    for byte in frame(HEADERS, END_HEADERS, 1, c.block()) + frame(DATA, END_STREAM, 1, c.MESSAGE):
        c.send(bytes([byte]))
    return Answered()


@case("9113 4.2", "DATA of 16,384 bytes")
def _(c):
    c.open()
    c.data(1, b"\0" + (16379).to_bytes(4, "big") + bytes(16379), True)
    return Answered()


@case("9113 4.2", "HEADERS of 16,384 bytes")
def _(c):
    block = c.block()
    c.send_frame(HEADERS, END_HEADERS | PADDED, 1, bytes([255]) + block + bytes(255))  # below 16,384 bytes, as padding adds only 255
    c.finish()
    return Answered()


@case("9113 4.2", "DATA of 16,385 bytes")
def _(c):
    c.open()
    c.data(1, bytes(16385))
    return OneOf(Goaway(FRAME_SIZE_ERROR), Reset(1, FRAME_SIZE_ERROR))


for _name, _sent in [("HEADERS", (HEADERS, END_HEADERS, 1)), ("CONTINUATION", None), ("SETTINGS", (SETTINGS, 0, 0)), ("PING", (PING, 0, 0)),
                     ("PUSH_PROMISE", (PUSH_PROMISE, END_HEADERS, 1)), ("GOAWAY", (GOAWAY, 0, 0))]:
    @case("9113 4.2", f"{_name} of more than 16,384 bytes")
    def _(c, sent=_sent):
        if sent is None:
            c.send_frame(HEADERS, 0, 1, c.block())
            sent = (CONTINUATION, END_HEADERS, 1)
        c.send_frame(*sent, bytes(16386))
        return Goaway(FRAME_SIZE_ERROR)


for _name, _kind, _stream, _right, _lengths in [("PING", PING, 0, 8, (0, 7, 9)), ("SETTINGS", SETTINGS, 0, 6, (1, 5, 7)),
                                                ("WINDOW_UPDATE", WINDOW_UPDATE, 0, 4, (0, 3, 5)), ("RST_STREAM", RST_STREAM, 1, 4, (0, 3, 5)),
                                                ("GOAWAY", GOAWAY, 0, 8, (0, 7))]:
    for _length in _lengths:
        @case("9113 4.2", f"{_name} of {_length} bytes")
        def _(c, kind=_kind, stream=_stream, length=_length):
            c.open()
            c.send_frame(kind, 0, stream, bytes(length))
            return Goaway(FRAME_SIZE_ERROR)


@case("9113 4.3", "an invalid header block")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\xff\xff\xff\xff")
    return Goaway(COMPRESSION_ERROR)


@case("9113 4.3", "an invalid header block of a stream that is closed")
def _(c):
    c.open()
    c.reset(1)
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 3, b"\xff\xff\xff\xff\xff\xff")
    return Goaway(COMPRESSION_ERROR)


@case("9113 4.3", "a field block changes the table even if its stream is refused")
def _(c):
    c.whole(c.block(content_type=None) + literal("connection", "close", INCREMENTAL) + literal("content-type", "application/grpc", INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block(content_type=None) + indexed(62), 3)
    return Answered(3)


for _name, _sent in [("PRIORITY", (PRIORITY, 0, 1, b"\0\0\0\0\1")), ("HEADERS of another stream", (HEADERS, END_HEADERS, 3, b"\x82")), ("DATA", (DATA, 0, 1, b"")),
                     ("SETTINGS", (SETTINGS, 0, 0, b"")), ("PING", (PING, 0, 0, bytes(8))), ("WINDOW_UPDATE", (WINDOW_UPDATE, 0, 0, b"\0\0\0\1")),
                     ("RST_STREAM", (RST_STREAM, 0, 1, b"\0\0\0\x08")), ("GOAWAY", (GOAWAY, 0, 0, bytes(8))), ("a frame of unknown type", (UNKNOWN, 0, 1, b"")),
                     ("CONTINUATION of another stream", (CONTINUATION, END_HEADERS, 3, b"\x82")), ("HEADERS of the same stream", (HEADERS, END_HEADERS, 1, b"\x82"))]:
    @case("9113 4.3", f"{_name} inside a header block")
    def _(c, sent=_sent):
        c.send_frame(HEADERS, 0, 1, c.block())
        c.send_frame(*sent)
        return Goaway(PROTOCOL_ERROR)
