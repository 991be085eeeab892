# SPDX-License-Identifier: Apache-2.0
"""Cases of RFC 9113, section 6.9: WINDOW_UPDATE and the windows of connection and stream."""

from case import *

MOST = (1 << 31) - 1  # largest window


@case("9113 6.9", "WINDOW_UPDATE of 0 on the connection")
def _(c):
    c.send_frame(WINDOW_UPDATE, 0, 0, bytes(4))
    return Goaway(PROTOCOL_ERROR)


@case("9113 6.9", "WINDOW_UPDATE of 0 on a stream")
def _(c):
    c.open()
    c.send_frame(WINDOW_UPDATE, 0, 1, bytes(4))
    return Reset(1, PROTOCOL_ERROR)


for _length in (0, 3, 5):
    @case("9113 6.9", f"WINDOW_UPDATE of {_length} bytes on a stream")
    def _(c, length=_length):
        c.open()
        c.send_frame(WINDOW_UPDATE, 0, 1, bytes(length))
        return Goaway(FRAME_SIZE_ERROR)


@case("9113 6.9", "the reserved bit of an increment is ignored")
def _(c):
    c.send_frame(WINDOW_UPDATE, 0, 0, (1 << 31 | 1).to_bytes(4, "big"))
    return Alive()


@case("9113 6.9.1", "the server does not exceed the window of a stream")
def _(c):
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 1)))
    c.request()
    c.wait(lambda: c.stream(1).frames)
    c.ping(b"no more?")
    if c.stream(1).frames != [1]:
        return Holds(False, "DATA of one byte comes")
    c.window_update(1, 1000)
    return Answered()


@case("9113 6.9.1", "with a window of 0 the server sends headers but no DATA")
def _(c):
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 0)))
    c.request()
    c.wait(lambda: c.stream(1).blocks)
    c.ping(b"no more?")
    if sum(c.stream(1).frames) or not c.stream(1).blocks:
        return Holds(False, "the head alone comes")
    c.window_update(1, 1000)
    return Answered()


@case("9113 6.9.1", "WINDOW_UPDATE one byte after the other")
def _(c):
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 0)))
    c.request()
    for _ in range(64):
        c.window_update(1, 1)
    return Answered()


@case("9113 6.9.1", "the window of the connection beyond 2^31-1")
def _(c):
    c.window_update(0, MOST)
    c.window_update(0, MOST)
    return Goaway(FLOW_CONTROL_ERROR)


@case("9113 6.9.1", "the window of a stream beyond 2^31-1")
def _(c):
    c.open()
    c.window_update(1, MOST)
    c.window_update(1, MOST)
    return Reset(1, FLOW_CONTROL_ERROR)


@case("9113 6.9.1", "the windows of connection and stream at 2^31-1")
def _(c):
    c.open()
    c.window_update(0, MOST - 65535)
    c.window_update(1, MOST - 65535)
    c.finish()
    return Answered()


@case("9113 6.9.1", "more DATA than the window of a stream", begins=False)
def _(c):
    # Sends empty messages on a stream and grants no window for the answers, so that the server stops reading.
    c.send(PREFACE + frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 0))))
    c.wait(lambda: c.settings)
    c.open(path="/vitrine.v1.Classifier/ClassifyStream")
    for _ in range(512):
        room = min(c.window, c.settings.get(INITIAL_WINDOW_SIZE, 65535) + c.windows.get(1, 0))
        if room <= 0 and not c.wait(lambda before=room: min(c.window, c.settings.get(INITIAL_WINDOW_SIZE, 65535) + c.windows.get(1, 0)) > before, 0.5):
            break
        c.data(1, bytes(min(max(room, 1), 16000)))
        c.poll(0)
        if c.stream(1).closed or c.closed:
            raise NotImplementedError("this target does not read streams")
    else:
        raise NotImplementedError("this target reads whatever comes")
    c.data(1, bytes(16000))
    return OneOf(Reset(1, FLOW_CONTROL_ERROR), Goaway(FLOW_CONTROL_ERROR))


@case("9113 6.9.1", "the connection's window is returned, also for a reset stream")
def _(c):
    for stream in range(1, 9, 2):
        c.open(stream)
        c.body(stream, b"\0\0\0\xff\xff" + bytes(1000), False)
        c.reset(stream)
        for _ in range(4):  # DATA that reaches the server after the reset
            if c.window < 16384 and not c.wait(lambda: c.window >= 16384):
                return Holds(False, "the window of the connection is opened again")
            c.data(stream, bytes(16384))
    return Alive()


@case("9113 6.9.1", "the connection's window is returned, also for an unread body")
def _(c):
    for stream in range(1, 41, 2):
        c.headers(stream, c.fields(path="/no.such.Service/Method"))
        body = b"\0" + (1 << 16).to_bytes(4, "big") + bytes(1 << 16)
        c.body(stream, body, True)
        if not c.wait(lambda: c.stream(stream).closed):
            return Holds(False, f"stream {stream} is refused")
    return Alive()


@case("9113 6.9.2", "INITIAL_WINDOW_SIZE changes streams that are open")
def _(c):
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 0)))
    c.request()
    c.wait(lambda: c.stream(1).blocks)
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 1)))
    c.wait(lambda: sum(c.stream(1).frames))
    c.ping(b"no more?")
    return Holds(sum(c.stream(1).frames) == 1, "one byte comes")


@case("9113 6.9.2", "a window may become negative")
def _(c):
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 3)))
    c.request()
    c.wait(lambda: sum(c.stream(1).frames) == 3)
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 1)))  # the window of stream 1 is now -2
    c.window_update(1, 2)  # the window of stream 1 is now 0
    c.ping(b"no more?")
    if sum(c.stream(1).frames) != 3:
        return Holds(False, "nothing comes at a window of 0")
    c.window_update(1, 1)
    c.wait(lambda: sum(c.stream(1).frames) > 3)
    c.ping(b"no more?")
    return Holds(sum(c.stream(1).frames) == 4, "one byte comes")


@case("9113 6.9.2", "INITIAL_WINDOW_SIZE makes a window of a stream beyond 2^31-1")
def _(c):
    c.open()
    c.window_update(1, MOST - 65535)
    c.send_frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 65536)))
    return Goaway(FLOW_CONTROL_ERROR)
