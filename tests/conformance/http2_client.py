# SPDX-License-Identifier: Apache-2.0
"""An HTTP/2 client that sends exactly the frames, header blocks or bytes that a test passes. hyperframe makes the
frames."""

import select
import socket
import time

import hpack
import hpack.huffman
import hpack.huffman_constants
from hyperframe.frame import Frame, PingFrame, SettingsFrame

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD = 9

# Frame types and flags (RFC 9113, section 6).
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
ACK = END_STREAM = 0x1
END_HEADERS, PADDED, HAS_PRIORITY = 0x4, 0x8, 0x20
# Settings (section 6.5.2).
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
# Error codes (section 7).
(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR,
 REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY, HTTP_1_1_REQUIRED) = range(14)
CODES = ("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
         "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
         "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED")


def code_name(code):
    return CODES[code] if code < len(CODES) else f"code {code:#x}"


def frame(kind, flags, stream, payload=b""):
    """Returns the bytes of a frame. The frame may be invalid."""
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload)


def settings(*pairs):
    """Returns the payload of a SETTINGS frame. Keeps the order of the settings."""
    return b"".join(number.to_bytes(2, "big") + value.to_bytes(4, "big") for number, value in pairs)


def connect(address, timeout=10):
    """Connects to "host:port" or "unix:///path"."""
    if address.startswith("unix:"):
        taken = socket.socket(socket.AF_UNIX)
        taken.settimeout(timeout)
        taken.connect(address.removeprefix("unix:").removeprefix("//"))
        return taken
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), timeout)


class Stream:
    """The part of a stream that the server has sent."""

    def __init__(self):
        self.blocks = []  # header blocks, decoded: lists of (name, value)
        self.ended_with_headers = False
        self.data = b""
        self.frames = []  # lengths of DATA frames
        self.ended = False
        self.reset = None  # error code of RST_STREAM

    @property
    def closed(self):
        return self.ended or self.reset is not None

    @property
    def status(self):
        return dict(self.blocks[0]).get(":status") if self.blocks else None


