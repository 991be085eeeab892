# SPDX-License-Identifier: Apache-2.0
"""Cases of RFC 9113, section 6: each type of frame except WINDOW_UPDATE."""

from case import *

MOST = (1 << 31) - 1  # largest window and stream identifier


# DATA

@case("9113 6.1", "DATA on stream 0")
def _(c):
    c.data(0, b"test")
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.1", "DATA with padding")
def _(c):
    c.open()
    c.send_frame(DATA, END_STREAM | PADDED, 1, bytes([100]) + c.MESSAGE + bytes(100))
    return Answered()


@case("9113 6.1", "DATA in several frames, empty ones between them")
def _(c):
    c.open()
    for byte in c.MESSAGE:
        c.data(1, bytes([byte]))
        c.data(1, b"")
    c.data(1, b"", True)
    return Answered()


for _name, _payload in [("as long as the payload", b"\x05abcd"), ("longer than the payload", b"\xffabcd"), ("of a frame without it", b"")]:
    @case("9113 6.1", f"the pad length of DATA is {_name}")
    def _(c, payload=_payload):
        c.open()
        c.send_frame(DATA, END_STREAM | PADDED, 1, payload)
        return Goaway(PROTOCOL_ERROR, *([FRAME_SIZE_ERROR] if not payload else []))


@case("9113 6.1", "padding uses the window, and the server returns it")
def _(c):
    c.open()
    room = c.settings.get(INITIAL_WINDOW_SIZE, 65535)
    # Each frame has a byte of the body, because the server treats many frames with only padding as an attack. An unknown field makes the
    # message long enough to fill the window twice.
    size = 2 * room // 257 + 2
    message = b"\x7a" + bytes([size % 128 + 128, size // 128 % 128 + 128, size // 16384]) + bytes(size)
    body = b"\0" + len(message).to_bytes(4, "big") + message
    for at, byte in enumerate(body):
        if min(c.window, room + c.windows.get(1, 0)) < 257 and not c.wait(lambda: min(c.window, room + c.windows.get(1, 0)) >= 257):
            return Holds(False, f"the window is opened again after {at} bytes with padding")
        c.send_frame(DATA, PADDED | (END_STREAM if at + 1 == len(body) else 0), 1, bytes([255, byte]) + bytes(255))
        c.window -= 257
        c.windows[1] = c.windows.get(1, 0) - 257
    return Answered()


# HEADERS

@case("9113 6.2", "HEADERS on stream 0")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 0, c.block())
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.2", "HEADERS with padding")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | PADDED, 1, b"\x20" + c.block() + bytes(32))
    c.finish()
    return Answered()


@case("9113 6.2", "HEADERS with padding and priority")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | PADDED | HAS_PRIORITY, 1, b"\x20\0\0\0\0\x10" + c.block() + bytes(32))
    c.finish()
    return Answered()


@case("9113 6.2", "the pad length of HEADERS is longer than the payload")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | PADDED, 1, b"\xff" + c.block())
    return Goaway(PROTOCOL_ERROR)


for _name, _flags, _payload in [("padding", PADDED, b""), ("priority", HAS_PRIORITY, b"\0\0\0\0"), ("padding and priority", PADDED | HAS_PRIORITY, b"\0\0\0")]:
    @case("9113 6.2", f"HEADERS that is too short for {_name}")
    def _(c, flags=_flags, payload=_payload):
        c.send_frame(HEADERS, END_HEADERS | flags, 1, payload)
        return Goaway(FRAME_SIZE_ERROR, PROTOCOL_ERROR)


# PRIORITY

@case("9113 6.3", "PRIORITY on stream 0")
def _(c):
    c.send_frame(PRIORITY, 0, 0, b"\0\0\0\0\x10")
    return Goaway(PROTOCOL_ERROR)


for _length in (0, 4, 6):
    @case("9113 6.3", f"PRIORITY of {_length} bytes")
    def _(c, length=_length):
        c.open()
        c.send_frame(PRIORITY, 0, 1, bytes(length))
        return Reset(1, FRAME_SIZE_ERROR)


# RST_STREAM

@case("9113 6.4", "RST_STREAM on stream 0")
def _(c):
    c.reset(0)
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.4", "RST_STREAM of a stream of the server")
def _(c):
    c.reset(2)
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.4", "RST_STREAM ends a request")
def _(c):
    c.open()
    c.reset(1)
    c.ping(b"no more?")
    return Holds(not c.stream(1).blocks and not c.closed, "no answer comes")


# SETTINGS

@case("9113 6.5", "SETTINGS on a stream")
def _(c):
    c.send_frame(SETTINGS, 0, 1)
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.5", "an acknowledgement with a payload")
def _(c):
    c.send_frame(SETTINGS, ACK, 0, settings((HEADER_TABLE_SIZE, 0)))
    return Goaway(FRAME_SIZE_ERROR)


