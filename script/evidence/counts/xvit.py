# SPDX-License-Identifier: Apache-2.0
"""X-ViT (paper 002). The paper does not print depth and widths; docs/research/models/x-vit.md describes how they were
found."""
import dataclasses

from counts import linear, mlp
from counts.xcit import stem_channels


@dataclasses.dataclass
class Form:
    width: int
    depth: int
    heads: int
    attention: int  # width of q, k and v over all heads


MODELS = {"T": Form(192, 24, 4, 96), "S": Form(384, 12, 8, 128), "M": Form(384, 24, 8, 128), "B": Form(512, 24, 8, 128)}


def parameters(form, classes=1000):
    width = form.width
    channels = stem_channels(width)
    stem = sum(9 * a * b + 2 * b for a, b in zip(channels, channels[1:])) + linear(64, width)
    mixer = 3 * linear(width, form.attention) + linear(form.attention, width) + 2 * form.heads + mlp(width, 4 * width)
    block = mixer + 22 * width + 6 * width + 6 * width  # local interaction, affine layers, LayerNorms
    class_block = mixer + 4 * width + 4 * width
    return stem + form.depth * block + 2 * class_block + 3 * width + linear(width, classes)


def block_macs(form, tokens):
    """Returns the multiply-adds of one block. It has no product of the size tokens x tokens."""
    width, attention = form.width, form.attention
    return tokens * (4 * width * attention + 2 * attention * (attention // form.heads) + 18 * width + 8 * width * width)


def macs(form, image=224, classes=1000):
    width, attention, per_head = form.width, form.attention, form.attention // form.heads
    channels, tokens = stem_channels(width), (image // 16) ** 2
    sides = [image // 2 ** i for i in range(1, 5)]
    stem = sum(9 * a * b * side ** 2 for a, b, side in zip(channels, channels[1:], sides)) + tokens * 64 * width
    class_block = (tokens + 1) * (2 * width * attention + attention * per_head)
    class_block += 2 * width * attention + attention * per_head + 8 * width * width
    return stem + form.depth * block_macs(form, tokens) + 2 * class_block + width * classes