class Http2Client:
    """One connection. Acknowledges SETTINGS and answers PING, and sends nothing else by itself. Not thread-safe."""

    def __init__(self, address, begin=True, own_settings=(), table_size=4096):
        self.socket = connect(address)
        if self.socket.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder(max_header_list_size=1 << 24)
        self.decoder.max_allowed_table_size = table_size
        self.streams = {}
        self.settings = {}
        self.frames = []  # (type, stream, flags) of received frames, in order
        self.pongs = []
        self.settings_acks = 0
        self.goaway = None  # (last stream, code, debug data)
        self.closed = False  # the server closed the connection
        self.was_reset = False  # the connection was closed by a TCP RST
        self.fault = None  # the server's first protocol violation
        self.text = b""  # received bytes if they are not HTTP/2
        self.acknowledges = True
        self.patience = 5  # maximum wait of wait(), in seconds
        self.window = 65535  # send window of the connection
        self.windows = {}  # stream -> sum of WINDOW_UPDATE increments, minus bytes sent
        self._unsent = bytearray()
        self._received = b""
        self._block = None
        self._is_http2 = None
        if begin:
            self.send(PREFACE + frame(SETTINGS, 0, 0, settings(*own_settings)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def stream(self, number):
        return self.streams.setdefault(number, Stream())

    # Methods that send. They do nothing if the server has closed the connection.

    def send(self, data):
        self._unsent += data
        end = time.monotonic() + 30
        while self._unsent and not self.closed and time.monotonic() < end:
            readable, writable, _ = select.select([self.socket], [self.socket], [], 1)
            if writable:
                try:
                    del self._unsent[:self.socket.send(self._unsent[:65536])]
                except OSError:
                    self._drain()
            if readable and not self.closed:
                self._receive()

    def _drain(self):
        """Reads the remaining bytes of a connection to which the client can no longer write."""
        end = time.monotonic() + 2
        while not self.closed and time.monotonic() < end:
            self._receive()

    def send_frame(self, kind, flags, stream, payload=b""):
        self.send(frame(kind, flags, stream, payload))

    def headers(self, stream, fields, flags=END_HEADERS):
        self.send_frame(HEADERS, flags, stream, self.encoder.encode(fields))

    def data(self, stream, payload, end=False):
        """Sends one DATA frame, ignoring flow control."""
        self.window -= len(payload)
        self.windows[stream] = self.windows.get(stream, 0) - len(payload)
        self.send_frame(DATA, END_STREAM if end else 0, stream, payload)

    def body(self, stream, payload, end=True, patience=10):
        """Sends a body in DATA frames, obeying flow control. Returns True if the whole body was sent."""
        view = memoryview(payload)
        while view:
            room = min(self.window, self.settings.get(INITIAL_WINDOW_SIZE, 65535) + self.windows.get(stream, 0), 16384)
            if room > 0:
                self.data(stream, bytes(view[:room]), end and len(view) <= room)
                view = view[room:]
                self.poll(0)
            elif not self.poll(patience):
                return False
            if self.closed or self.stream(stream).closed:
                return not view
        if not len(payload) and end:
            self.data(stream, b"", True)
        return True

    def reset(self, stream, code=CANCEL):
        self.send_frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))

    def window_update(self, stream, increment):
        self.send_frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))

    # Methods that receive.

    def poll(self, seconds):
        """Reads once. Returns False if nothing arrives in time or the connection is closed."""
        if self.closed or not select.select([self.socket], [], [], seconds)[0]:
            return False
        self._receive()
        self.send(b"")  # sends the pending acknowledgements
        return True

    def wait(self, until, seconds=None):
        """Reads until `until()` is true or the time is over. Returns True if `until()` is true."""
        end = time.monotonic() + (self.patience if seconds is None else seconds)
        while not until():
            left = end - time.monotonic()
            if self.closed or left <= 0:
                return until()
            self.poll(left)
        return True

    def ping(self, payload=b"are you?", seconds=5):
        """Returns True if the server answers a PING."""
        before = self.pongs.count(payload)
        self.send(PingFrame(0, payload).serialize())
        return self.wait(lambda: self.pongs.count(payload) > before, seconds)

    def _receive(self):
        try:
            come = self.socket.recv(1 << 16)
        except (TimeoutError, BlockingIOError):
            return
        except OSError:
            self.closed = self.was_reset = True
            return
        if not come:
            self.closed = True
            return
        self._received += come
        if self._is_http2 is None and len(self._received) >= FRAME_HEAD:
            self._is_http2 = self._received[3] == SETTINGS  # the server's preface
        if not self._is_http2:
            self.text = self._received
            return
        while len(self._received) >= FRAME_HEAD:
            length = int.from_bytes(self._received[:3], "big")
            if len(self._received) < FRAME_HEAD + length:
                return
            head, payload = self._received[:FRAME_HEAD], self._received[FRAME_HEAD:FRAME_HEAD + length]
            self._received = self._received[FRAME_HEAD + length:]
            try:
                parsed, _ = Frame.parse_frame_header(memoryview(head))
                parsed.parse_body(memoryview(payload))
                self._take(parsed, head[4])
            except Exception as fault:  # hyperframe and hpack raise exceptions of their own types
                self.fault = self.fault or f"{type(fault).__name__}: {fault} in frame {head.hex()}{payload[:64].hex()}"

    def _take(self, came, flags):
        number = came.stream_id
        self.frames.append((came.type, number, flags))
        if self._block is not None and came.type != CONTINUATION:
            self.fault = self.fault or "a frame between HEADERS and CONTINUATION"
        if came.type == SETTINGS:
            if "ACK" in came.flags:
                self.settings_acks += 1
                return
            self.settings.update(came.settings)
            if HEADER_TABLE_SIZE in came.settings:
                self.encoder.header_table_size = min(4096, came.settings[HEADER_TABLE_SIZE])
            if self.acknowledges:
                self._unsent += SettingsFrame(0, flags=["ACK"]).serialize()
        elif came.type == PING:
            if "ACK" in came.flags:
                self.pongs.append(bytes(came.opaque_data))
            elif self.acknowledges:
                self._unsent += PingFrame(0, bytes(came.opaque_data), flags=["ACK"]).serialize()
        elif came.type == GOAWAY:
            self.goaway = (came.last_stream_id, came.error_code, bytes(came.additional_data))
        elif came.type == WINDOW_UPDATE:
            if number == 0:
                self.window += came.window_increment
            else:
                self.windows[number] = self.windows.get(number, 0) + came.window_increment
        elif came.type == RST_STREAM:
            self.stream(number).reset = came.error_code
        elif came.type == DATA:
            self.stream(number).data += bytes(came.data)
            self.stream(number).frames.append(len(came.data))
            if "END_STREAM" in came.flags:
                self.stream(number).ended = True
        elif came.type in (HEADERS, CONTINUATION):
            if came.type == HEADERS:
                self._block = [number, b"", "END_STREAM" in came.flags]
            self._block[1] += bytes(came.data)
            if "END_HEADERS" in came.flags:
                number, block, ends = self._block
                self._block = None
                self.stream(number).blocks.append([(name.decode("latin-1"), value.decode("latin-1")) for name, value in self.decoder.decode(block, raw=True)])
                if ends:
                    self.stream(number).ended = self.stream(number).ended_with_headers = True


_huffman = hpack.huffman.HuffmanEncoder(hpack.huffman_constants.REQUEST_CODES, hpack.huffman_constants.REQUEST_CODES_LENGTH)


def integer(value, prefix, first=0):
    """Encodes an HPACK integer (RFC 7541, section 5.1) with a prefix of `prefix` bits. `first` has the other bits of the first byte."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes([first | value])
    made = [first | most]
    value -= most
    while value >= 128:
        made.append(value % 128 | 128)
        value //= 128
    return bytes([*made, value])


def string(text, huffman=False):
    raw = text if isinstance(text, bytes) else text.encode()
    if huffman:
        coded = _huffman.encode(raw)
        return integer(len(coded), 7, 0x80) + coded
    return integer(len(raw), 7) + raw


def indexed(index):
    return integer(index, 7, 0x80)


# Kinds of literal fields: upper bits, and number of prefix bits.
INCREMENTAL, WITHOUT, NEVER = (0x40, 6), (0x00, 4), (0x10, 4)


def literal(name, value, kind=WITHOUT, huffman=False):
    """Returns a literal field. `name` is text or an index."""
    first, prefix = kind
    if isinstance(name, int):
        return integer(name, prefix, first) + string(value, huffman)
    return bytes([first]) + string(name, huffman) + string(value, huffman)


def size_update(size):
    return integer(size, 5, 0x20)
