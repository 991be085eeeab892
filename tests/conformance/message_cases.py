# SPDX-License-Identifier: Apache-2.0
"""Cases of RFC 9113, section 8: requests in HTTP/2."""

from case import *

GET = {"__method": "GET", "content_type": None, "te": None}
ANY = ("200", "404", "405", "415", "401")


def ends(c, **others):
    """Sends a request without a body."""
    c.headers(1, c.fields(**others), END_HEADERS | END_STREAM)


# Section 8.1: the sequence of frames.

@case("9113 8.1", "GET")
def _(c):
    ends(c, **GET)
    return Answered(1, ANY)


@case("9113 8.1", "GET with an empty DATA at its end")
def _(c):
    c.headers(1, c.fields(**GET))
    c.data(1, b"", True)
    return Answered(1, ANY)


@case("9113 8.1", "HEAD has no body")
def _(c):
    ends(c, **GET | {"__method": "HEAD"})
    c.wait(lambda: c.stream(1).closed)
    return Holds(c.stream(1).ended and not c.stream(1).data, "an answer without body")


@case("9113 8.1", "POST")
def _(c):
    c.request()
    return Answered()


@case("9113 8.1", "an unknown method")
def _(c):
    ends(c, **GET | {"__method": "BREW"})
    return OneOf(Answered(1, (*ANY, "501", "400")))


@case("9113 8.1", "a request with trailers")
def _(c):
    c.open()
    c.data(1, c.MESSAGE)
    c.headers(1, [("x-trailer", "1")], END_HEADERS | END_STREAM)
    return Answered()


@case("9113 8.1", "trailers without END_STREAM")
def _(c):
    c.open()
    c.data(1, c.MESSAGE)
    c.headers(1, [("x-trailer", "1")])
    return Malformed()


@case("9113 8.1", "DATA after trailers")
def _(c):
    c.open(path=c.WATCH)  # the answer stays open; the server ignores frames for a closed stream
    c.data(1, c.MESSAGE)
    c.headers(1, [("x-trailer", "1")], END_HEADERS | END_STREAM)
    c.data(1, c.MESSAGE)
    return OneOf(Reset(1, STREAM_CLOSED), Goaway(STREAM_CLOSED))


@case("9113 8.1", "a pseudo-header in the trailers")
def _(c):
    c.open()
    c.data(1, c.MESSAGE)
    c.headers(1, [(":method", "POST")], END_HEADERS | END_STREAM)
    return Malformed()


@case("9113 8.1", "100 requests on one connection")
def _(c):
    for stream in range(1, 201, 2):
        c.request(stream)
    c.wait(lambda: all(c.stream(number).closed for number in range(1, 201, 2)), 20)
    return Holds(all(c.stream(number).status == "200" for number in range(1, 201, 2)), "all are answered")


@case("9113 8.1", "alternating frames of ten request bodies")
def _(c):
    for stream in range(1, 21, 2):
        c.open(stream)
    for at in range(5):
        for stream in range(1, 21, 2):
            c.data(stream, c.MESSAGE[at:at + 1], at == 4)
    c.wait(lambda: all(c.stream(number).closed for number in range(1, 21, 2)), 20)
    return Holds(all(c.stream(number).status == "200" for number in range(1, 21, 2)), "all are answered")


# 8.2: fields.

for _name, _field in [
        ("with an upper-case letter", ("X-Test", "1")), ("that is empty", ("", "1")), ("with a space", ("x test", "1")), ("with a colon", ("x:test", "1")),
        ("with a NUL", ("x\0test", "1")), ("with a line feed", ("x\ntest", "1")), ("with a carriage return", ("x\rtest", "1")), ("with a byte above 0x7e", ("x\x7ftest", "1")),
        ("with a byte of 0x80", (b"x\x80test", "1"))]:
    @case("9113 8.2.1", f"a name {_name}")
    def _(c, field=_field):
        c.whole(c.block() + literal(*field))
        return Malformed()


