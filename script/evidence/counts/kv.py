# SPDX-License-Identifier: Apache-2.0
"""The kinds of attention of paper 004."""


def attention(width, kind, positions, projection_bias):
    """Returns the number of parameters of an attention module, including its layers for values and output. `positions`
    is the number of KV+Pos's channels."""
    projections = 3 if kind == "QKV" else 2
    own = positions + 1 if kind == "KV+Pos" else 0
    bias = projections * width if projection_bias else 0
    return projections * width * width + bias + width * width + width + own


def scores(width, kind, positions):
    """Returns the number of parameters for the scores alone, without biases, like the paper's Table 1."""
    return {"QKV": 2 * width * width, "KV": width * width, "KV+Pos": width * width + positions}[kind]
