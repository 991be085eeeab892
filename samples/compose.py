#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures under samples/. Not needed to build or run anything.

    compose.py STAMPS SKIMAGE_DATA MNIST

STAMPS is /usr/share/tuxpaint/stamps of Debian's tuxpaint-stamps-default, SKIMAGE_DATA is skimage/data of scikit-image's
wheel, MNIST is a folder with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz. Needs numpy and Pillow.
"""
import gzip
import pathlib
import sys

import numpy
from PIL import Image, ImageFilter

HERE = pathlib.Path(__file__).parent
SKY = ((92, 140, 200), (190, 212, 232))
CLOUDY = ((150, 165, 180), (205, 212, 218))
MEADOW = ((120, 150, 80), (74, 108, 48))
FIELD = ((170, 160, 105), (125, 118, 70))
MOSS = ((88, 104, 60), (46, 58, 34))
ROAD = ((150, 148, 144), (92, 92, 94))
SEA = ((70, 110, 140), (30, 62, 92))
SNOW = ((232, 236, 242), (205, 212, 222))

# name, stamp, size, upper and lower background, height of the horizon, size of the stamp relative to the frame, EXIF
# orientation
PICTURES = [
    ("airplane-747.jpg", "vehicles/flight/planes/747", (640, 320), SKY, SKY, 1.0, 0.86, 1),
    ("automobile-beetle.jpg", "vehicles/auto/beetle", (216, 108), CLOUDY, ROAD, 0.55, 0.9, 1),
    ("bird-lark.png", "animals/birds/lark", (240, 180), MEADOW, FIELD, 0.8, 0.92, 1),
    ("bird-pelican.jpg", "animals/birds/pelican", (320, 280), SKY, SKY, 1.0, 0.9, 1),
    ("deer-buck.jpg", "animals/mammals/deer/deer", (200, 350), MEADOW, FIELD, 0.6, 0.94, 1),
    ("dog-malamute.jpg", "animals/mammals/dogs/dog", (300, 340), CLOUDY, MEADOW, 0.5, 0.92, 6),
    ("frog-marsh.jpg", "animals/amphibians/frog", (360, 250), MOSS, MOSS, 1.0, 0.94, 1),
    ("horse-bay.jpg", "animals/mammals/equines/horse", (420, 300), SKY, MEADOW, 0.5, 0.92, 1),
    ("ship-junk.png", "vehicles/ship/chineseJunk", (256, 256), SKY, SEA, 0.6, 0.88, 1),
    ("truck-fire.jpg", "vehicles/emergency/firetruck", (800, 400), CLOUDY, ROAD, 0.5, 0.92, 1),
    ("truck-garbage.jpg", "vehicles/garbagetruck", (500, 280), SKY, ROAD, 0.6, 0.92, 1),
]
TURN_BACK = {1: None, 6: Image.Transpose.ROTATE_90}  # EXIF orientation -> transpose to the stored image


def graded(size, colours):
    top, bottom = (numpy.array(c, float) for c in colours)
    down = numpy.linspace(0, 1, size[1])[:, None, None]
    return numpy.broadcast_to(top * (1 - down) + bottom * down, (size[1], size[0], 3))


def background(size, upper, lower, horizon, seed):
    """Returns a picture of two soft gradients that meet at a blurred horizon, with the faint noise of a camera."""
    rows = numpy.linspace(0, 1, size[1])[:, None, None]
    below = 1 / (1 + numpy.exp(-(rows - horizon) * 60)) if horizon < 1 else 0 * rows
    picture = graded(size, upper) * (1 - below) + graded(size, lower) * below
    noise = numpy.random.default_rng(seed)
    for coarseness, strength in ((1, 2.5), (6, 4), (24, 5)):
        small = noise.normal(0, 40, (size[1] // coarseness + 2, size[0] // coarseness + 2)).clip(-127, 127) + 128
        texture = Image.fromarray(small.astype(numpy.uint8)).resize(size, Image.Resampling.BICUBIC)
        picture = picture + (numpy.asarray(texture, float)[:, :, None] - 128) / 40 * strength
    return Image.fromarray(picture.clip(0, 255).astype(numpy.uint8))


def compose(stamp, size, upper, lower, horizon, share, seed):
    picture = background(size, upper, lower, horizon, seed)
    cut_out = Image.open(stamp).convert("RGBA")
    if stamp.stem == "chineseJunk":
        cut_out = cut_out.crop((0, 0, 165, 190))  # leaves out a stray line in the stamp's corner
    cut_out = cut_out.crop(cut_out.getchannel("A").point(lambda a: 255 * (a > 32)).getbbox())
    factor = share * min(size[0] / cut_out.width, size[1] / cut_out.height)
    cut_out = cut_out.resize((round(cut_out.width * factor), round(cut_out.height * factor)), Image.Resampling.BICUBIC)
    left, top = (size[0] - cut_out.width) // 2, (size[1] - cut_out.height) // 2
    if horizon < 1:
        shadow = Image.new("L", size, 0)
        shadow.paste(110, (left + cut_out.width // 10, top + cut_out.height * 93 // 100,
                           left + cut_out.width * 9 // 10, top + cut_out.height))
        shadow = shadow.filter(ImageFilter.GaussianBlur(size[1] / 40))
        picture.paste((25, 28, 25), (0, 0), shadow)
    picture.paste(cut_out, (left, top), cut_out)
    return picture


def save(picture, name, orientation):
    path = HERE / "cifar" / name
    if TURN_BACK[orientation] is not None:
        picture = picture.transpose(TURN_BACK[orientation])
    if path.suffix == ".png":
        picture.save(path, optimize=True)
    else:
        exif = Image.Exif()
        exif[0x0112] = orientation
        picture.save(path, quality=88, exif=exif if orientation != 1 else b"")


def digits(mnist):
    images = gzip.open(mnist / "t10k-images-idx3-ubyte.gz").read()[16:]
    labels = gzip.open(mnist / "t10k-labels-idx1-ubyte.gz").read()[8:]
    for digit in range(10):
        index = labels.index(bytes([digit]))
        pixels = numpy.frombuffer(images, numpy.uint8, 784, index * 784).reshape(28, 28)
        Image.fromarray(pixels).save(HERE / "digits" / f"digit-{digit}.png", optimize=True)
        print(f"digit-{digit}.png is image {index} of the test split")


def main():
    stamps, skimage, mnist = (pathlib.Path(argument) for argument in sys.argv[1:])
    for folder in ("cifar", "digits"):
        (HERE / folder).mkdir(exist_ok=True)
    for seed, (name, stamp, size, upper, lower, horizon, share, orientation) in enumerate(PICTURES):
        save(compose(stamps / f"{stamp}.png", size, upper, lower, horizon, share, seed), name, orientation)
    save(Image.open(skimage / "chelsea.png").convert("RGB"), "cat-chelsea.jpg", 1)
    digits(mnist)


if __name__ == "__main__":
    main()
