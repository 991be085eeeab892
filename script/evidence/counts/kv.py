# SPDX-License-Identifier: Apache-2.0
"""The attentions of paper 004."""


def attention(width, kind, positions, projection_bias):
    """Returns the number of parameters of an attention module, including values and output. `positions`: channels of KV+Pos."""
    projections = 3 if kind == "QKV" else 2
    own = positions + 1 if kind == "KV+Pos" else 0
    bias = projections * width if projection_bias else 0
    return projections * width * width + bias + width * width + width + own


def scores(width, kind, positions):
    """Returns the number of parameters that only the scores need, without biases, as the paper's Table 1 counts them."""
    return {"QKV": 2 * width * width, "KV": width * width, "KV+Pos": width * width + positions}[kind]
