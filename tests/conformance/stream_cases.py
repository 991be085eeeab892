# SPDX-License-Identifier: Apache-2.0
"""Cases of RFC 9113, section 5: states of streams, identifiers, concurrency, priority, errors, extensions."""

from case import *

SELF = (101).to_bytes(4, "big") + b"\x10"


# State idle.

for _name, _sent in [("DATA", (DATA, END_STREAM, 1, b"test")), ("RST_STREAM", (RST_STREAM, 0, 1, b"\0\0\0\x08")),
                     ("WINDOW_UPDATE", (WINDOW_UPDATE, 0, 1, b"\0\0\0\x64")), ("CONTINUATION", (CONTINUATION, END_HEADERS, 1, b"\x82"))]:
    @case("9113 5.1", f"idle: {_name}")
    def _(c, sent=_sent):
        c.send_frame(*sent)
        return Goaway(PROTOCOL_ERROR)


@case("9113 5.1", "idle: PRIORITY is accepted")
def _(c):
    c.send_frame(PRIORITY, 0, 1, b"\0\0\0\0\x10")
    c.request()
    return Answered()


@case("9113 5.1", "idle: DATA on a stream of the server")
def _(c):
    c.data(2, b"test")
    return Goaway(PROTOCOL_ERROR)


# State half-closed (remote): the request is complete, the answer is not.

for _name, _sent in [("DATA", (DATA, 0, 1, b"test")), ("empty DATA", (DATA, END_STREAM, 1, b""))]:
    @case("9113 5.1", f"half-closed (remote): {_name}")
    def _(c, sent=_sent):
        c.watch()
        c.send_frame(*sent)
        return OneOf(Reset(1, STREAM_CLOSED), Goaway(STREAM_CLOSED))


@case("9113 5.1", "half-closed (remote): HEADERS")
def _(c):
    c.watch()
    c.headers(1, [("x-trailer", "1")], END_HEADERS | END_STREAM)
    return OneOf(Reset(1, STREAM_CLOSED), Goaway(STREAM_CLOSED))


@case("9113 5.1", "half-closed (remote): CONTINUATION")
def _(c):
    c.watch()
    c.send_frame(CONTINUATION, END_HEADERS, 1, b"\x82")
    return Goaway(PROTOCOL_ERROR, STREAM_CLOSED)


@case("9113 5.1", "half-closed (remote): WINDOW_UPDATE is accepted")
def _(c):
    c.watch()
    c.window_update(1, 100)
    return Alive()


@case("9113 5.1", "half-closed (remote): PRIORITY is accepted")
def _(c):
    c.watch()
    c.send_frame(PRIORITY, 0, 1, b"\0\0\0\0\x10")
    return Alive()


@case("9113 5.1", "half-closed (remote): RST_STREAM ends the stream")
def _(c):
    c.watch()
    c.reset(1)
    return Alive()


# State closed, after the client's RST_STREAM. The client then sends more frames. Frames after a reset by the server may be
# ignored, because the client may have sent them before it received the reset. Frames after the client's own reset are wrong,
# and RFC 9113 allows a connection error.

for _name, _sent in [("DATA", (DATA, END_STREAM, 1, b"test")), ("empty DATA", (DATA, 0, 1, b""))]:
    @case("9113 5.1", f"closed by the client's reset: {_name}")
    def _(c, sent=_sent):
        c.open()
        c.reset(1)
        c.send_frame(*sent)
        return OneOf(Goaway(STREAM_CLOSED), Reset(1, STREAM_CLOSED))


@case("9113 5.1", "closed by the client's reset: HEADERS")
def _(c):
    c.open()
    c.reset(1)
    c.headers(1, c.fields(), END_HEADERS | END_STREAM)
    return OneOf(Goaway(STREAM_CLOSED), Reset(1, STREAM_CLOSED))


