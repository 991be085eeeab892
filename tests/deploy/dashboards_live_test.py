#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real Prometheus watches a loaded server and a training run; no panel, rule or variable may be empty.

    dashboards_live_test.py PROGRAMS [--keep DIR]

PROGRAMS has vitrine-server, vitrine-train and vitrine. Exit code 77, with a message, if Prometheus, openssl or
python3-yaml is missing. --keep leaves logs, the configuration and every query's result (results.json) in DIR.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed (script/bootstrap installs it)")
    sys.exit(77)

import dashboards_queries as queries
from dashboards_scene import Scene

LOAD_SECONDS = 20
RATE_INTERVAL = "10s"

# Series that a server has only after events that do not happen in this test. The test does not require these series.
ABSENT_WHILE_WELL = {
    'vitrine_requests_total{code=~"INTERNAL|UNKNOWN|DATA_LOSS|UNAVAILABLE"}': "no fault of the server",
    "vitrine_repository_refresh_timestamp_seconds": "no remote repository",
}

# Metrics of a GPU. The server of this test has no GPU.
OF_A_GPU = re.compile("vitrine_device_|vitrine_model_memory_bytes")


def finite(series):
    """Returns the finite values of a series. Leaves out NaN, which PromQL gives for 0 / 0."""
    pairs = series.get("values") or [series["value"]]
    return [float(value) for _, value in pairs if math.isfinite(float(value))]


class Live(unittest.TestCase):
    scene = None  # set by main
    results = {}

    @classmethod
    def evaluate(cls, expression, instant):
        now = cls.finished
        if instant:
            data = cls.scene.ask("query", query=expression, time=now)
        else:
            data = cls.scene.ask("query_range", query=expression, start=cls.started, end=now, step="1s")
        if data["resultType"] == "scalar":
            return [{"metric": {}, "value": data["result"]}]
        return [series for series in data["result"] if finite(series)]

    def panels(self):
        return [(name, panel) for name, dashboard in queries.load_dashboards().items()
                for panel in queries.panels(dashboard)]

    def test_every_panel_has_data(self):
        for name, panel in self.panels():
            for target in panel["targets"]:
                if OF_A_GPU.search(target["expr"]):
                    continue
                with self.subTest(f"{name}: {panel['title']}, query {target['refId']}"):
                    expression = queries.substitute(target["expr"], RATE_INTERVAL)
                    found = self.evaluate(expression, target["instant"])
                    self.results[f"{name}: {panel['title']} {target['refId']}"] = found
                    self.assertTrue(found, f"empty: {expression}")
                    for label in re.findall(r"{{(\w+)}}", target.get("legendFormat", "")):
                        self.assertTrue(any(label in series["metric"] for series in found),
                                        f"the legend names {label}, which no series has: {expression}")

    def test_every_rule_can_be_evaluated(self):
        for group in self.scene.ask("rules")["groups"]:
            for rule in group["rules"]:
                with self.subTest(rule["name"]):
                    self.assertEqual(rule["health"], "ok", rule.get("lastError", ""))
                    if rule["type"] == "recording":
                        self.assertTrue(self.evaluate(rule["name"], instant=False))

    def test_rules_use_existing_series(self):
        """An alert with a misspelled metric or label would never fire."""
        for path in queries.RULES:
            for group in yaml.safe_load(path.read_text())["groups"]:
                for rule in group["rules"]:
                    for metric, matchers in queries.selectors(rule["expr"]):
                        if metric + matchers in ABSENT_WHILE_WELL or OF_A_GPU.match(metric):
                            continue
                        with self.subTest(f"{rule.get('alert', rule.get('record'))}: {metric}{matchers}"):
                            self.assertTrue(self.scene.ask("series", **{"match[]": metric + matchers}))

    def test_variables_have_values(self):
        for name, dashboard in queries.load_dashboards().items():
            for variable, query in queries.variable_queries(dashboard).items():
                with self.subTest(f"{name}: {variable}"):
                    metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
                    series = self.scene.ask("series", **{"match[]": queries.substitute(metric)})
                    self.assertTrue([one for one in series if label in one])

    def test_metrics_show_the_actions_on_the_server(self):
        for expression in ("sum(vitrine_requests_shed_total)", "sum(vitrine_requests_cancelled_total)",
                           'sum(vitrine_requests_total{model="unknown", code!="OK"})',
                           'sum(vitrine_requests_total{code="INVALID_ARGUMENT"})',
                           'sum(vitrine_version_requests_total{version="2", code="OK"})',
                           'sum(vitrine_admin_actions_total{action="GetServing", code="OK"})',
                           "sum(vitrine_model_load_failures_total)",
                           'sum(vitrine_model_state{version="3", state="FAILED"})',
                           "max(max_over_time(vitrine_open_streams[1m]))",
                           "max(max_over_time(vitrine_lanes_busy_ratio[1m]))",
                           'sum(vitrine_stage_duration_seconds_count{stage="queue", outcome="error"})',
                           "max(max_over_time(vitrine_queue_depth[1m]))"):
            with self.subTest(expression):
                self.assertTrue(self.evaluate(f"{expression} > 0", instant=True))

    def test_the_damaged_version_has_a_pending_alert(self):
        alerts = self.scene.ask("alerts")["alerts"]
        failing = [alert for alert in alerts if alert["labels"]["alertname"] == "VitrineLoadFailing"]
        self.assertEqual([alert["labels"]["version"] for alert in failing], ["3"])

    def test_every_target_is_scraped(self):
        self.assertEqual({(series["metric"]["job"], *finite(series)) for series in self.evaluate("max_over_time(up[30s])", instant=True)},
                         {("vitrine-server", 1.0), ("vitrine-train", 1.0), ("prometheus", 1.0)})


def run(programs, folder):
    started = time.monotonic()
    with Scene(programs, folder) as scene:
        Live.started = time.time()
        scene.load(LOAD_SECONDS)
        time.sleep(2)  # until the last answers are scraped and recorded
        Live.scene, Live.finished = scene, time.time()
        outcome = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromTestCase(Live))
        pathlib.Path(folder, "results.json").write_text(json.dumps(Live.results, indent=1))
    dashboards = queries.load_dashboards()
    print(f"{len(dashboards)} dashboards, {sum(len(queries.panels(one)) for one in dashboards.values())} panels, "
          f"{len(Live.results)} queries, of which {sum(not found for found in Live.results.values())} are empty; "
          f"{time.monotonic() - started:.0f} s")
    return outcome.wasSuccessful()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--keep", metavar="DIR")
    arguments = parser.parse_args()
    for program in ("prometheus", "openssl"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is not installed (script/bootstrap installs it)")
            return 77
    for program in ("vitrine-server", "vitrine-train", "vitrine"):
        if not pathlib.Path(arguments.programs, program).is_file():
            print(f"skipped: there is no {arguments.programs}/{program}; build it first")
            return 77
    if arguments.keep:
        pathlib.Path(arguments.keep).mkdir(parents=True)
        return 0 if run(arguments.programs, arguments.keep) else 1
    with tempfile.TemporaryDirectory(prefix="vitrine-dashboards-") as folder:
        return 0 if run(arguments.programs, folder) else 1


if __name__ == "__main__":
    sys.exit(main())