@case("9113 6.5", "an unexpected acknowledgement")
def _(c):
    c.send_frame(SETTINGS, ACK, 0)
    return OneOf(Alive(), Goaway(PROTOCOL_ERROR))


@case("9113 6.5", "empty SETTINGS")
def _(c):
    c.send_frame(SETTINGS, 0, 0)
    return Alive()


for _name, _number, _value, _code in [("ENABLE_PUSH is 2", ENABLE_PUSH, 2, PROTOCOL_ERROR), ("ENABLE_PUSH is the most", ENABLE_PUSH, 0xFFFFFFFF, PROTOCOL_ERROR),
                                      ("INITIAL_WINDOW_SIZE is 2^31", INITIAL_WINDOW_SIZE, 1 << 31, FLOW_CONTROL_ERROR),
                                      ("INITIAL_WINDOW_SIZE is the most", INITIAL_WINDOW_SIZE, 0xFFFFFFFF, FLOW_CONTROL_ERROR),
                                      ("MAX_FRAME_SIZE is 16,383", MAX_FRAME_SIZE, 16383, PROTOCOL_ERROR), ("MAX_FRAME_SIZE is 0", MAX_FRAME_SIZE, 0, PROTOCOL_ERROR),
                                      ("MAX_FRAME_SIZE is 2^24", MAX_FRAME_SIZE, 1 << 24, PROTOCOL_ERROR), ("ENABLE_CONNECT_PROTOCOL is 2", 8, 2, PROTOCOL_ERROR)]:
    @case("9113 6.5.2", _name)
    def _(c, pair=(_number, _value), code=_code):
        c.send_frame(SETTINGS, 0, 0, settings(pair))
        return OneOf(Goaway(code), Alive()) if pair[0] == 8 else Goaway(code)  # RFC 8441's setting is optional


for _name, _number, _value in [("HEADER_TABLE_SIZE is 0", HEADER_TABLE_SIZE, 0), ("HEADER_TABLE_SIZE is the most", HEADER_TABLE_SIZE, 0xFFFFFFFF),
                               ("ENABLE_PUSH is 0", ENABLE_PUSH, 0), ("MAX_CONCURRENT_STREAMS is 0", MAX_CONCURRENT_STREAMS, 0),
                               ("INITIAL_WINDOW_SIZE is 2^31-1", INITIAL_WINDOW_SIZE, MOST), ("MAX_FRAME_SIZE is 16,384", MAX_FRAME_SIZE, 16384),
                               ("MAX_FRAME_SIZE is 2^24-1", MAX_FRAME_SIZE, (1 << 24) - 1), ("MAX_HEADER_LIST_SIZE is the most", MAX_HEADER_LIST_SIZE, 0xFFFFFFFF),
                               ("an unknown setting", 0xFEFE, 0xFFFFFFFF)]:
    @case("9113 6.5.2", f"{_name} is accepted")
    def _(c, pair=(_number, _value)):
        acks = c.settings_acks
        c.send_frame(SETTINGS, 0, 0, settings(pair))
        if not c.wait(lambda: c.settings_acks > acks):
            return Holds(False, "SETTINGS is acknowledged")
        return Alive()


@case("9113 6.5.3", "SETTINGS is acknowledged")
def _(c):
    before = c.settings_acks
    c.send_frame(SETTINGS, 0, 0, settings((MAX_CONCURRENT_STREAMS, 100)))
    return Holds(c.wait(lambda: c.settings_acks == before + 1), "an acknowledgement comes")


@case("9113 6.5.3", "each SETTINGS is acknowledged")
def _(c):
    before = c.settings_acks
    for value in range(10):
        c.send_frame(SETTINGS, 0, 0, settings((MAX_CONCURRENT_STREAMS, value)))
    c.ping(b"all come")
    return Holds(c.settings_acks == before + 10, "ten acknowledgements come")


@case("9113 6.5.3", "the last of several values of a setting counts")
def _(c):
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)))
    c.request()
    c.wait(lambda: c.stream(1).frames)
    c.ping(b"no more?")
    return Holds(c.stream(1).frames == [1], "DATA of one byte comes")


@case("9113 6.5.3", "values are applied in order: an invalid value after a valid one")
def _(c):
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1 << 31), (INITIAL_WINDOW_SIZE, 100)))
    return Goaway(FLOW_CONTROL_ERROR)


# PUSH_PROMISE

@case("9113 6.6", "PUSH_PROMISE from a client")
def _(c):
    c.open()
    c.send_frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2" + c.block())
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.6", "PUSH_PROMISE on stream 0")
def _(c):
    c.send_frame(PUSH_PROMISE, END_HEADERS, 0, b"\0\0\0\2" + c.block())
    return Goaway(PROTOCOL_ERROR)


