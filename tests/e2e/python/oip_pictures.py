# SPDX-License-Identifier: Apache-2.0
"""Images for clients of the Open Inference Protocol, and a bundled model's expected answers."""

import re

import numpy
import PIL.Image

import oip_server

CIFAR = oip_server.SOURCE / "samples" / "cifar"
MODEL = "eit-mini-cifar10"
ATTENTIVE = "xcit-n12-f-sne-cifar10"  # a model with class attention
LABELS = (oip_server.SOURCE / "models/bundled" / MODEL / "2" / "labels.txt").read_text().split()
# Temperature of the model's calibration. Logits are divided by it before the softmax.
TEMPERATURE = float(re.search(r"temperature: (\S+)", (oip_server.SOURCE / "models/bundled" / MODEL / "2" / "manifest.textproto").read_text())[1])
# Threshold of the model's calibration. An answer is unsure if its largest probability is below this value.
UNSURE_BELOW = float(re.search(r"unsure_below: (\S+)", (oip_server.SOURCE / "models/bundled" / MODEL / "2" / "manifest.textproto").read_text())[1])
# Images that the bundled model classifies correctly.
SURE = ["airplane-747.jpg", "horse-bay.jpg", "ship-junk.png", "truck-garbage.jpg"]


def encoded(names):
    pictures = [[(CIFAR / name).read_bytes()] for name in names]
    return numpy.array(pictures, dtype=numpy.object_)


def pixels(name):
    """Returns the image in the model's size, [1, 32, 32, 3] uint8."""
    picture = PIL.Image.open(CIFAR / name).convert("RGB").resize((32, 32), PIL.Image.BICUBIC)
    return numpy.asarray(picture)[None]


def class_of(name):
    return name.split("-")[0]


def words(row):
    """Parses "value:index:label" as (value, index, label)."""
    value, index, label = row.decode().split(":")
    return float(value), int(index), label
