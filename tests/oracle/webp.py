#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tests/golden/webp.inc with Pillow: WebP files of every kind and their pixels, composited over white and rotated
by EXIF. Needs numpy and Pillow:

    python3 tests/oracle/webp.py > tests/golden/webp.inc
"""
import io

import numpy
from PIL import Image, ImageOps

WIDTH, HEIGHT = 19, 13
EXIF_ORIENTATION = 0x0112


def picture():
    """Returns an image of colour gradients and edges, with alpha from 0 to 255."""
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    values = numpy.stack([13 * x, 19 * y, 7 * x + 9 * y, 255 * x // (WIDTH - 1)], axis=-1)
    values[4:8, 5:12, 0] = 255 - values[4:8, 5:12, 0]
    return Image.fromarray(values.astype(numpy.uint8), mode="RGBA")


def cases():
    opaque = picture().convert("RGB")
    yield "lossy", opaque, {"quality": 60}
    yield "lossless", opaque, {"lossless": True}
    yield "lossy with alpha", picture(), {"quality": 60}
    yield "lossy with lossy alpha", picture(), {"quality": 60, "alpha_quality": 20}
    yield "lossless with alpha", picture(), {"lossless": True}
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[EXIF_ORIENTATION] = orientation
        yield f"orientation {orientation}", opaque, {"quality": 90, "exif": exif}
    yield "with a profile", opaque, {"lossless": True, "icc_profile": b"not much of a profile"}


def seen(file):
    """Returns the pixels that the server must decode from a file."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if image.mode == "RGBA":
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def numbers(values):
    for start in range(0, len(values), 23):
        yield "    " + " ".join(f"{value}," for value in values[start : start + 23])


def main():
    print("// Written by tests/oracle/webp.py; do not edit.")
    for name, image, options in cases():
        file = io.BytesIO()
        image.save(file, "WEBP", **options)
        decoded = seen(file.getvalue())
        print(f'{{"{name}", {{')
        print("\n".join(numbers(file.getvalue())))
        print(f"}}, {decoded.width}, {decoded.height}, {{")
        print("\n".join(numbers(numpy.asarray(decoded).reshape(-1).tolist())))
        print("}},")


if __name__ == "__main__":
    main()
