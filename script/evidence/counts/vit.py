# SPDX-License-Identifier: Apache-2.0
"""ViT (papers 002 and 003) at 224x224 pixels."""
from counts import linear, mlp

# Depth and width. The width of the MLP is four times the width.
MODELS = {"Base": (12, 768), "Large": (24, 1024), "Huge": (32, 1280)}


def parameters(model, patch, classes=1000):
    """Returns the number of parameters, without the head if `classes` is 0."""
    depth, width = MODELS[model]
    tokens = (224 // patch) ** 2 + 1
    block = 4 * width + 4 * linear(width, width) + mlp(width, 4 * width)
    head = linear(width, classes) if classes else 0
    return linear(3 * patch * patch, width) + width + tokens * width + depth * block + 2 * width + head
