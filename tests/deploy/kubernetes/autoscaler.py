# SPDX-License-Identifier: Apache-2.0
"""The HorizontalPodAutoscaler's algorithm, as Kubernetes documents and implements it, for servers simulated by queueing
theory. Metrics, limits and scaling policies come from the given manifest."""
import collections
import math
from typing import Callable, NamedTuple

import manifests

PERIOD = 15      # seconds between two evaluations of the controller, and between two scrapes
TOLERANCE = 0.1  # largest distance of metric / target from 1 that causes no scaling
START = 30       # seconds from a pod's creation to its first request
LANES = 4        # lanes per server
SERVICE = 0.01   # seconds that a batch takes


class Moment(NamedTuple):
    """State of one server during one period."""

    busy: float  # share of the lanes' time
    wait: float  # mean seconds in the queue of a request that is answered
    shed: float  # share of the requests that are refused for load


def moment(load: float) -> Moment:
    """Returns the state of a server at `load` times its capacity: an M/D/c queue until it is saturated."""
    busy = min(load, 1)
    if busy >= 0.99:
        return Moment(busy, 0.2, max(0, 1 - 1 / max(load, 1e-9)))
    # Erlang C. With constant service times, waits are half of those with exponential service times.
    offered = busy * LANES
    last = offered**LANES / math.factorial(LANES) / (1 - busy)
    waits = last / (sum(offered**n / math.factorial(n) for n in range(LANES)) + last)
    return Moment(busy, waits * SERVICE / (LANES * (1 - busy)) / 2, 0)


class Server:
    def __init__(self, born: int) -> None:
        self.ready_at = born + START
        self.past: collections.deque[Moment] = collections.deque(maxlen=120 // PERIOD)

    def mean(self, what: Callable[[Moment], float], seconds: int) -> float:
        """Returns the mean over the last `seconds`, or since the start if that is shorter; 0 without any period."""
        recent = list(self.past)[-seconds // PERIOD:]
        return sum(map(what, recent)) / len(recent) if recent else 0


# Per-server metrics as the Prometheus adapter computes them, over the adapter's windows.
METRICS: dict[str, Callable[[Server], float]] = {
    "vitrine_lanes_busy_ratio": lambda server: server.mean(lambda one: one.busy, 60),
    "vitrine_requests_shed_ratio": lambda server: server.mean(lambda one: one.shed, 120),
    "vitrine_requests_expired_ratio": lambda server: 0,  # rejected requests do not expire
    "vitrine_queue_wait_seconds": lambda server: server.mean(lambda one: one.wait, 120),
    # The metrics server's share of the requested cores. Executors that are busy compute.
    "cpu": lambda server: server.mean(lambda one: one.busy, 30),
}


def wanted(values: list[float], unready: int, target: float) -> int:
    """Returns the replicas that one metric requires; unready servers count as idle when scaling up."""
    servers = len(values) + unready
    ratio = sum(values) / len(values) / target if values else 1
    if abs(ratio - 1) <= TOLERANCE:
        return servers
    if ratio < 1 or not unready:
        return math.ceil(ratio * len(values))
    ratio = sum(values) / servers / target
    return servers if ratio <= 1 + TOLERANCE else math.ceil(ratio * servers)


def target_of(metric: manifests.Document) -> tuple[str, float]:
    """Returns a metric's name and target."""
    if metric["type"] == "ContainerResource":
        return metric["containerResource"]["name"], metric["containerResource"]["target"]["averageUtilization"] / 100
    return metric["pods"]["metric"]["name"], manifests.quantity(metric["pods"]["target"]["averageValue"])


class Autoscaler:
    """The controller for a manifest's `spec`. If Prometheus is `away`, only CPU has a value."""

    def __init__(self, spec: manifests.Document, away: bool = False) -> None:
        self.least, self.most, self.behavior = spec["minReplicas"], spec["maxReplicas"], spec["behavior"]
        self.targets = dict(map(target_of, spec["metrics"]))
        self.away = away
        self.recommended: list[tuple[int, int]] = []  # second, replicas
        self.changes: list[tuple[int, int]] = []      # second, replicas more or fewer

    def replicas(self, now: int, servers: list[Server]) -> int:
        ready = [one for one in servers if one.ready_at <= now]
        asked = max(wanted([METRICS[name](one) for one in ready], len(servers) - len(ready), target)
                    for name, target in self.targets.items() if name == "cpu" or not self.away)
        if self.away:  # Without one of its metrics, the controller does not scale down.
            asked = max(asked, len(servers))
        self.recommended.append((now, asked))
        least = min(self.since(now, "scaleUp"))
        most = max(self.since(now, "scaleDown"))
        chosen = self.paced(now, len(servers), min(max(len(servers), least), most))
        chosen = min(max(chosen, self.least), self.most)
        if chosen != len(servers):
            self.changes.append((now, chosen - len(servers)))
        return chosen

    def since(self, now: int, direction: str) -> list[int]:
        window = self.behavior[direction]["stabilizationWindowSeconds"]
        return [asked for second, asked in self.recommended if second >= now - window]

    def paced(self, now: int, current: int, chosen: int) -> int:
        """Returns `chosen`, limited by the scaling policies and their periods."""
        up = chosen > current
        rules = self.behavior["scaleUp" if up else "scaleDown"]
        limits = []
        for policy in rules["policies"]:
            start = current - sum(change for second, change in self.changes if second > now - policy["periodSeconds"])
            step = policy["value"] if policy["type"] == "Pods" else math.ceil(start * policy["value"] / 100)
            limits.append(step + start - current if up else step + current - start)
        step = max(0, (max if rules["selectPolicy"] == "Max" else min)(limits))
        return min(chosen, current + step) if up else max(chosen, current - step)


def run(spec: manifests.Document, loads: list[float], servers: int, away: bool = False) -> list[int]:
    """Returns the number of servers at each evaluation. `loads` has one load per evaluation, in units of a server's
    capacity."""
    scaler = Autoscaler(spec, away)
    there = [Server(-START) for _ in range(servers)]
    counts = []
    for look, load in enumerate(loads):
        now = look * PERIOD
        ready = [one for one in there if one.ready_at <= now]
        for one in ready:
            one.past.append(moment(load / len(ready)))
        count = scaler.replicas(now, there)
        there = there[:count] + [Server(now) for _ in range(count - len(there))]
        counts.append(count)
    return counts
