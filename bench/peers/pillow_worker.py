# SPDX-License-Identifier: Apache-2.0
"""The peer of decode_worker.cc: makes the same input with Pillow and numpy, with the same protocol and options.

This is the fastest way with both packages: only the crop is resized (Pillow's `box`), and numpy writes plane by plane into one
array that is reused, so no interleaved image of floats is transposed. --reduced uses Pillow's draft mode. --steps makes the
same input as most programs do: it resizes the whole image, crops it, converts it to floats, normalises and transposes it.
"""
import argparse
import io
import pathlib

import numpy
import PIL
from PIL import Image, features

import peer_protocol

SIDE = 224
# The values must equal those of bench/input_work.cc.
MEAN, STD = (numpy.array(values, numpy.float32) for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
FACTOR, SHIFT = 1 / (255 * STD), (MEAN / STD)[:, None, None]


def plan(size):
    """Returns (size of the resized image, whose shorter side is SIDE; corner of its central crop)."""
    scaled = tuple(int(SIDE * side / min(size)) for side in size)
    return scaled, [round((side - SIDE) / 2) for side in scaled]


def crop_box(size):
    """Returns the central crop in pixels of the original image."""
    scaled, corner = plan(size)
    scale = [side / to for side, to in zip(size, scaled)]
    return tuple(c * s for c, s in zip(corner, scale)) + tuple((c + SIDE) * s for c, s in zip(corner, scale))


def make_input(jpeg, reduced, out):
    picture = Image.open(io.BytesIO(jpeg))
    if reduced:  # decodes at twice the resized size or more, like DecodeDivisor of our code
        picture.draft(None, [2 * SIDE * side // min(picture.size) for side in picture.size])
    resized = picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, crop_box(picture.size)).convert("RGB")
    for plane, factor, target in zip(resized.split(), FACTOR, out):
        numpy.multiply(numpy.asarray(plane), factor, out=target)
    numpy.subtract(out, SHIFT, out=out)


def make_input_by_steps(jpeg, reduced, out):
    picture = Image.open(io.BytesIO(jpeg)).convert("RGB")
    scaled, (left, top) = plan(picture.size)
    cropped = picture.resize(scaled, Image.Resampling.BILINEAR).crop((left, top, left + SIDE, top + SIDE))
    values = (numpy.asarray(cropped, numpy.float32) / 255 - MEAN) / STD
    out[:] = values.transpose(2, 0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--outputs", type=pathlib.Path, required=True)
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--steps", action="store_true")
    arguments = parser.parse_args()
    make = make_input_by_steps if arguments.steps else make_input
    pictures = [path.read_bytes() for path in sorted(arguments.pictures.iterdir())]
    out = numpy.empty((3, SIDE, SIDE), numpy.float32)
    with open(arguments.outputs, "wb") as file:
        for picture in pictures:
            make(picture, arguments.reduced, out)
            file.write(out.tobytes())

    def work():
        for picture in pictures:
            make(picture, arguments.reduced, out)

    peer_protocol.serve(len(pictures), f"Pillow {PIL.__version__} with libjpeg-turbo {features.version('libjpeg_turbo')}, "
                        f"numpy {numpy.__version__}", work)


main()