for _name, _value in [("with a NUL", "a\0b"), ("with a line feed", "a\nb"), ("with a carriage return", "a\rb"), ("that begins with a space", " a"),
                      ("that ends with a space", "a "), ("that begins with a tab", "\ta"), ("that ends with a tab", "a\t")]:
    @case("9113 8.2.1", f"a value {_name}")
    def _(c, value=_value):
        c.whole(c.block() + literal("x-test", value))
        return Malformed()


@case("9113 8.2.1", "a value that is empty")
def _(c):
    c.request(x_test="")
    return Answered()


@case("9113 8.2.1", "a value with a tab and spaces inside")
def _(c):
    c.request(x_test="a \t b")
    return Answered()


@case("9113 8.2.1", "an upper-case letter in the trailers")
def _(c):
    c.open()
    c.data(1, c.MESSAGE)
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 1, literal("X-Trailer", "1"))
    return Malformed()


for _name, _value in [("connection", "keep-alive"), ("keep-alive", "timeout=5"), ("proxy-connection", "keep-alive"), ("transfer-encoding", "chunked"), ("upgrade", "h2c")]:
    @case("9113 8.2.2", f"{_name} is not allowed in HTTP/2")
    def _(c, field=(_name, _value)):
        c.request(extra=[field])
        return Malformed()


for _value in ("gzip", "trailers, deflate", ""):
    @case("9113 8.2.2", f"te: {_value!r}")
    def _(c, value=_value):
        c.request(te=value)
        return Malformed()


@case("9113 8.2.2", "te: trailers")
def _(c):
    c.request(te="trailers")
    return Answered()


@case("9113 8.2.3", "cookies in several fields")
def _(c):
    c.request(extra=[("cookie", "a=b"), ("cookie", "c=d"), ("cookie", "e=f")])
    return Answered()


# 8.3: pseudo-headers.

for _name in (":method", ":scheme", ":path"):
    @case("9113 8.3.1", f"{_name} is missing")
    def _(c, name=_name):
        c.whole(c.block(name))
        return Malformed()

for _name, _value in [(":method", "POST"), (":scheme", "http"), (":path", Connection.PATH), (":authority", "localhost")]:
    @case("9113 8.3.1", f"{_name} twice")
    def _(c, name=_name, value=_value):
        c.whole(literal(name, value) + c.block())
        return Malformed()

for _name, _field in [("unknown", (":test", "1")), ("of an answer", (":status", "200")), ("with an upper-case letter", (":Method", "POST")),
                      (":protocol, which was not offered", (":protocol", "websocket"))]:
    @case("9113 8.3", f"a pseudo-header that is {_name}")
    def _(c, field=_field):
        c.whole(literal(*field) + c.block())
        return Malformed()


@case("9113 8.3", "a pseudo-header after another field")
def _(c):
    c.whole(literal("x-test", "1") + c.block())
    return Malformed()


@case("9113 8.3", "one pseudo-header after another field")
def _(c):
    c.whole(c.block(":path") + literal(":path", c.PATH))
    return Malformed()


for _name, _path in [("empty", ""), ("without a slash", "grpc.health.v1.Health/Check"), ("an asterisk of another method than OPTIONS", "*"),
                     ("with a space", "/a b"), ("with a NUL", "/a\0b"), ("with a line feed", "/a\nb")]:
    @case("9113 8.3.1", f":path is {_name}")
    def _(c, path=_path):
        c.whole(c.block(":path")[:0] + b"".join(literal(n, v) for n, v in
                [(":method", "POST"), (":scheme", "http"), (":authority", "localhost"), (":path", path), ("content-type", "application/grpc"), ("te", "trailers")]))
        return Malformed()


@case("9113 8.3.1", ":path is an asterisk for OPTIONS")
def _(c):
    c.headers(1, c.fields(path="*", __method="OPTIONS", te=None, content_type=None), END_HEADERS | END_STREAM)
    return OneOf(Answered(1, (*ANY, "204", "400", "501")))


@case("9113 8.3.1", "neither :authority nor host")
def _(c):
    c.request(__authority=None)
    return OneOf(Answered(), Malformed())


@case("9113 8.3.1", "host in the place of :authority")
def _(c):
    c.request(__authority=None, host="localhost")
    return Answered()


