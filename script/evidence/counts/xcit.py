# SPDX-License-Identifier: Apache-2.0
"""XCiT and its embeddings of q, k and v (paper 000)."""
from counts import linear, mlp

# Width, and hidden widths of the embeddings (Table 1 of the paper), by model.
NANO = {"width": 128, "SNE": 64, "P-SNE": 96, "F-SNE": 128, "F-SNE,8*": 186, "F-SNE,16*": 182}
TINY = {"width": 192, "SNE": 96, "P-SNE": 144, "F-SNE": 192, "F-SNE,8*": 282, "F-SNE,16*": 276}


def settings(sizes, variant):
    """Returns kind, hidden width and code length of a row of the paper's Table 2."""
    kind = variant.split(",")[0]
    hidden = sizes.get(variant, sizes.get(kind, 0))
    code = int(variant.split(",")[1].rstrip("*")) if "," in variant else 0
    return kind, hidden, code


def embedding(width, kind, hidden, code):
    """Returns the number of parameters that make q, k and v in one block."""
    if kind == "SNE":
        return 3 * (linear(width, hidden) + linear(hidden, width))
    if kind == "P-SNE":
        return 3 * linear(width, hidden) + linear(hidden, width)
    if kind == "F-SNE":
        return linear(width + code, hidden) + linear(hidden, width)
    return 3 * linear(width, width)


def stem_channels(width):
    return [3, width // 8, width // 4, width // 2, width]


def parameters(sizes, variant="baseline", classes=1000, depth=12, heads=4, own_codes=False):
    width = sizes["width"]
    kind, hidden, code = settings(sizes, variant)
    channels = stem_channels(width)
    stem = sum(9 * a * b + 2 * b for a, b in zip(channels, channels[1:])) + linear(64, width)
    around = linear(width, width) + mlp(width, 4 * width)
    local = 2 * 10 * width + 2 * width
    block = 6 * width + 3 * width + heads + embedding(width, kind, hidden, code) + around + local
    class_block = 4 * width + 2 * width + embedding(width, "baseline", 0, 0) + around
    codes = 3 * code * (depth if own_codes else 1)
    return stem + depth * block + 2 * class_block + width + 2 * width + linear(width, classes) + codes


def block_macs(width, heads, tokens):
    """Returns the multiply-adds of one XCA block of the baseline. Its attention matrix has the size channels x
    channels."""
    attention = 2 * width * (width // heads)
    return tokens * (3 * width * width + attention + width * width + 18 * width + 8 * width * width)


def macs(width, depth=12, heads=4, image=224, classes=1000):
    """Returns the multiply-adds of the baseline as published, where class attention computes queries of all tokens."""
    channels, tokens = stem_channels(width), (image // 16) ** 2
    sides = [image // 2 ** i for i in range(1, 5)]
    stem = sum(9 * a * b * side ** 2 for a, b, side in zip(channels, channels[1:], sides)) + tokens * 64 * width
    class_block = (tokens + 1) * (3 * width * width + 2 * width) + width * width + 8 * width * width
    return stem + depth * block_macs(width, heads, tokens) + 2 * class_block + width * classes
