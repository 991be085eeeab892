# SPDX-License-Identifier: Apache-2.0
"""Pictures for clients of the Open Inference Protocol, and what a bundled model says of them."""

import re

import numpy
import PIL.Image

import oip_server

CIFAR = oip_server.SOURCE / "samples" / "cifar"
MODEL = "eit-mini-cifar10"
ATTENTIVE = "xcit-n12-f-sne-cifar10"  # for its class attention
LABELS = (oip_server.SOURCE / "models/bundled" / MODEL / "2" / "labels.txt").read_text().split()
# Its calibration's, by which logits are divided before the softmax.
TEMPERATURE = float(re.search(r"temperature: (\S+)", (oip_server.SOURCE / "models/bundled" / MODEL / "2" / "manifest.textproto").read_text())[1])
# And below which it takes an answer for unsure.
UNSURE_BELOW = float(re.search(r"unsure_below: (\S+)", (oip_server.SOURCE / "models/bundled" / MODEL / "2" / "manifest.textproto").read_text())[1])
# Pictures that the bundled model gets right, as `vitrine classify` does.
SURE = ["airplane-747.jpg", "horse-bay.jpg", "ship-junk.png", "truck-garbage.jpg"]


def encoded(names):
    pictures = [[(CIFAR / name).read_bytes()] for name in names]
    return numpy.array(pictures, dtype=numpy.object_)


def pixels(name):
    """[1, 32, 32, 3] uint8, as the model sees the picture."""
    picture = PIL.Image.open(CIFAR / name).convert("RGB").resize((32, 32), PIL.Image.BICUBIC)
    return numpy.asarray(picture)[None]


def class_of(name):
    return name.split("-")[0]


def words(row):
    """(value, index, label) of "value:index:label"."""
    value, index, label = row.decode().split(":")
    return float(value), int(index), label
