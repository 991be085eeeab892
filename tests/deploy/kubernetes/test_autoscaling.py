# SPDX-License-Identifier: Apache-2.0
"""The autoscalers of the manifests under loads that rise and fall in steps: as many servers as are needed, no oscillation."""
import itertools
import math
import random
import unittest

import yaml

import autoscaler
import manifests

FILE = manifests.FOLDER / "components" / "autoscaling" / "autoscaler.yaml"
LOOKS = 3600 // autoscaler.PERIOD  # evaluations per hour
TARGET = 0.65                      # share of the lanes' time


def spec() -> manifests.Document:
    return yaml.safe_load(FILE.read_text())["spec"]


def specs() -> dict[str, manifests.Document]:
    """Returns the autoscaler by the busy ratio, and the chart's for clusters without Prometheus."""
    return {"busy": spec(), "cpu": manifests.documents("helm/no-prometheus", "HorizontalPodAutoscaler")[0]["spec"]}


def noisy(load: float, dice: random.Random) -> list[float]:
    """Returns an hour of a constant load with 3 % noise."""
    return [load * dice.uniform(0.97, 1.03) for _ in range(LOOKS)]


def turns(counts: list[int]) -> int:
    """Returns the number of changes of direction."""
    steps = [after - before for before, after in zip(counts, counts[1:]) if after != before]
    return sum(before * after < 0 for before, after in zip(steps, steps[1:]))


class Steps(unittest.TestCase):
    def test_first_metric_follows_the_load(self):
        self.assertEqual(autoscaler.target_of(spec()["metrics"][0]), ("vitrine_lanes_busy_ratio", TARGET))
        self.assertEqual([autoscaler.target_of(one)[0] for one in spec()["metrics"][1:]],
                         ["vitrine_requests_shed_ratio", "vitrine_requests_expired_ratio", "cpu"])
        self.assertEqual(list(map(autoscaler.target_of, specs()["cpu"]["metrics"])), [("cpu", TARGET)])

    def test_a_constant_load_is_left_alone(self):
        """For every load and initial number of servers: the number settles within an hour and then stays."""
        for (name, one), tenths, servers in itertools.product(specs().items(), range(5, 52, 3), (2, 8)):
            load = min(tenths / 10, one["maxReplicas"] * TARGET)
            with self.subTest(name, load=load, servers=servers):
                counts = autoscaler.run(one, [load] * 2 * LOOKS, min(servers, one["maxReplicas"]))
                self.assertLessEqual(turns(counts), 1, counts)
                settled = set(counts[LOOKS:])
                self.assertEqual(len(settled), 1, counts)
                self.assertLessEqual(load / settled.pop(), TARGET * (1 + autoscaler.TOLERANCE) + 1e-9)

    def test_steps(self):
        """Each step lasts an hour. The number of servers may overshoot once; then it is right and stays."""
        dice = random.Random(1)
        loads = [1.0, 2.2, 4.4, 3.0, 1.4, 4.9, 0.3, 2.6]
        hours = [noisy(load, dice) for load in loads]
        counts = autoscaler.run(spec(), sum(hours, []), 2)
        for hour, load in enumerate(loads):
            with self.subTest(hour=hour, load=load):
                seen = counts[hour * LOOKS:(hour + 1) * LOOKS]
                self.assertLessEqual(turns(seen), 1, seen)
                settled = set(seen[-LOOKS // 4:])
                self.assertEqual(len(settled), 1, seen)
                least = max(2, math.ceil(load * 0.97 / TARGET / (1 + autoscaler.TOLERANCE)))
                most = max(2, math.ceil(load * 1.03 / TARGET / (1 - autoscaler.TOLERANCE)))
                self.assertTrue(least <= settled.pop() <= most, seen)

    def test_nobody_is_refused_for_long_after_a_step(self):
        loads = [1.0] * LOOKS + [3.2] * LOOKS
        counts = autoscaler.run(spec(), loads, 2)
        late = [count for count, load in zip(counts[LOOKS + 180 // autoscaler.PERIOD:], loads) if count < 3.2]
        self.assertEqual(late, [])


class Fallback(unittest.TestCase):
    def test_cpu_does_not_decide_while_the_ratio_is_there(self):
        without = {**spec(), "metrics": spec()["metrics"][:-1]}
        loads = [1.0] * LOOKS + [4.4] * LOOKS + [0.5] * LOOKS
        self.assertEqual(autoscaler.run(spec(), loads, 2), autoscaler.run(without, loads, 2))

    def test_without_prometheus_servers_are_added_and_none_is_taken_away(self):
        loads = [1.0] * LOOKS + [4.4] * LOOKS + [0.5] * LOOKS
        counts = autoscaler.run(spec(), loads, 2, away=True)
        self.assertEqual(counts, sorted(counts))
        self.assertGreaterEqual(counts[LOOKS + 300 // autoscaler.PERIOD], 5)


class Control(unittest.TestCase):
    """Shows that the simulation can fail, with a metric that does not follow the load."""

    def test_the_time_in_the_queue_saw_tooths(self):
        by_wait = spec()
        by_wait["metrics"] = [{"type": "Pods", "pods": {"metric": {"name": name}, "target": {"averageValue": value}}}
                              for name, value in (("vitrine_queue_wait_seconds", "20m"), ("vitrine_requests_shed_ratio", "10m"))]
        counts = autoscaler.run(by_wait, [4.4] * 4 * LOOKS, 6)
        self.assertGreaterEqual(turns(counts), 5, counts)

    def test_a_server_waits_as_queueing_theory_says(self):
        """Mean waits of M/M/4 are tabulated; those of M/D/4 are about half."""
        self.assertAlmostEqual(autoscaler.moment(0.8).wait, 0.01 * 0.746 / 2, delta=1e-4)
        self.assertEqual(autoscaler.moment(2), (1, 0.2, 0.5))
