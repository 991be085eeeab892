# SPDX-License-Identifier: Apache-2.0
"""How much of its cores a server can use at all within a bound of its latency, where callers are independent.

An ideal one: each request takes one core for the same time, and goes to the first that is free. What remains is that
arrivals bunch.
"""
import random

REQUESTS = 100_000
SEED = 1
STEPS = 10


def latency(cores, service, rate, quantile):
    """Seconds, of Poisson arrivals at that rate."""
    arrivals, free, now, spent = random.Random(SEED), [0.0] * cores, 0.0, []
    for _ in range(REQUESTS):
        now += arrivals.expovariate(rate)
        core = free.index(min(free))
        free[core] = max(now, free[core]) + service
        spent.append(free[core] - now)
    return sorted(spent)[int(quantile * REQUESTS)]


def share(cores, service, bound, quantile=0.99):
    """Of cores / service, the highest rate at which that quantile is within the bound; by halving."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if latency(cores, service, middle * cores / service, quantile) <= bound:
            low = middle
        else:
            high = middle
    return low
