# SPDX-License-Identifier: Apache-2.0
"""The autoscaler of the manifests under loads that rise and fall in steps: as many servers as are needed, without oscillation."""
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


def noisy(load: float, dice: random.Random) -> list[float]:
    """Returns an hour of a constant load with 3 % noise."""
    return [load * dice.uniform(0.97, 1.03) for _ in range(LOOKS)]


def turns(counts: list[int]) -> int:
    """Returns the number of changes of direction."""
    steps = [after - before for before, after in zip(counts, counts[1:]) if after != before]
    return sum(before * after < 0 for before, after in zip(steps, steps[1:]))


class Steps(unittest.TestCase):
    def test_first_metric_follows_the_load(self):
        first = spec()["metrics"][0]["pods"]
        self.assertEqual(first["metric"]["name"], "vitrine_lanes_busy_ratio")
        self.assertEqual(manifests.quantity(first["target"]["averageValue"]), TARGET)
        self.assertEqual([one["pods"]["metric"]["name"] for one in spec()["metrics"][1:]],
                         ["vitrine_requests_shed_ratio", "vitrine_requests_expired_ratio"])

    def test_a_constant_load_is_left_alone(self):
        """For every load and initial number of servers: the number settles within an hour and then stays."""
        for tenths in range(5, 52, 3):
            load = tenths / 10
            for servers in (2, 8):
                with self.subTest(load=load, servers=servers):
                    counts = autoscaler.run(spec(), [load] * 2 * LOOKS, servers)
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


class Control(unittest.TestCase):
    """Shows that the simulation can fail, with a metric that does not follow the load."""

    def test_the_time_in_the_queue_saw_tooths(self):
        by_wait = spec()
        by_wait["metrics"] = [{"pods": {"metric": {"name": name}, "target": {"averageValue": value}}}
                              for name, value in (("vitrine_queue_wait_seconds", "20m"), ("vitrine_requests_shed_ratio", "10m"))]
        counts = autoscaler.run(by_wait, [4.4] * 4 * LOOKS, 6)
        self.assertGreaterEqual(turns(counts), 5, counts)

    def test_a_server_waits_as_queueing_theory_says(self):
        """Mean waits of M/M/4 are tabulated; those of M/D/4 are about half."""
        self.assertAlmostEqual(autoscaler.moment(0.8).wait, 0.01 * 0.746 / 2, delta=1e-4)
        self.assertEqual(autoscaler.moment(2), (1, 0.2, 0.5))
