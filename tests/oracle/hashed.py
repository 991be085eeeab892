# SPDX-License-Identifier: Apache-2.0
"""Weights and images from an integer hash. tests/models/parity/hashed.cc computes the same bits.

    seed   = FNV-1a 64 of "<model>/<tensor>"
    x_i    = splitmix64's output for the state seed + (i + 1) * 0x9e3779b97f4a7c15       (all modulo 2^64)
    k_i    = x_i >> 40                                                                   (24 bits)
    value  = centre + (k_i - 2^23) / 2^23 * half, rounded once to float32

i counts the elements row by row. `half` is a power of two, and `centre` is a sum of few powers of two. Everything before
the last rounding is therefore exact in float64.
"""
import math
import re

import numpy
import torch

MASK = (1 << 64) - 1


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def hashed(key, shape, centre, half):
    """Returns a float32 tensor of `shape`, uniform in [centre - half, centre + half)."""
    count = math.prod(shape)
    x = numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15) + numpy.uint64(fnv1a(key))
    x = (x ^ x >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    x ^= x >> numpy.uint64(31)
    k = (x >> numpy.uint64(40)).astype(numpy.float64)
    return torch.from_numpy((centre + (k - 2.0**23) * (half / 2.0**23)).astype(numpy.float32)).reshape(shape)


def picture(key, channels, height, width):
    """Returns [C, H, W]: noise added to patches of 32 x 32 pixels that differ strongly. With noise alone, the means of
    all patches would be similar."""
    rows, columns = -(-height // 32), -(-width // 32)
    coarse = hashed(key + ".coarse", (channels, rows, columns), 0, 1)
    coarse = coarse.repeat_interleave(32, 1).repeat_interleave(32, 2)[:, :height, :width]
    return coarse + hashed(key + ".fine", (channels, height, width), 0, 0.5)


# (pattern of the name, centre, half). If half is None, the centre is 0, the range follows from the fan-in, and the second
# number is a factor for the range. These values ensure two things. First, fp32 results are within 1e-5 of fp64. Second,
# logits depend on the image, on every tensor and on the order of blocks: attention is far from uniform, residual
# branches are as large as their residuals, and the first tokens are so small that a norm's epsilon matters.
ROLES = [
    (r"temperature", 4, 2),
    (r"gamma\d?|lambda1|\w+_scale|\w+_affine\.weight", 0.75, 0.25),
    (r"codes", 0, 1),
    (r"running_mean", 0, 0.0625),
    (r"running_var", 0.25, 0.125),
    (r"(cls|class|dist|distill|distillation|reg|register)_tokens?|registers|mask_token|class_embedding", 0, 0.25),
    (r"pos_embed|position_embeddings|(positions\.)?table|position_embedding\.weight|positional_embedding", 0, 0.125),
    (r"map_pos\.weight", 0, 0.5),
    (r"(patch_embed\.proj\.\d\.0|stem\.convolutions\.\d)\.weight", 1, None),
    (r"(patch_embed\.proj\.6\.1|stem\.norms\.3)\.weight", 0.125, 0.0625),
    (r"positions\.projection\.(weight|bias)", 0, 0.015625),
    (r"(norm\d?|layernorm|layernorm_(before|after)|norm_pre|pre_layrnorm|post_layernorm|layer_norm\d|ln_\w+|bn|batch_norm|patch_embed\.proj\.\d\.1|norms\.\d)\.weight", 1, 0.25),
    (r"(head|visual_projection)\.weight|visual\.proj", 4, None),
    (r"(in_proj_)?weight", 1.5, None),
    (r"(in_proj_)?bias", 0, 0.125),
]


def role(name, shape):
    """Returns (centre, half) of a tensor from its name, which may be timm's or this project's."""
    for pattern, centre, half in ROLES:
        if re.search(rf"(^|\.)(?:{pattern})$", name):
            if half is not None:
                return centre, half
            fan_in = math.prod(shape) / shape[0]
            return 0, 2.0 ** round(math.log2(centre * math.sqrt(3 / fan_in)))
    raise KeyError(f"no role for {name}")
