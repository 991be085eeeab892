# SPDX-License-Identifier: Apache-2.0
"""Decides claims by data in this repository: the codes of a bundled model, and tables of measurements in the documentation.

Each function is named after its claim's id. It returns the claim's verdict word and a sentence that explains it. No rule was
written before these data, and the data have no interval, so the word is always "undecided here", followed by what a decision needs.
"""
import itertools
import json
import math
import re
import struct

from figures import D
from records import ROOT

CHECKPOINT = "models/bundled/xcit-n12-f-sne-cifar10/1/weights.safetensors"
MODEL = "Bundled XCiT-N12 F-SNE,16 (CIFAR-10, 14 epochs, one seed)"
INT8 = "docs/how-to/importing.md"


def codes():
    """Returns the three codes of the bundled F-SNE model."""
    with open(ROOT / CHECKPOINT, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        entry, start = header["codes"], file.tell()
        first, last = entry["data_offsets"]
        file.seek(start + first)
        halves = struct.unpack(f"<{(last - first) // 2}H", file.read(last - first))
    values = [struct.unpack("<f", struct.pack("<I", half << 16))[0] for half in halves]  # bf16 is the upper half of fp32
    length = entry["shape"][1]
    return [values[i:i + length] for i in range(0, len(values), length)]


def norm(vector):
    return math.sqrt(sum(value * value for value in vector))


def q19(printed):
    found = codes()
    cosines = [sum(a * b for a, b in zip(x, y)) / (norm(x) * norm(y)) for x, y in itertools.combinations(found, 2)]
    chance = 1 / math.sqrt(len(found[0]))
    told = ", ".join(f"{cosine:+.2f}" for cosine in cosines)
    return "undecided here, n needed 8", (
        f"{MODEL}: cosines {told}. Random codes of this length have a deviation of {chance:.2f}, so a start that was never trained would "
        "look alike: each of the seeds needs its own start beside it.")


def q20(printed):
    norms = [norm(code) for code in codes()]
    figures = [value for row in printed.tables["T6"].rows for value in printed.row("T6", row)]
    inside = all(min(figures) <= D(value) <= max(figures) for value in norms)
    return ("undecided here, n needed: several seeds with codes of 8",
            f"{MODEL}: norms {', '.join(f'{value:.1f}' for value in norms)}, {'inside' if inside else 'outside'} the printed range of "
            f"{min(figures)} to {max(figures)}, seen once. The start is not printed; ours is N(0, 1), with a norm of about 4 for 16 values.")


def v16(printed):
    text = (ROOT / INT8).read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.]+) % \| [\d.]+ % \| ([\d.]+) % \| (\d+) of (\d+) \|$", text, re.MULTILINE)
    losses = [D(fp32) - D(int8) for _, fp32, int8, _, _ in rows]
    kept = [f"{name} keeps {left} of {operators}" for name, _, _, left, operators in rows]
    return ("undecided here, n needed: larger models and a rule before them",
            f"Tiny models of this repository in int8, calibrated like a convolutional network: of {len(rows)}, each one seed, none loses more "
            f"than {max(losses)} points; operators that stay in floating point: {', '.join(kept)}. Nothing is said of larger models.")
