# SPDX-License-Identifier: Apache-2.0
"""Deviations of nghttp2 1.52 (Debian 12) with our settings from the RFCs: the case, the behaviour, and the reason. Most
are permitted, because in RFC 9113 any error may end the connection (5.4.1)."""

from case import *

_SIZE = "a frame of a wrong size ends the connection; the RFC asks for an error of the stream"

_FORGOTTEN = "closed streams are not remembered, so that floods of them take no memory: what comes for them is ignored"

DEVIATIONS = {
    "9113 5.1 closed by the client's reset: DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed by the client's reset: empty DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed by the client's reset: HEADERS": (Alive(), _FORGOTTEN),
    "9113 5.1 closed: DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed: empty DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed: HEADERS": (Alive(), _FORGOTTEN),
    "9113 8.1 DATA after trailers": (Alive(), _FORGOTTEN),
    "9113 4.2 CONTINUATION of more than 16,384 bytes":
        (Malformed(1), "the length of CONTINUATION is not compared with SETTINGS_MAX_FRAME_SIZE; the header list is bounded nevertheless"),
    "9113 5.1.1 the identifier of a new stream is lower than one before":
        (Alive(), "a stream that was left out counts as closed long ago, and its frames are ignored"),
    "9113 5.1.1 identifiers may be left out, and the left out are closed":
        (Alive(), "a stream that was left out counts as closed long ago, and its frames are ignored"),
    "9113 5.1.2 more streams than SETTINGS_MAX_CONCURRENT_STREAMS":
        (Goaway(PROTOCOL_ERROR), "a client that has acknowledged the limit and exceeds it loses its connection; before, the stream alone is refused"),
    "9113 6.3 PRIORITY on stream 0":
        (Alive(), "with SETTINGS_NO_RFC7540_PRIORITIES, which the server sends, PRIORITY is passed over unread"),
    "9113 6.3 PRIORITY of 0 bytes": (Goaway(FRAME_SIZE_ERROR), _SIZE),
    "9113 6.3 PRIORITY of 4 bytes": (Goaway(FRAME_SIZE_ERROR), _SIZE),
    "9113 6.3 PRIORITY of 6 bytes": (Goaway(FRAME_SIZE_ERROR), _SIZE),
    "9113 6.5.3 values are taken in their order: a fault after a good one":
        (Alive(), "of several values of a setting in one frame the last alone is looked at"),
    "9113 6.9 WINDOW_UPDATE of 0 on a stream":
        (Goaway(PROTOCOL_ERROR), "an increment of 0 ends the connection, on a stream as well"),
    "9113 6.9.2 INITIAL_WINDOW_SIZE makes a window of a stream beyond 2^31-1":
        (Reset(1, FLOW_CONTROL_ERROR), "the stream whose window is too large is reset; the RFC asks for an error of the connection"),
}
