#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tests/golden/resize_pillow.inc: hashes of 8-bit images resized by Pillow. Needs numpy and Pillow:

    python3 tests/oracle/resize_pillow.py > tests/golden/resize_pillow.inc
"""
import numpy
from PIL import Image
from resize import noise

CASES = [  # (width, height) before and after the resize
    ((17, 13), (5, 7)),
    ((13, 17), (31, 4)),
    ((32, 32), (224, 224)),
    ((28, 28), (32, 32)),
    ((224, 224), (224, 224)),
    ((224, 300), (224, 224)),
    ((300, 224), (224, 224)),
    ((500, 375), (332, 249)),
    ((500, 375), (298, 224)),
    ((801, 601), (64, 48)),
    ((64, 1), (9, 1)),
    ((1, 64), (1, 9)),
    ((3, 2), (8, 7)),
    ((1, 1), (3, 2)),
    ((1, 300), (4, 576)),
    ((150, 11), (10, 3)),
    ((1601, 1203), (224, 168)),
    ((97, 8001), (7, 600)),
]


def contrasting(width, height, channels):
    """Returns the image of the same name in tests/common/imaging/resize_test.cc."""
    values = noise(width * channels, height).astype(numpy.uint8).reshape(-1)
    values[::2] = numpy.where(values[::2] < 128, 0, 255)
    return values.reshape((height, width) if channels == 1 else (height, width, channels))


def fnv(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def main():
    print("// Written by tests/oracle/resize_pillow.py; do not edit.")
    for name, resample in (("BILINEAR", Image.Resampling.BILINEAR), ("BICUBIC", Image.Resampling.BICUBIC)):
        for channels in (1, 3):
            for source, target in CASES:
                picture = Image.fromarray(contrasting(*source, channels))
                resized = numpy.asarray(picture.resize(target, resample)).tobytes()
                print(f"{{{{{source[1]}, {source[0]}}}, {{{target[1]}, {target[0]}}}, {channels}, v1::{name}, "
                      f"{fnv(resized):#x}}},")


if __name__ == "__main__":
    main()
