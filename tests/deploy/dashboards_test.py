#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the generator makes the dashboard files, that panels have descriptions and units, and that queries use
documented metrics.

Tests that need a running server are in dashboards_live_test.py. """

import re
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed (script/bootstrap installs it)")
    sys.exit(77)

import dashboards_queries as queries

# Grafana's ids of the units in use. Grafana would print a misspelled id after the number.
UNITS = {"short", "s", "bytes", "percentunit", "reqps", "cps", "Bps"}
KINDS = {"timeseries", "stat", "bargauge", "table", "heatmap", "state-timeline"}


class Dashboards(unittest.TestCase):
    def setUp(self):
        self.dashboards = queries.load_dashboards()

    def each_panel(self):
        return [(dashboard, panel, f"{name}: {panel['title']}") for name, dashboard in self.dashboards.items()
                for panel in queries.panels(dashboard)]

    def test_there_are_five_dashboards(self):
        self.assertEqual(set(self.dashboards), {"overview", "batching", "models", "executors", "training"})
        self.assertEqual(len({dashboard["uid"] for dashboard in self.dashboards.values()}), 5)
        self.assertEqual(len({dashboard["title"] for dashboard in self.dashboards.values()}), 5)

    def test_files_equal_the_generators_output(self):
        done = subprocess.run([sys.executable, queries.ROOT / "deploy/grafana/generate.py", "--check"], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)

    def test_every_panel_has_description_and_unit(self):
        for _, panel, where in self.each_panel():
            with self.subTest(where):
                self.assertIn(panel["type"], KINDS)
                self.assertGreater(len(panel["description"]), 20)
                self.assertTrue(panel["description"].endswith("."))
                self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS)

    def test_thresholds_are_increasing(self):
        for _, panel, where in self.each_panel():
            with self.subTest(where):
                steps = panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
                if steps:
                    self.assertIsNone(steps[0]["value"])
                    values = [step["value"] for step in steps[1:]]
                    self.assertTrue(values and values == sorted(set(values)), values)

    def test_links_lead_to_runbooks(self):
        seen = set()
        for _, panel, where in self.each_panel():
            with self.subTest(where):
                for link in panel["links"]:
                    name = re.fullmatch(r"\$\{runbooks\}/(\w+)\.md", link["url"])[1]
                    self.assertTrue((queries.ROOT / f"docs/operations/runbooks/{name}.md").is_file(), name)
                    seen.add(name)
        books = {path.stem for path in (queries.ROOT / "docs/operations/runbooks").glob("Vitrine*.md")}
        self.assertEqual(books - seen, set(), "runbooks that no panel leads to")

    def test_variables_are_defined(self):
        for dashboard, panel, where in self.each_panel():
            with self.subTest(where):
                known = {variable["name"] for variable in dashboard["templating"]["list"]} | {"__rate_interval"}
                for target in panel["targets"]:
                    used = set(re.findall(r"\$\{?(\w+)", target["expr"]))
                    self.assertEqual(used - known, set())

    def test_metrics_are_documented(self):
        recorded = {rule["record"] for path in queries.RULES for group in yaml.safe_load(path.read_text())["groups"]
                    for rule in group["rules"] if "record" in rule}
        known = queries.documented_metrics() | recorded
        self.assertGreater(len(known), 60)
        for dashboard, panel, where in self.each_panel():
            with self.subTest(where):
                for expression in [*(target["expr"] for target in panel["targets"]),
                                   *queries.variable_queries(dashboard).values()]:
                    for metric, _ in queries.selectors(expression):
                        self.assertTrue(metric in known or queries.family(metric) in known, metric)

    def test_shared_metrics_select_the_job(self):
        """Queries of metrics that other jobs also export must select our job. Other jobs, such as the kubelet, may have
        several series per instance, and a PromQL join would fail on these series."""
        for _, panel, where in self.each_panel():
            for target in panel["targets"]:
                for metric, matchers in queries.selectors(target["expr"]):
                    self.assertTrue(metric.startswith("vitrine_") or ":" in metric or "job=" in matchers, where)

    def test_variables_are_all_substituted(self):
        for _, panel, where in self.each_panel():
            with self.subTest(where):
                for target in panel["targets"]:
                    self.assertNotIn("$", queries.substitute(target["expr"]))


class Provisioning(unittest.TestCase):
    def test_grafana_finds_data_source_and_dashboards(self):
        folder = queries.ROOT / "deploy/grafana/provisioning"
        sources = yaml.safe_load((folder / "datasources/vitrine.yaml").read_text())
        self.assertEqual([source["type"] for source in sources["datasources"]], ["prometheus"])
        providers = yaml.safe_load((folder / "dashboards/vitrine.yaml").read_text())
        self.assertEqual([provider["type"] for provider in providers["providers"]], ["file"])

    def test_the_data_source_has_the_scrape_interval(self):
        sources = yaml.safe_load((queries.ROOT / "deploy/grafana/provisioning/datasources/vitrine.yaml").read_text())
        prometheus = yaml.safe_load((queries.ROOT / "deploy/prometheus/prometheus.yml").read_text())
        self.assertEqual(sources["datasources"][0]["jsonData"]["timeInterval"], prometheus["global"]["scrape_interval"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
