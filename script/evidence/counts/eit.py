# SPDX-License-Identifier: Apache-2.0
"""EIT, and the vision transformers with which its paper compares it (paper 001), at 32x32 pixels and 10 classes."""
import dataclasses

from counts import linear, mlp

# Cost of an operation on one element, in the paper's FLOPs. Only these costs fit all printed rows.
COST = {"pool": 1, "add": 1, "softmax": 5, "scale": 1, "gelu": 4, "norm": 9}
IMAGE, CLASSES = 32, 10


@dataclasses.dataclass
class Form:
    """A model of the paper; the default values describe EIT3/4-Mini."""

    width: int = 250
    depth: int = 5
    heads: int = 10
    patches: str = "EIT^P"  # or "4x4", "CvT^P", "ViT_C"
    pool: int = 4
    schedule: str = "decreasing"  # or "all", "half"
    mixer: str = "conv"  # or "LSRA", "CvT^T", "parallel", "conv x3", "fc gelu conv", "bn relu"
    positions: bool = True


def attention_channels(form):
    """Returns the number of channels with attention in each block. All other channels are convolved."""
    unit = form.width // form.heads
    if form.schedule == "all":
        return [form.width] * form.depth
    if form.schedule == "half":
        return [unit // 2 * form.heads] * form.depth
    return [unit * i // form.depth * form.heads for i in range(1, form.depth)] + [form.width]


@dataclasses.dataclass
class Sum:
    """A running sum of parameters, multiply-adds and elements by kind."""

    parameters: int = 0
    macs: int = 0
    elements: dict = dataclasses.field(default_factory=lambda: dict.fromkeys(COST, 0))

    def add(self, parameters, macs, **elements):
        self.parameters += parameters
        self.macs += macs
        for kind, count in elements.items():
            self.elements[kind] += count

    def flops(self):
        return 2 * self.macs + sum(COST[kind] * count for kind, count in self.elements.items())


def project(form, total):
    """Adds the layer that makes patches. Returns the number of patches."""
    width = form.width
    if form.patches == "EIT^P":
        side = IMAGE // form.pool
        total.add(linear(27, width), IMAGE ** 2 * 27 * width, pool=side ** 2 * width * form.pool ** 2)
    elif form.patches == "ViT_C":
        side = IMAGE // 4
        total.add(linear(48, width) + linear(16 * width, width) + linear(width, width),
                  (IMAGE // 2) ** 2 * 48 * width + side ** 2 * 17 * width * width)
    else:
        side = IMAGE // (2 if form.patches == "CvT^P" else 4)
        total.add(linear(48, width), side ** 2 * 48 * width)
    return side ** 2


def mix(form, attend, patches, total):
    """Adds the attention of one block, and the convolution that replaces attention in some channels."""
    width, tokens = form.width, patches + 1
    convolve = width - attend
    if form.mixer == "CvT^T":
        total.add(27 * width * width + linear(3 * width, 3 * width) + linear(width, width),
                  patches * 27 * width * width + tokens * 10 * width * width + 2 * tokens ** 2 * width)
    else:
        total.add(4 * linear(attend, attend), tokens * 4 * attend * attend + 2 * tokens ** 2 * attend)
    total.add(0, 0, softmax=form.heads * tokens ** 2, scale=form.heads * tokens ** 2)
    kernels = 3 if form.mixer == "conv x3" else 1
    total.add(kernels * 9 * convolve ** 2, kernels * patches * 9 * convolve ** 2)
    if form.mixer in ("LSRA", "fc gelu conv"):
        total.add(linear(convolve, convolve) if convolve else 0, patches * convolve ** 2, gelu=patches * convolve)
    if form.mixer == "bn relu":
        total.add(4 * convolve, 0)  # the paper counts both moving statistics too
    if form.mixer == "parallel":
        total.add(9 * width * width, patches * 9 * width * width, add=tokens * width)


def count(form):
    total = Sum()
    width, patches = form.width, project(form, total)
    tokens = patches + 1
    total.add(width, 0)
    if form.positions:
        total.add(tokens * width, 0, add=tokens * width)
    for attend in attention_channels(form):
        mix(form, attend, patches, total)
        total.add(4 * width + mlp(width, 4 * width), tokens * 8 * width * width,
                  gelu=tokens * 4 * width, add=2 * tokens * width, norm=2 * tokens * width)
    total.add(2 * width + linear(width, CLASSES), width * CLASSES, norm=tokens * width)
    return total


TINY = {"width": 330, "depth": 8}
BASE = {"width": 400, "depth": 10, "heads": 16}
# The paper's rows by their index.
ROWS = {
    "1.1 ViT": Form(patches="4x4", schedule="all"),
    "1.2 LSRA": Form(patches="4x4", schedule="half", mixer="LSRA"),
    "1.3 CvT^P": Form(patches="CvT^P", schedule="all"),
    "1.4 CvT^T": Form(patches="4x4", schedule="all", mixer="CvT^T"),
    "1.5 CvT^P + CvT^T": Form(patches="CvT^P", schedule="all", mixer="CvT^T"),
    "1.6 ViT_C": Form(patches="ViT_C", schedule="all", depth=4),
    "1.7 EIT^P": Form(schedule="all"),
    "1.8 EIT^T": Form(patches="4x4"),
    "1.9 EIT3/4-Mini": Form(),
    "2.14 EIT3/3-Mini": Form(pool=3),
    "2.15 EIT3/4-Tiny": Form(**TINY),
    "2.16 EIT3/3-Tiny": Form(**TINY, pool=3),
    "2.17 EIT3/4-Base": Form(**BASE),
    "2.18 EIT3/3-Base": Form(**BASE, pool=3),
    "3.2 parallel convolution": Form(schedule="all", mixer="parallel", positions=False),
    "4.3 Conv Conv": Form(mixer="conv x3"),
    "4.4 GELU Conv": Form(mixer="fc gelu conv"),
    "4.5 BN ReLU": Form(mixer="bn relu"),
}