@case("9113 5.1", "closed by the client's reset: CONTINUATION")
def _(c):
    c.open()
    c.reset(1)
    c.send_frame(CONTINUATION, END_HEADERS, 1, b"\x82")
    return Goaway(STREAM_CLOSED, PROTOCOL_ERROR)


@case("9113 5.1", "closed by the client's reset: WINDOW_UPDATE is ignored")
def _(c):
    c.open()
    c.reset(1)
    c.window_update(1, 100)
    return Alive()


@case("9113 5.1", "closed by the client's reset: PRIORITY is accepted")
def _(c):
    c.open()
    c.reset(1)
    c.send_frame(PRIORITY, 0, 1, b"\0\0\0\0\x10")
    return Alive()


@case("9113 5.1", "closed by the client's reset: a second RST_STREAM is ignored")
def _(c):
    c.open()
    c.reset(1)
    c.reset(1)
    return Alive()


# State closed, after END_STREAM by client and server.

for _name, _sent in [("DATA", (DATA, END_STREAM, 1, b"test")), ("empty DATA", (DATA, 0, 1, b""))]:
    @case("9113 5.1", f"closed: {_name}")
    def _(c, sent=_sent):
        c.answered()
        c.send_frame(*sent)
        return OneOf(Goaway(STREAM_CLOSED), Reset(1, STREAM_CLOSED))


@case("9113 5.1", "closed: HEADERS")
def _(c):
    c.answered()
    c.headers(1, c.fields(), END_HEADERS | END_STREAM)
    return Goaway(STREAM_CLOSED, PROTOCOL_ERROR)


@case("9113 5.1", "closed: CONTINUATION")
def _(c):
    c.answered()
    c.send_frame(CONTINUATION, END_HEADERS, 1, b"\x82")
    return Goaway(STREAM_CLOSED, PROTOCOL_ERROR)


@case("9113 5.1", "closed: WINDOW_UPDATE is ignored")
def _(c):
    c.answered()
    c.window_update(1, 100)
    return Alive()


@case("9113 5.1", "closed: RST_STREAM is ignored")
def _(c):
    c.answered()
    c.reset(1)
    return Alive()


@case("9113 5.1", "closed: PRIORITY is accepted")
def _(c):
    c.answered()
    c.send_frame(PRIORITY, 0, 1, b"\0\0\0\0\x10")
    return Alive()


# Identifiers.

for _name, _ids in [("even", (2,)), ("lower than one before", (5, 3)), ("zero", (0,))]:
    @case("9113 5.1.1", f"the identifier of a new stream is {_name}")
    def _(c, ids=_ids):
        for number in ids:
            c.headers(number, c.fields(), END_HEADERS | END_STREAM)
        return Goaway(PROTOCOL_ERROR)


@case("9113 5.1.1", "identifiers may be skipped, and skipped streams are closed")
def _(c):
    c.answered(9)
    c.data(7, b"test")
    return OneOf(Goaway(STREAM_CLOSED, PROTOCOL_ERROR), Reset(7, STREAM_CLOSED))


@case("9113 5.1.1", "the highest identifier")
def _(c):
    c.request((1 << 31) - 1)
    return Answered((1 << 31) - 1)


@case("9113 5.1.2", "more streams than SETTINGS_MAX_CONCURRENT_STREAMS")
def _(c):
    most = c.settings.get(MAX_CONCURRENT_STREAMS)
    if not most or most > 10_000:
        raise NotImplementedError("this target has no limit of streams")
    for number in range(most + 1):
        c.open(2 * number + 1)
    return Reset(2 * most + 1, REFUSED_STREAM, PROTOCOL_ERROR)


@case("9113 5.1.2", "a closed stream makes room for another one")
def _(c):
    most = c.settings.get(MAX_CONCURRENT_STREAMS)
    if not most or most > 10_000:
        raise NotImplementedError("this target has no limit of streams")
    for number in range(most):
        c.open(2 * number + 1)
    c.reset(1)
    c.ping(b"reset me")
    c.request(2 * most + 1)
    return Answered(2 * most + 1)


