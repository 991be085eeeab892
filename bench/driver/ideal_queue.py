# SPDX-License-Identifier: Apache-2.0
"""Simulates an ideal server with independent callers: which share of its cores can it use within a latency bound?

In the ideal server, each request takes one core for the same time, and runs on the first free core. Requests wait only
because several arrive at about the same time.
"""
import random

REQUESTS = 100_000
SEED = 1
STEPS = 10


def latency(cores, service, rate, quantile):
    """Returns the quantile of the latency in seconds, for Poisson arrivals at `rate`."""
    arrivals, free, now, spent = random.Random(SEED), [0.0] * cores, 0.0, []
    for _ in range(REQUESTS):
        now += arrivals.expovariate(rate)
        core = free.index(min(free))
        free[core] = max(now, free[core]) + service
        spent.append(free[core] - now)
    return sorted(spent)[int(quantile * REQUESTS)]


def share(cores, service, bound, quantile=0.99):
    """Returns the highest rate at which the quantile of the latency is within the bound, as a share of the rate that uses all
    cores (cores / service)."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if latency(cores, service, middle * cores / service, quantile) <= bound:
            low = middle
        else:
            high = middle
    return low
