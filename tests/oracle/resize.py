#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tests/golden/resize.inc with Pillow, whose resize of floating-point images is the algorithm of torchvision's
resize(antialias=True). Needs numpy and Pillow:

    python3 tests/oracle/resize.py > tests/golden/resize.inc
"""
import numpy
from PIL import Image

CASES = [  # (width, height) before and after the resize
    ((17, 13), (5, 7)),
    ((13, 17), (31, 4)),
    ((40, 30), (8, 6)),
    ((61, 47), (9, 10)),
    ((64, 1), (9, 1)),
    ((1, 64), (1, 9)),
    ((3, 2), (8, 7)),
    ((1, 1), (3, 2)),
    ((150, 11), (10, 3)),
]


def noise(width, height, seed=1):
    """Returns the pixels of NoiseImage in tests/common/imaging/images.cc."""
    state = (seed * 2654435761 + 1) & 0xFFFFFFFF
    values = []
    for _ in range(width * height):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        values.append(state >> 11 & 0xFF)
    return numpy.array(values, numpy.float32).reshape(height, width)


def main():
    print("// Written by tests/oracle/resize.py; do not edit.")
    for name, resample in (("BILINEAR", Image.Resampling.BILINEAR), ("BICUBIC", Image.Resampling.BICUBIC)):
        for source, target in CASES:
            picture = Image.fromarray(noise(*source), mode="F")
            values = numpy.asarray(picture.resize(target, resample)).reshape(-1)
            print(f"{{{{{source[1]}, {source[0]}}}, {{{target[1]}, {target[0]}}}, v1::{name}, {{")
            for start in range(0, len(values), 12):
                print("    " + " ".join(f"{value:.3f}f," for value in values[start : start + 12]))
            print("}},")


if __name__ == "__main__":
    main()
