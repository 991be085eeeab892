# SPDX-License-Identifier: Apache-2.0
"""Cases of RFC 7541: header blocks that a decoder must accept or reject, and blocks that an encoder may send."""

from case import *

LONG = "y" * 500


def refused():
    return Goaway(COMPRESSION_ERROR)


# 2.3: tables

@case("7541 2.3.1", "the static table: POST, /, http by their indexes")
def _(c):
    c.whole(indexed(3) + indexed(6) + c.block(":method", ":scheme"))
    return Answered()


for _index in range(15, 62):
    if _index in (19, 38, 26, 35, 40, 45, 54, 57):  # indexes of names that a request may have
        @case("7541 2.3.1", f"entry {_index} of the static table as a name")
        def _(c, index=_index):
            c.whole(c.block() + literal(index, "1" if index != 38 else "localhost"))
            return Answered() if index != 57 else Malformed()  # 57: transfer-encoding


@case("7541 2.3.2", "an entry of the dynamic table")
def _(c):
    c.whole(c.block("content-type") + literal("content-type", "application/grpc", INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block("content-type") + indexed(62), 3)
    return Answered(3)


@case("7541 2.3.2", "entries are numbered from the newest")
def _(c):
    c.whole(c.block("content-type") + literal("content-type", "application/grpc", INCREMENTAL) + literal("x-a", "1", INCREMENTAL) + literal("x-b", "2", INCREMENTAL))
    c.whole(c.block("content-type") + indexed(64), 3)
    return Answered(3)


@case("7541 2.3.2", "the table may have an entry twice")
def _(c):
    c.whole(c.block() + literal("x-a", "1", INCREMENTAL) * 3)
    c.whole(c.block() + indexed(62) + indexed(63) + indexed(64), 3)
    return Answered(3)


for _name, _block in [("an index", indexed(62)), ("an index far beyond", indexed(1000)), ("the name of a literal", literal(62, "1")), ("the name of a literal far beyond", literal(5000, "1", NEVER)),
                      ("the name of a literal with indexing", literal(62, "1", INCREMENTAL))]:
    @case("7541 2.3.3", f"{_name} beyond the tables")
    def _(c, block=_block):
        c.whole(c.block() + block)
        return refused()


# Section 4: the dynamic table

@case("7541 4.1", "32 bytes are added to the size of an entry")
def _(c):
    c.whole(size_update(68) + c.block("content-type") + literal("content-type", "application/grpc", INCREMENTAL))  # 12 + 16 + 32 = 60 bytes
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block("content-type") + indexed(62), 3)
    return Answered(3)


