# SPDX-License-Identifier: Apache-2.0
"""Prepares the images of `script/bench decode`: the upright JPEG files of a folder, unchanged, and large images.

Only upright files are used, because the peers of decode_worker.cc ignore EXIF's orientation. A large image is the first file,
enlarged to 12 megapixels. One of the large images has noise like a camera's sensor, because an image without noise is faster to
decode than a photograph of that size.
"""
import argparse
import pathlib
import shutil

import numpy
from PIL import ExifTags, Image

LARGE = (4000, 3000)
QUALITY = 90
GRAIN = 6  # standard deviation, in grey levels


def save_large(source, folder, grain):
    folder.mkdir()
    pixels = numpy.asarray(Image.open(source).convert("RGB").resize(LARGE, Image.Resampling.BICUBIC), numpy.float32)
    pixels = pixels + numpy.random.default_rng(0).normal(0, grain, pixels.shape)
    Image.fromarray(pixels.round().clip(0, 255).astype(numpy.uint8)).save(folder / "large.jpg", quality=QUALITY)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path, help="gets the folders photographs, smooth and grain")
    arguments = parser.parse_args()
    photographs = arguments.target / "photographs"
    photographs.mkdir(parents=True)
    for path in sorted(arguments.source.iterdir()):
        if path.suffix.lower() in (".jpg", ".jpeg") and Image.open(path).getexif().get(ExifTags.Base.Orientation, 1) == 1:
            shutil.copy(path, photographs)
    first = min(photographs.iterdir())
    save_large(first, arguments.target / "smooth", 0)
    save_large(first, arguments.target / "grain", GRAIN)


main()
