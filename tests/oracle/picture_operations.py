#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tests/golden/image_operations.inc: small images changed by the operations of timm's RandAugment.

The operations use Pillow, in the variants whose effect grows with the magnitude. Needs numpy, timm and Pillow:

    python3 tests/oracle/picture_operations.py > tests/golden/image_operations.inc

Each case is {operation, magnitude, negative, channels, width, height, pixels in hexadecimal}. The pixels of the input
are 30 + 3 v / 4 for the values v of noise() in resize.py. Outside the image, the colour is (120, 110, 100).
"""
import types

import numpy
from PIL import Image
from timm.data import auto_augment

from resize import noise

FILL = (120, 110, 100)
# (Vitrine's name, timm's name, magnitudes, True if the magnitude can be negative)
OPERATIONS = [
    ("AutoContrast", "AutoContrast", [0], False),
    ("Equalize", "Equalize", [0], False),
    ("Invert", "Invert", [0], False),
    ("Rotate", "Rotate", [3.3, 10], True),
    ("Posterize", "PosterizeIncreasing", [0, 3.3, 9.4], False),  # Pillow refuses magnitude 10
    ("Solarize", "SolarizeIncreasing", [0, 3.3, 9.4], False),
    ("SolarizeAdd", "SolarizeAdd", [3.3, 10], False),
    ("Color", "ColorIncreasing", [3.3, 10], True),
    ("Contrast", "ContrastIncreasing", [3.3, 10], True),
    ("Brightness", "BrightnessIncreasing", [3.3, 10], True),
    ("Sharpness", "SharpnessIncreasing", [3.3, 10], True),
    ("ShearX", "ShearX", [3.3, 10], True),
    ("ShearY", "ShearY", [3.3, 10], True),
    ("TranslateX", "TranslateXRel", [3.3, 10], True),
    ("TranslateY", "TranslateYRel", [3.3, 10], True),
]


def picture(channels, width, height):
    values = (30 + noise(width * channels, height) * 3 // 4).astype(numpy.uint8)
    return Image.fromarray(values.reshape(height, width, 3) if channels == 3 else values)


def operate(name, magnitude, negative, image):
    auto_augment.random = types.SimpleNamespace(random=lambda: 0.9 if negative else 0.1)
    level = auto_augment.LEVEL_TO_ARG[name]
    arguments = level(magnitude, {}) if level else ()
    fill = FILL if image.mode == "RGB" else FILL[0]
    return auto_augment.NAME_TO_OP[name](image, *arguments, fillcolor=fill, resample=Image.Resampling.BICUBIC)


def main():
    print("// Written by tests/oracle/picture_operations.py; do not edit.")
    for ours, name, magnitudes, sided in OPERATIONS:
        # Equalize does not change small images: a channel needs at least 256 pixels.
        shapes = [(3, 11, 9), (1, 7, 10)] + ([(3, 37, 29)] if ours in ("AutoContrast", "Equalize") else [])
        for magnitude in magnitudes:
            for negative in (False, True) if sided else (False,):
                for channels, width, height in shapes:
                    result = operate(name, magnitude, negative, picture(channels, width, height))
                    digits = numpy.asarray(result).tobytes().hex()
                    print(f'{{"{ours}", {magnitude}, {str(negative).lower()}, {channels}, {width}, {height},')
                    for start in range(0, len(digits), 112):
                        print(f'    "{digits[start : start + 112]}"')
                    print("},")


if __name__ == "__main__":
    main()
