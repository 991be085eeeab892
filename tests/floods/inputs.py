# SPDX-License-Identifier: Apache-2.0
"""Writes the requests and the model that the floods use."""
import array
import json
import random
import struct
import zlib

CLASSES = 21843  # number of classes of the model that write_wide_model() writes


def varint(value):
    out = b""
    while value >= 128:
        out, value = out + bytes([value % 128 + 128]), value // 128
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def size_message(height, width):
    return field(1, height) + field(2, width)


def noise_png(side):
    """Returns a grey image of random pixels."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + random.Random(side).randbytes(side) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_wide_model(path):
    """Writes random weights for timm's vit_tiny_patch16_224 with many classes, and writes the labels."""
    width, tensors, block = 192, {"cls_token": (1, 1, 192), "pos_embed": (1, 197, 192)}, {}
    tensors |= {"patch_embed.proj.weight": (width, 3, 16, 16), "patch_embed.proj.bias": (width,)}
    for name, out, into in (("attn.qkv", 3, 1), ("attn.proj", 1, 1), ("mlp.fc1", 4, 1), ("mlp.fc2", 1, 4)):
        block |= {name + ".weight": (out * width, into * width), name + ".bias": (out * width,)}
    block |= {f"norm{i}.{part}": (width,) for i in (1, 2) for part in ("weight", "bias")}
    tensors |= {f"blocks.{i}.{name}": shape for i in range(12) for name, shape in block.items()}
    tensors |= {"norm.weight": (width,), "norm.bias": (width,), "head.weight": (CLASSES, width)}
    tensors |= {"head.bias": (CLASSES,)}
    source = random.Random(1)
    some = array.array("f", (source.gauss(0, 0.02) for _ in range(99991))).tobytes()
    header, data, at = {}, [], 0
    for name, shape in tensors.items():
        size = 4
        for side in shape:
            size *= side
        data.append((some * (size // len(some) + 1))[:size])
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))
    with open(path + ".labels", "w") as file:
        file.writelines(f"n{i:08d} some species of thing {i}\n" for i in range(CLASSES))
