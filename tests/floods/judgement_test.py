# SPDX-License-Identifier: Apache-2.0
"""Tests the verdicts of run.py on rows that are written by hand."""
import unittest

import judgement


def calls(p99, failed=0):
    return {kind: {"calls": 100, "failed": failed, "p99_ms": p99, "first_failure": "14 gone"} for kind in ("check", "classify", "fresh")}


def row(flood="reset", **more):
    return {"flood": flood, "base": calls(1), "beside": calls(2), "rss_before": 50e6, "rss_most": 55e6, "exit": None,
            "sent": {"frames": 10**6, "connections": 10**6, "begun": 768, "answered": 10**6, "cut_off": 1002, "resets": 768,
                     "ended": 768}} | more


class Floods(unittest.TestCase):
    def verdict(self, **more):
        return judgement.judge_flood(row(**more), 10, 3)["verdict"]

    def test_bounds_of_latency_memory_and_failures(self):
        self.assertEqual(self.verdict(), "goal")
        self.assertEqual(self.verdict(beside=calls(22)), "must")
        self.assertEqual(self.verdict(beside=calls(52)), "MISSED")
        self.assertEqual(self.verdict(rss_most=80e6), "must")
        self.assertEqual(self.verdict(rss_most=101e6), "MISSED")
        self.assertEqual(self.verdict(beside=calls(1, failed=1)), "MISSED")
        self.assertEqual(self.verdict(exit=-6), "MISSED")

    def test_callers_with_new_connections_are_judged(self):
        self.assertEqual(self.verdict(beside=calls(2) | {"fresh": calls(30)["fresh"]}), "must")
        self.assertEqual(self.verdict(beside=calls(2) | {"fresh": calls(200)["fresh"]}), "MISSED")

    def test_a_flood_that_sends_nothing_has_missed(self):
        nothing = row()["sent"] | {"frames": 0, "connections": 3, "begun": 0, "answered": 0}
        for flood in judgement.FLOODS:
            with self.subTest(flood):
                self.assertEqual(self.verdict(flood=flood), "goal")
                self.assertEqual(self.verdict(flood=flood, sent=nothing), "MISSED")

    def test_the_server_must_end_slow_connections_and_calls(self):
        for flood, count in {"slow-preface": "cut_off", "window-0": "resets", "slow-bodies": "ended"}.items():
            with self.subTest(flood):
                self.assertEqual(self.verdict(flood=flood, sent=row()["sent"] | {count: 0}), "MISSED")
                self.assertIn("ended", judgement.judge_flood(row(flood), 45, 3)["why"])


class GetModel(unittest.TestCase):
    def verdict(self, *p99, **more):
        return judgement.judge_get_model([row(beside=calls(each), **more) for each in p99], 10)["verdict"]

    def test_the_median_of_the_rounds_is_judged(self):
        self.assertEqual(self.verdict(1.1, 9, 1), "goal")
        self.assertEqual(self.verdict(1.9, 9, 1), "must")
        self.assertEqual(self.verdict(2.1, 9, 1), "MISSED")
        self.assertEqual(self.verdict(1, 1, 1, sent={"answered": 0}), "MISSED")


class Unread(unittest.TestCase):
    def verdict(self, gauges, begun=15360):
        samples = [(100, gauge * 1e8) for gauge in gauges]
        return judgement.judge_unread(row(samples=samples, growth_mb=150, sent={"begun": begun}), 999_995)["verdict"]

    def test_the_worst_steady_sample_is_judged(self):
        self.assertEqual(self.verdict([1, 1, 1, 1.01, 1, 1]), "must")
        self.assertEqual(self.verdict([1] * 20 + [1.03] + [1] * 20), "MISSED")
        self.assertEqual(self.verdict([1, 1, 1]), "MISSED")  # no steady sample
        self.assertEqual(self.verdict([1] * 9, begun=60), "MISSED")
        self.assertEqual(self.verdict([0.5] * 9), "MISSED")


if __name__ == "__main__":
    unittest.main()