# Priority. RFC 9113 deprecates priorities, but servers must accept the frames.

for _name, _payload in [("of weight 1", b"\0\0\0\0\0"), ("of weight 256", b"\0\0\0\0\xff"), ("on a stream", b"\0\0\0\3\x10"), ("on a stream alone", b"\x80\0\0\3\x10")]:
    @case("9113 5.3", f"PRIORITY {_name}")
    def _(c, payload=_payload):
        c.send_frame(PRIORITY, 0, 1, payload)
        c.request()
        return Answered()


@case("9113 5.3", "HEADERS with priority")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | HAS_PRIORITY, 1, b"\0\0\0\0\x10" + c.block())
    c.finish()
    return Answered()


@case("9113 5.3", "HEADERS of a lower stream after PRIORITY of a higher one")
def _(c):
    c.send_frame(PRIORITY, 0, 9, b"\0\0\0\0\x10")
    c.request()
    return Answered()


@case("9113 5.3", "HEADERS that depend on their own stream")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | HAS_PRIORITY, 1, b"\0\0\0\1\x10" + c.block())
    c.finish()
    return OneOf(Answered(), Reset(1, PROTOCOL_ERROR), Goaway(PROTOCOL_ERROR))  # an error only in RFC 7540


@case("9113 5.3", "PRIORITY that depends on its own stream")
def _(c):
    c.send_frame(PRIORITY, 0, 101, SELF)
    return OneOf(Alive(103), Goaway(PROTOCOL_ERROR), Reset(101, PROTOCOL_ERROR))  # an error only in RFC 7540


# Errors.

@case("9113 5.4.1", "a connection error names the last processed stream")
def _(c):
    c.answered()
    c.send_frame(PING, 0, 0, bytes(7))
    fault = Goaway(FRAME_SIZE_ERROR).check(c)
    return Holds(fault is None and c.goaway[0] == 1, "GOAWAY FRAME_SIZE_ERROR with last stream 1")


@case("9113 5.4.1", "requests after a connection error are not processed")
def _(c):
    c.send(frame(PING, 0, 0, bytes(7)) + frame(HEADERS, END_HEADERS, 1, c.block()) + frame(DATA, END_STREAM, 1, c.MESSAGE))
    fault = Goaway(FRAME_SIZE_ERROR).check(c)
    return Holds(fault is None and not c.stream(1).blocks, "GOAWAY, and no answer")


@case("9113 5.4.2", "a stream error does not affect other streams")
def _(c):
    c.open(1)
    c.request(3, x_bad=None, connection="close")
    c.finish(1)
    return Answered(1)


@case("9113 5.4.2", "RST_STREAM is not answered with RST_STREAM")
def _(c):
    c.open()
    c.reset(1)
    c.ping(b"was it ?")
    return Holds(c.stream(1).reset is None and not c.closed, "no RST_STREAM comes back")


@case("9113 5.5", "an unknown frame inside a header block")
def _(c):
    c.send_frame(HEADERS, 0, 1, c.block())
    c.send_frame(0xF0, 0, 0, b"whatever")
    return Goaway(PROTOCOL_ERROR)


@case("9113 5.5", "many unknown frames between others")
def _(c):
    c.open()
    for kind in range(0x0B, 0x30):
        c.send_frame(kind, kind, 1, bytes(kind))
    c.finish()
    return Answered()


@case("9113 7", "GOAWAY with an unknown code")
def _(c):
    c.send_frame(GOAWAY, 0, 0, bytes(4) + b"\0\0\0\xff")
    return Holds(c.ping() or c.goaway is None or c.goaway[1] == NO_ERROR, "no error follows")


@case("9113 7", "RST_STREAM with an unknown code")
def _(c):
    c.open()
    c.reset(1, 0xFF)
    return Alive()
