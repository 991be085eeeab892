# SPDX-License-Identifier: Apache-2.0
"""Exact numbers of parameters and multiply-adds, computed from the shapes of the papers' layers without the programs of this
project.

docs/research/models/ describes the layers; the audit compares the sums with the numbers of parameters in models/zoo/.
"""


def linear(inputs, outputs):
    """Returns the number of parameters of a linear layer with bias."""
    return inputs * outputs + outputs


def mlp(width, hidden):
    return linear(width, hidden) + linear(hidden, width)