@case("9113 8.3.1", ":authority and the same host")
def _(c):
    c.request(host="localhost")
    return Answered()


for _name, _authority in [("with a NUL", "local\0host"), ("with a space", "local host"), ("with a line feed", "local\nhost"), ("with a slash", "local/host")]:
    @case("9113 8.3.1", f":authority {_name}")
    def _(c, authority=_authority):
        c.whole(c.block(__authority=authority))
        return Malformed()


for _name, _method in [("that is empty", ""), ("with a space", "GE T"), ("with a line feed", "GET\n")]:
    @case("9113 8.3.1", f":method {_name}")
    def _(c, method=_method):
        c.whole(c.block(__method=method) if method else literal(":method", "") + c.block(":method"))
        return Malformed()


@case("9113 8.3.1", ":scheme of another kind")
def _(c):
    c.request(__scheme="foo")
    return OneOf(Answered(), Malformed())


@case("9113 8.5", "CONNECT with :path and :scheme")
def _(c):
    ends(c, **GET | {"__method": "CONNECT"})
    return Malformed()


@case("9113 8.5", "CONNECT without :authority")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 1, literal(":method", "CONNECT"))
    return Malformed()


@case("9113 8.5", "CONNECT is refused")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 1, literal(":method", "CONNECT") + literal(":authority", "localhost:80"))
    return OneOf(Answered(1, ("404", "405", "501", "400")), Reset(1, PROTOCOL_ERROR, CONNECT_ERROR, REFUSED_STREAM, CANCEL))


# 8.1.1: lengths.

for _name, _length in [("larger than the body", "9"), ("smaller than the body", "1"), ("of zero", "0"), ("negative", "-5"), ("no number", "five"),
                       ("with a sign", "+5"), ("two numbers", "5, 5"), ("beyond 64 bits", "18446744073709551621"), ("empty", "")]:
    @case("9113 8.1.1", f"content-length {_name}")
    def _(c, length=_length):
        c.request(content_length=length)
        return Malformed()


@case("9113 8.1.1", "correct content-length")
def _(c):
    c.request(content_length="5")
    return Answered()


@case("9113 8.1.1", "content-length of several DATA is not their sum")
def _(c):
    c.open(content_length="4")
    for byte in c.MESSAGE:
        c.data(1, bytes([byte]))
    c.data(1, b"", True)
    return Malformed()


@case("9113 8.1.1", "content-length twice, different")
def _(c):
    c.request(extra=[("content-length", "5"), ("content-length", "6")])
    return Malformed()


@case("9113 8.1.1", "content-length without a body")
def _(c):
    ends(c, content_length="5")
    return Malformed()


@case("9113 8.1.1", "padding does not count for content-length")
def _(c):
    c.open(content_length="5")
    c.send_frame(DATA, END_STREAM | PADDED, 1, bytes([10]) + c.MESSAGE + bytes(10))
    return Answered()


@case("9113 10.5.1", "a header list above the announced limit is refused, and the connection stays open")
def _(c):
    most = c.settings.get(MAX_HEADER_LIST_SIZE, 65536)
    if most > 1 << 20:
        raise NotImplementedError("this target has no limit of header lists")
    c.open(1)
    block = c.block() + b"".join(literal("x-test", "y" * 500) for _ in range(most // 500 + 4))
    pieces = [block[at:at + 16384] for at in range(0, len(block), 16384)]
    c.send_frame(HEADERS, 0 if len(pieces) > 1 else END_HEADERS, 3, pieces[0])
    for number, piece in enumerate(pieces[1:], 2):
        c.send_frame(CONTINUATION, END_HEADERS if number == len(pieces) else 0, 3, piece)
    c.data(3, c.MESSAGE, True)
    c.wait(lambda: c.stream(3).closed)
    refused = c.stream(3).reset is not None or c.stream(3).status == "431" or any(dict(each).get("grpc-status") == "8" for each in c.stream(3).blocks)
    if not refused:
        return Holds(False, "it is refused")
    c.finish(1)
    return Answered(1)
