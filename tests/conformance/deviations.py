# SPDX-License-Identifier: Apache-2.0
"""Known deviations of nghttp2 1.52 (Debian 12), with our settings, from the RFCs. DEVIATIONS maps a case to the observed behaviour and the
reason. Most deviations are permitted, because RFC 9113 allows that any error ends the connection (5.4.1)."""

from case import *

_SIZE = "a frame of a wrong size ends the connection; the RFC requires a stream error"

_FORGOTTEN = "closed streams are not remembered, so that a flood of them uses no memory; frames for them are ignored"

DEVIATIONS = {
    "9113 5.1 closed by the client's reset: DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed by the client's reset: empty DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed by the client's reset: HEADERS": (Alive(), _FORGOTTEN),
    "9113 5.1 closed: DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed: empty DATA": (Alive(), _FORGOTTEN),
    "9113 5.1 closed: HEADERS": (Alive(), _FORGOTTEN),
    "9113 4.2 CONTINUATION of more than 16,384 bytes":
        (Malformed(1), "the length of CONTINUATION is not compared with SETTINGS_MAX_FRAME_SIZE, but the size of the header list is limited"),
    "9113 5.1.1 the identifier of a new stream is lower than one before":
        (Alive(), "a skipped stream identifier counts as a closed stream, whose frames are ignored"),
    "9113 5.1.1 identifiers may be skipped, and skipped streams are closed":
        (Alive(), "a skipped stream identifier counts as a closed stream, whose frames are ignored"),
    "9113 5.1.2 more streams than SETTINGS_MAX_CONCURRENT_STREAMS":
        (Goaway(PROTOCOL_ERROR), "after the client has acknowledged the limit, exceeding it ends the connection; before, only the stream is refused"),
    "9113 6.3 PRIORITY on stream 0":
        (Alive(), "the server sends SETTINGS_NO_RFC7540_PRIORITIES and ignores PRIORITY without parsing it"),
    "9113 6.3 PRIORITY of 0 bytes": (Goaway(FRAME_SIZE_ERROR), _SIZE),
    "9113 6.3 PRIORITY of 4 bytes": (Goaway(FRAME_SIZE_ERROR), _SIZE),
    "9113 6.3 PRIORITY of 6 bytes": (Goaway(FRAME_SIZE_ERROR), _SIZE),
    "9113 6.5.3 values are applied in order: an invalid value after a valid one":
        (Alive(), "if one frame has several values of a setting, only the last value is checked"),
    "9113 6.9 WINDOW_UPDATE of 0 on a stream":
        (Goaway(PROTOCOL_ERROR), "an increment of 0 ends the connection, on a stream as well"),
    "9113 6.9.2 INITIAL_WINDOW_SIZE makes a window of a stream beyond 2^31-1":
        (Reset(1, FLOW_CONTROL_ERROR), "the stream whose window is too large is reset; the RFC requires a connection error"),
}
