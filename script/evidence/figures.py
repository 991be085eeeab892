# SPDX-License-Identifier: Apache-2.0
"""Decimal arithmetic on printed figures. The last digit of a figure shows its precision."""
import decimal
import math

D = decimal.Decimal


def unit(printed):
    """Returns the value of the last printed digit."""
    return D(1).scaleb(printed.as_tuple().exponent)


def shows(value, printed, slack=0):
    """Returns True if `printed` can be the rounded `value`. `slack` is the maximum rounding error of `value` itself."""
    return abs(D(value) - printed) <= unit(printed) / 2 + D(slack)


def mean(values):
    values = list(values)
    return sum(values, D(0)) / len(values)


def rounded(value, digits):
    """Returns the value with `digits` decimals. Halves are rounded away from zero, as in the papers."""
    return D(value).quantize(D(1).scaleb(-digits), rounding=decimal.ROUND_HALF_UP)


def short(value, digits=3):
    """Returns a figure for a sentence, without trailing zeros behind the decimal point."""
    text = f"{rounded(value, digits):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def points(value):
    """Returns a difference of accuracies in percentage points, with its sign."""
    return f"{rounded(value, 2):+f}"


def listed(values, digits=4):
    """Returns text with names and figures, for use in a sentence."""
    return ", ".join(f"{name} {short(value, digits)}" for name, value in values.items())


def accuracy_error(first, second, images):
    """Returns the standard error, in percentage points, of the difference of two accuracies, each measured on `images`
    images."""
    variance = sum(float(p) * (100 - float(p)) / images for p in (first, second))
    return math.sqrt(variance)


def correlation(xs, ys):
    """Returns Pearson's correlation coefficient r."""
    x_mean, y_mean = float(mean(xs)), float(mean(ys))
    left, right = [float(x) - x_mean for x in xs], [float(y) - y_mean for y in ys]
    return sum(a * b for a, b in zip(left, right)) / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))