# PING

@case("9113 6.7", "PING is answered with its payload")
def _(c):
    return Holds(c.ping(b"\x00\x01\xfe\xff\x7f\x80\x55\xaa"), "the same payload comes back")


@case("9113 6.7", "PINGs are answered in their order")
def _(c):
    sent = [bytes([number]) * 8 for number in range(2)]  # a server that limits PINGs may reject more than two
    for payload in sent:
        c.send_frame(PING, 0, 0, payload)
    c.wait(lambda: len(c.pongs) == len(sent))
    return Holds(c.pongs == sent, "both answers in their order")


@case("9113 6.7", "an answer to a PING is not answered")
def _(c):
    c.send_frame(PING, ACK, 0, b"untaught")
    c.ping(b"just now")
    return Holds(c.pongs == [b"just now"], "one answer alone")


@case("9113 6.7", "PING on a stream")
def _(c):
    c.open()
    c.send_frame(PING, 0, 1, bytes(8))
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.7", "PING while a request is open")
def _(c):
    c.open()
    if not c.ping():
        return Holds(False, "PING is answered")
    c.finish()
    return Answered()


# GOAWAY

@case("9113 6.8", "GOAWAY on a stream")
def _(c):
    c.open()
    c.send_frame(GOAWAY, 0, 1, bytes(8))
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.8", "open requests are answered after the client's GOAWAY")
def _(c):
    c.open()
    c.send_frame(GOAWAY, 0, 0, bytes(8) + b"goodbye")
    c.finish()
    c.wait(lambda: c.stream(1).closed)
    return Holds(c.stream(1).ended and c.stream(1).status == "200", "the request is answered")


@case("9113 6.8", "GOAWAY twice, the second with a lower stream")
def _(c):
    c.open()
    c.send_frame(GOAWAY, 0, 0, (MOST - 1).to_bytes(4, "big") + bytes(4))
    c.send_frame(GOAWAY, 0, 0, bytes(8))
    c.finish()
    c.wait(lambda: c.stream(1).closed)
    return Holds(c.stream(1).ended and c.stream(1).status == "200", "the request is answered")


# CONTINUATION

for _count in (1, 3, 7):
    @case("9113 6.10", f"a header block in {_count} CONTINUATION frames")
    def _(c, count=_count):
        block = c.block()
        step = len(block) // (count + 1) + 1
        pieces = [block[at:at + step] for at in range(0, len(block), step)]
        c.send_frame(HEADERS, 0, 1, pieces[0])
        for piece in pieces[1:-1]:
            c.send_frame(CONTINUATION, 0, 1, piece)
        c.send_frame(CONTINUATION, END_HEADERS, 1, pieces[-1])
        c.finish()
        return Answered()


@case("9113 6.10", "CONTINUATION frames that are empty")
def _(c):
    c.send_frame(HEADERS, 0, 1)
    c.send_frame(CONTINUATION, 0, 1)
    c.send_frame(CONTINUATION, 0, 1, c.block())
    c.send_frame(CONTINUATION, END_HEADERS, 1)
    c.finish()
    return Answered()


@case("9113 6.10", "END_STREAM of HEADERS counts where CONTINUATION follows")
def _(c):
    block = c.block(__method="GET", te=None, content_type=None)
    c.send_frame(HEADERS, END_STREAM, 1, block[:9])
    c.send_frame(CONTINUATION, END_HEADERS, 1, block[9:])
    return OneOf(Answered(1, ("200", "404", "405", "415")))


for _name, _kind in [("after HEADERS with END_HEADERS", "headers"), ("after CONTINUATION with END_HEADERS", "continuation"), ("after DATA", "data")]:
    @case("9113 6.10", f"CONTINUATION {_name}")
    def _(c, kind=_kind):
        if kind == "continuation":
            c.send_frame(HEADERS, 0, 1, c.block())
            c.send_frame(CONTINUATION, END_HEADERS, 1)
        else:
            c.open()
        if kind == "data":
            c.data(1, b"\0")
        c.send_frame(CONTINUATION, END_HEADERS, 1, b"\x82")
        return Goaway(PROTOCOL_ERROR)


@case("9113 6.10", "CONTINUATION on stream 0")
def _(c):
    c.send_frame(HEADERS, 0, 1, c.block())
    c.send_frame(CONTINUATION, END_HEADERS, 0)
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.10", "CONTINUATION without end")
def _(c):
    c.send_frame(HEADERS, 0, 1, c.block())
    for _ in range(200):
        c.send_frame(CONTINUATION, 0, 1, literal("x", "y"))
    return Closed()  # the attack of CVE-2024-28182; the header list is not too large