@case("7541 4.1", "an entry that is one byte too large is not kept")
def _(c):
    c.whole(size_update(59) + c.block("content-type") + literal("content-type", "application/grpc", INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block("content-type") + indexed(62), 3)
    return refused()


@case("7541 4.2", "a size update at the end of a header block")
def _(c):
    c.whole(c.block() + size_update(0))
    return refused()


@case("7541 4.2", "a size update in the middle of a header block")
def _(c):
    c.whole(c.block("te") + size_update(100) + literal("te", "trailers"))
    return refused()


@case("7541 4.2", "two size updates at the beginning")
def _(c):
    c.whole(size_update(0) + size_update(4096) + c.block())
    return Answered()


@case("7541 4.3", "a size update empties the table")
def _(c):
    c.whole(c.block() + literal("x-a", "1", INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(size_update(0) + size_update(4096) + c.block() + indexed(62), 3)
    return refused()


@case("7541 4.3", "a smaller size drops the oldest")
def _(c):
    c.whole(c.block("content-type") + literal("x-old", LONG, INCREMENTAL) + literal("content-type", "application/grpc", INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(size_update(100) + c.block("content-type") + indexed(62), 3)
    return Answered(3)


@case("7541 4.3", "a dropped entry cannot be used any more")
def _(c):
    c.whole(c.block() + literal("x-old", "1", INCREMENTAL) + literal("x-new", "1", INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(size_update(40) + c.block() + indexed(63), 3)
    return refused()


@case("7541 4.4", "an entry that is larger than the table empties the table without an error")
def _(c):
    c.whole(size_update(200) + c.block() + literal("x-a", "1", INCREMENTAL) + literal("x-large", LONG, INCREMENTAL))
    return Answered()


@case("7541 4.4", "the table is empty after an entry that was too large")
def _(c):
    c.whole(size_update(200) + c.block() + literal("x-a", "1", INCREMENTAL) + literal("x-large", LONG, INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block() + indexed(62), 3)
    return refused()


@case("7541 4.4", "entries beyond the table size evict the oldest")
def _(c):
    c.whole(c.block() + b"".join(literal("x-a", LONG, INCREMENTAL) for _ in range(12)))
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block() + indexed(62 + 6), 3)  # each entry has 535 bytes, so 7 entries fit
    return Answered(3)


@case("7541 4.4", "the oldest of eight entries is evicted from a table for seven")
def _(c):
    c.whole(c.block() + b"".join(literal("x-a", LONG, INCREMENTAL) for _ in range(12)))
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block() + indexed(62 + 7), 3)
    return refused()


@case("7541 4.4", "a new entry with the name of an entry that it evicts")
def _(c):
    c.whole(size_update(64) + c.block() + literal("x-name", "1", INCREMENTAL))
    c.wait(lambda: c.stream(1).closed)
    c.whole(c.block() + literal(62, "twenty bytes of value", INCREMENTAL) + indexed(62), 3)
    return Answered(3)


# Section 5: integers and strings

@case("7541 5.1", "an integer of several bytes")
def _(c):
    c.whole(c.block() + literal("x-test", "y" * 300))
    return Answered()


@case("7541 5.1", "an integer with unnecessary zero bytes")
def _(c):
    c.whole(c.block() + b"\x00" + b"\x7f\x80\x00" + b"x" * 127 + b"\x011")
    return OneOf(Answered(), refused())  # section 5.1 allows a decoder to reject long integers


for _name, _block in [("of an index", b"\xff" + b"\xff" * 10 + b"\x01"), ("of a length", b"\x00\x7f" + b"\xff" * 10 + b"\x01"), ("of a size", b"\x3f" + b"\xff" * 10 + b"\x01"),
                      ("of an index of many zeros", b"\xff" + b"\x80" * 40 + b"\x01")]:
    @case("7541 5.1", f"an integer {_name} beyond 64 bits")
    def _(c, block=_block):
        c.whole(block + c.block())
        return refused()


for _name, _block in [("in an index", b"\xff"), ("in a length", b"\x00\x7f"), ("in a name", b"\x00\x0aabc"), ("in a value", b"\x00\x01a\x0abc"), ("before a value", b"\x00\x01a"),
                      ("in a Huffman string", b"\x00\x85\x1c")]:
    @case("7541 5.2", f"a header block that ends {_name}")
    def _(c, block=_block):
        c.whole(c.block() + block)
        return refused()


@case("7541 5.2", "Huffman strings")
def _(c):
    c.whole(b"".join(literal(name, value, WITHOUT, True) for name, value in c.fields()))
    return Answered()


@case("7541 5.2", "a Huffman string of every byte that a value may have")
def _(c):
    c.whole(c.block() + literal("x-test", bytes(b for b in range(0x21, 0x7F)) + bytes(range(0x80, 0x100)), WITHOUT, True))
    return Answered()


# In HPACK's Huffman code, "a" is 00011 and "1" is 00001.
for _name, _coded in [("padded with more than seven bits", b"\x1f\xff"), ("padded with zeros", b"\x18"), ("padded with other bits than ones", b"\x1d"),
                      ("with the end-of-string symbol", b"\x1f\xff\xff\xff\xff"), ("of the end-of-string symbol alone", b"\xff\xff\xff\xff"), ("of one byte of padding", b"\xff")]:
    @case("7541 5.2", f"a Huffman string {_name}")
    def _(c, coded=_coded):
        c.whole(c.block() + b"\x00\x01x" + bytes([0x80 | len(coded)]) + coded)
        return refused()


@case("7541 5.2", "an empty Huffman string")
def _(c):
    c.whole(c.block() + b"\x00\x06x-test\x80")
    return Answered()


# 6: representations

for _huffman in (False, True):
    _how = " in Huffman code" if _huffman else ""
    for _name, _kind in [("with indexing", INCREMENTAL), ("without indexing", WITHOUT), ("never indexed", NEVER)]:
        @case("7541 6.2", f"a literal {_name}, its name by an index{_how}")
        def _(c, kind=_kind, huffman=_huffman):
            c.whole(c.block(":path", "content-type", "te")  # index 4 is :path, index 31 is content-type
                    + literal(4, c.PATH, kind, huffman) + literal(31, "application/grpc", kind, huffman) + literal("te", "trailers"))
            return Answered()

        @case("7541 6.2", f"a literal {_name}, its name written{_how}")
        def _(c, kind=_kind, huffman=_huffman):
            c.whole(b"".join(literal(name, value, kind, huffman) for name, value in c.fields()))
            return Answered()


for _name, _kind in [("without indexing", WITHOUT), ("never indexed", NEVER)]:
    @case("7541 6.2", f"a literal {_name} makes no entry")
    def _(c, kind=_kind):
        c.whole(c.block() + literal("x-a", "1", kind))
        c.wait(lambda: c.stream(1).closed)
        c.whole(c.block() + indexed(62), 3)
        return refused()


@case("7541 6.1", "the index 0")
def _(c):
    c.whole(b"\x80" + c.block())
    return refused()


@case("7541 6.3", "a size update above SETTINGS_HEADER_TABLE_SIZE")
def _(c):
    c.whole(size_update(c.settings.get(HEADER_TABLE_SIZE, 4096) + 1) + c.block())
    return refused()


@case("7541 6.3", "a size update to SETTINGS_HEADER_TABLE_SIZE")
def _(c):
    c.whole(size_update(c.settings.get(HEADER_TABLE_SIZE, 4096)) + c.block())
    return Answered()


@case("7541 6.3", "a size update in each header block")
def _(c):
    for stream, size in zip(range(1, 21, 2), (0, 4096, 100, 200, 0, 0, 4096, 1, 2, 3)):
        c.whole(size_update(size) + c.block(), stream)
    return Answered(19)


@case("7541 6", "an empty header block")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 1)
    return Malformed()


@case("7541 6", "a header block with only a size update")
def _(c):
    c.send_frame(HEADERS, END_HEADERS | END_STREAM, 1, size_update(0))
    return Malformed()


# The cases below test the server's encoder. Like every case, they decode the server's header blocks with hpack and report errors. They also
# change the size of the server's dynamic table.

for _size in (0, 64, 100, 65536):
    @case("7541 4.2", f"the server keeps to a table of {_size} bytes", begins=False)
    def _(c, size=_size):
        c.decoder.max_allowed_table_size = 4096
        c.send(PREFACE + frame(SETTINGS, 0, 0, settings((HEADER_TABLE_SIZE, size))))
        c.wait(lambda: c.settings_acks)
        c.decoder.max_allowed_table_size = size
        for stream in range(1, 12, 2):
            c.answered(stream)
        return Holds(c.fault is None and not c.closed, "all answers can be decoded")


@case("7541 4.2", "the server's table shrinks, grows and shrinks between answers")
def _(c):
    for stream, size in zip(range(1, 14, 2), (4096, 0, 4096, 60, 1000, 0, 30)):
        acks = c.settings_acks
        c.send_frame(SETTINGS, 0, 0, settings((HEADER_TABLE_SIZE, size)))
        c.wait(lambda: c.settings_acks > acks)
        c.decoder.max_allowed_table_size = size
        c.answered(stream)
    return Holds(c.fault is None and not c.closed, "all answers can be decoded")
