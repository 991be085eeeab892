# SPDX-License-Identifier: Apache-2.0
"""Encoded pictures to squares of 8-bit RGB, cut as timm's evaluation transform does with a crop of 1: the ways of PyPI.

Only the crop is resized. OpenCV averages areas, its fastest filter that does not alias; Pillow's bicubic one is the
model's own. simplejpeg holds Python's lock while it decodes, and pillow-simd would take Pillow's place in the environment.
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
    """(name, function) of the decoder that is through with the pictures first, on the threads that will do it."""
    cv2.setNumThreads(1)
    seconds = {}
    for _ in range(2):  # the first run warms up
        for name, decode in DECODERS.items():
            start = time.perf_counter()
            list(pool.map(lambda picture: decode(picture, side), pictures))
            seconds[name] = time.perf_counter() - start
    name = min(seconds, key=seconds.get)
    return name, DECODERS[name]
