# SPDX-License-Identifier: Apache-2.0
"""Decodes images to squares of 8-bit RGB with packages from PyPI. The crop is the crop of timm's evaluation transform with
crop_pct 1.

Only the crop is resized. OpenCV averages areas, which is its fastest filter without aliasing; Pillow uses the model's own
filter, bicubic. simplejpeg is not used, because it holds Python's global lock (GIL) while it decodes; pillow-simd is not used,
because it would replace Pillow in the environment.
"""
import io
import time

import cv2
import numpy
from PIL import Image


def by_opencv(picture, side):
    whole = cv2.imdecode(numpy.frombuffer(picture, numpy.uint8), cv2.IMREAD_COLOR_RGB)
    height, width = whole.shape[:2]
    square = min(height, width)
    top, left = (height - square) // 2, (width - square) // 2
    return cv2.resize(whole[top:top + square, left:left + square], (side, side), interpolation=cv2.INTER_AREA)


def by_pillow(picture, side):
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    square = min(whole.size)
    left, top = ((length - square) / 2 for length in whole.size)
    box = (left, top, left + square, top + square)
    return numpy.asarray(whole.resize((side, side), Image.Resampling.BICUBIC, box=box))


DECODERS = {f"OpenCV {cv2.__version__}": by_opencv, f"Pillow {Image.__version__}": by_pillow}


def fastest(pictures, side, pool):
    """Returns (name, function) of the decoder that is fastest for these images, on the threads that will run it."""
    cv2.setNumThreads(1)
    seconds = {}
    for _ in range(2):  # the first run warms up
        for name, decode in DECODERS.items():
            start = time.perf_counter()
            list(pool.map(lambda picture: decode(picture, side), pictures))
            seconds[name] = time.perf_counter() - start
    name = min(seconds, key=seconds.get)
    return name, DECODERS[name]
