# SPDX-License-Identifier: Apache-2.0
"""The three kinds of attention of paper 004 in plain Python, on small random matrices drawn with a fixed seed."""
import math
import random

ROWS, WIDTH, CHANNELS = 9, 5, 10


def matrix(seed, rows=ROWS, columns=WIDTH):
    draw = random.Random(seed)
    return [[draw.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def product(left, right):
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*right)] for row in left]


def transposed(values):
    return [list(column) for column in zip(*values)]


def softmax(scores):
    result = []
    for row in scores:
        powers = [math.exp(value - max(row)) for value in row]
        result.append([power / sum(powers) for power in powers])
    return result


def largest_difference(left, right):
    return max(abs(a - b) for row, other in zip(left, right) for a, b in zip(row, other))


def scores(queries, keys):
    return [[value / math.sqrt(WIDTH) for value in row] for row in product(queries, transposed(keys))]


def encoding(position):
    """Returns the channels of one axis of the two-dimensional encoding, in which sines and cosines alternate."""
    rates = [10000 ** (-2 * k / 6) for k in range(3)]
    return [function(position * rate) for rate in rates for function in (math.sin, math.cos)]


def mapped(values, weights, bias):
    """Returns the scores of KV+Pos by the printed formula: a linear layer over the sums of score and encoding value."""
    result = []
    for i, row in enumerate(values):
        result.append([sum(weight * (score + place) for weight, place in zip(weights, (encoding(i) + encoding(j))[:CHANNELS])) + bias
                       for j, score in enumerate(row)])
    return result


def with_offsets(values, weights):
    """Returns the scores of KV+Pos by a simpler formula: a scale for all scores, and an offset per key."""
    offsets = [sum(weight * place for weight, place in zip(weights[6:], encoding(j))) for j in range(len(values[0]))]
    return [[sum(weights) * score + offsets[j] for j, score in enumerate(row)] for row in values]


def answers(inputs, kind):
    """Returns the output of attention with one head, whose layers are random but fixed."""
    keys, values = product(inputs, matrix(2, WIDTH)), product(inputs, matrix(3, WIDTH))
    queries = product(inputs, matrix(4, WIDTH)) if kind == "QKV" else keys
    found = scores(queries, keys)
    if kind == "KV+Pos":
        found = mapped(found, matrix(5, 1, CHANNELS)[0], 0.7)
    return product(softmax(found), values)
