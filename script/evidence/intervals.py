# SPDX-License-Identifier: Apache-2.0
"""Student's t, the sign test, rank correlation and Holm's correction, from their definitions. For the same pairs and number of
comparisons, the numbers are those of common/statistics/paired.cc, which `vitrine-train sweep` uses for its table of effects."""
import dataclasses
import math
import random
import statistics


ROUNDING = 1e-10  # relative tolerance: values within it are equal except for rounding
FEWEST = 3  # minimum number of pairs for a finding


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, of n independent values."""

    mean: float
    low: float
    high: float
    deviation: float
    n: int


def beta_share(x, a, b):
    """Returns the regularised incomplete beta function, by Lentz's continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x)) / a
    upper, lower, result = 1.0, 0.0, 1.0
    for i in range(300):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / (1 + term * lower)
        upper = 1 + term / upper
        result *= upper * lower
        if abs(upper * lower - 1) < 1e-13:
            break
    return front * (result - 1)


def t_tail(t, freedom):
    """Returns the probability of a value above t."""
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    half = 0.5 * beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)
    return half if t > 0 else 1 - half


def t_quantile(tail, freedom):
    """Returns the value t for which the probability of a value above t is `tail`. Requires tail < 1/2."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > tail else (low, middle)
    return high


def estimate(values):
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return Estimate(mean, -math.inf, math.inf, math.inf, n)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    if deviation <= ROUNDING * abs(mean):
        deviation = 0.0
    half = t_quantile(0.025, n - 1) * deviation / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, deviation, n)


def prediction(values, tail=0.0015):
    """Returns the prediction interval: one more value is in it with a probability of 1 - 2 tail, by default 99.7 %."""
    found = estimate(values)
    half = t_quantile(tail, found.n - 1) * found.deviation * math.sqrt(1 + 1 / found.n)
    return found.mean - half, found.mean + half


def chance_above(values, bound):
    """Returns the one-sided p value: the probability that a mean is at least as high as the mean of `values` if the true mean is
    `bound`. If all n values are equal, they give no estimate of the spread; the result is then that of a sign test: 0.5^n or 1."""
    found = estimate(values)
    if found.n < 2:
        return 1.0
    if found.deviation == 0:
        return 0.5 ** found.n if found.mean > bound else 1.0
    return t_tail((found.mean - bound) * math.sqrt(found.n) / found.deviation, found.n - 1)


def sign_test(values):
    """Returns the two-sided p value of the sign test. Zeros are left out."""
    above, below = sum(v > 0 for v in values), sum(v < 0 for v in values)
    n, most = above + below, max(above, below)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(most, n + 1)) / 2 ** n) if n else 1.0


def holm(chances):
    """Returns the p values after Holm's correction for their number, in the same order."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected, highest = [0.0] * len(chances), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[index]))
        corrected[index] = highest
    return corrected


def ranks(values):
    order = sorted(values)
    return [order.index(v) + (order.count(v) - 1) / 2 for v in values]


def rank_correlation(xs, ys):
    """Returns Spearman's rank correlation rho; 0 if all `xs` or all `ys` are equal."""
    left, right = ranks(xs), ranks(ys)
    middle = (len(xs) - 1) / 2
    a, b = [x - middle for x in left], [y - middle for y in right]
    scale = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b)) / scale if scale else 0.0


def rank_correlation_chance(xs, ys, draws=20000):
    """Returns the one-sided p value of the rank correlation, from random permutations drawn with a fixed seed."""
    left, right, draw = ranks(xs), ranks(ys), random.Random(1)
    # In rho, a permutation changes only the sum of the products of ranks. So only these sums are compared.
    found = sum(x * y for x, y in zip(left, right))
    hits = 0
    for _ in range(draws):
        draw.shuffle(right)
        hits += sum(x * y for x, y in zip(left, right)) >= found - 1e-9
    return (hits + 1) / (draws + 1)


def pairs_needed(deviation, distance, tail):
    """Returns the number of pairs for which a t test at the one-sided level `tail` detects `distance` with a probability of
    80 %. Returns None if there is no spread or no distance, or if the number is above a million."""
    if deviation <= 0 or distance <= 0 or math.isinf(deviation):
        return None
    ratio, missed, normal = deviation / distance, 0.2, statistics.NormalDist()
    # The normal distribution has smaller quantiles than Student's t, so the search starts at a lower bound.
    n = max(FEWEST, math.ceil(((normal.inv_cdf(1 - tail) + normal.inv_cdf(1 - missed)) * ratio) ** 2))
    if n > 1e6:
        return None
    while (t_quantile(tail, n - 1) + t_quantile(missed, n - 1)) * ratio > math.sqrt(n):
        n += 1
    return n
