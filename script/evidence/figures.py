# SPDX-License-Identifier: Apache-2.0
"""Decimal arithmetic on printed figures. The last digit of a figure shows its precision."""
import decimal
import math

D = decimal.Decimal


def unit(printed):
    """Returns the value of the last printed digit."""
    return D(1).scaleb(printed.as_tuple().exponent)


def shows(value, printed, slack=0):
    """True if `printed` can be `value` rounded; `slack` is the rounding error that `value` itself may have."""
    return abs(D(value) - printed) <= unit(printed) / 2 + D(slack)


def mean(values):
    values = list(values)
    return sum(values, D(0)) / len(values)


def rounded(value, digits):
    """Returns the value with `digits` decimals, halves rounded away from zero as in print."""
    return D(value).quantize(D(1).scaleb(-digits), rounding=decimal.ROUND_HALF_UP)


def short(value, digits=3):
    """Returns a figure for a sentence, without trailing zeros behind the decimal point."""
    text = f"{rounded(value, digits):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def points(value):
    """Returns a difference of accuracies in points, with its sign."""
    return f"{rounded(value, 2):+f}"


def listed(values, digits=4):
    """Returns names and figures for a sentence."""
    return ", ".join(f"{name} {short(value, digits)}" for name, value in values.items())


def accuracy_error(first, second, images):
    """Returns the standard error, in points, of the difference of two accuracies in per cent, each on `images` images."""
    variance = sum(float(p) * (100 - float(p)) / images for p in (first, second))
    return math.sqrt(variance)


def correlation(xs, ys):
    """Returns Pearson's r."""
    x_mean, y_mean = float(mean(xs)), float(mean(ys))
    left, right = [float(x) - x_mean for x in xs], [float(y) - y_mean for y in ys]
    return sum(a * b for a, b in zip(left, right)) / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))
