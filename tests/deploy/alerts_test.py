#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the files of alerts and recording rules: promtool's checks and unit tests, annotations, runbooks.

The environment variable PROMTOOL names the program (default: promtool). VITRINE_BIN is the folder of our programs. Without it,
the test of the commands in runbooks is skipped. """

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed (script/bootstrap installs it)")
    sys.exit(77)

import dashboards_queries as queries

PROMTOOL = os.environ.get("PROMTOOL", "promtool")
PROGRAMS = os.environ.get("VITRINE_BIN", "")
CASES = sorted((pathlib.Path(__file__).parent / "alerts").glob("*.yml"))
# Page on how to do a runbook's steps under Kubernetes.
REACHING = queries.ROOT / "docs/operations/runbooks/reaching-a-replica.md"
RUNBOOKS = sorted(set((queries.ROOT / "docs/operations/runbooks").glob("*.md")) - {REACHING})
# Prefix of the runbooks' URLs; script/dev/set-runbooks changes it.
BASE = (queries.ROOT / "deploy/runbooks.url").read_text().rstrip("\n")
HEADINGS = ["## What it means", "## How to see it", "## What to do"]


def rules(kind):
    return [rule for path in queries.RULES for group in yaml.safe_load(path.read_text())["groups"]
            for rule in group["rules"] if kind in rule]


def promtool(*arguments):
    return subprocess.run([PROMTOOL, *map(str, arguments)], text=True, capture_output=True, check=False)


@unittest.skipUnless(shutil.which(PROMTOOL), "promtool is not installed: it is in Debian's package prometheus")
class Promtool(unittest.TestCase):
    def test_configuration_is_valid(self):
        done = promtool("check", "config", queries.ROOT / "deploy/prometheus/prometheus.yml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(queries.RULES)} rule files found", done.stdout)

    def test_rules_are_valid(self):
        done = promtool("check", "rules", "--lint=all", "--lint-fatal", *queries.RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_unit_tests_pass(self):
        for path in CASES:
            with self.subTest(path.name):
                done = promtool("test", "rules", path)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Rules(unittest.TestCase):
    def test_every_alert_has_severity_description_and_runbook(self):
        for rule in rules("alert"):
            with self.subTest(rule["alert"]):
                self.assertTrue(rule["alert"].startswith("Vitrine"))
                self.assertIn(rule["labels"]["severity"], {"page", "ticket"})
                self.assertGreater(len(rule["annotations"]["summary"]), 10)
                self.assertTrue(rule["annotations"]["description"].endswith("."))
                self.assertEqual(rule["annotations"]["runbook_url"], f"{BASE}/{rule['alert']}.md")

    def test_each_budget_has_one_alert(self):
        """The alerts for all windows of a budget share one name and one runbook, since the steps do not depend on how
        fast the budget burns."""
        found = {}
        for rule in rules("alert"):
            if "BudgetBurn" in rule["alert"]:
                found.setdefault(rule["alert"], []).append((rule["labels"]["window"], rule["labels"]["severity"]))
        windows = [("1h", "page"), ("6h", "ticket"), ("3d", "ticket")]
        self.assertEqual(found, {"VitrineErrorBudgetBurn": windows, "VitrineLatencyBudgetBurn": windows})

    def test_every_alert_is_tested_firing_and_silent(self):
        fires, silent = set(), set()
        for path in CASES:
            for test in yaml.safe_load(path.read_text())["tests"]:
                for case in test["alert_rule_test"]:
                    (fires if case["exp_alerts"] else silent).add(case["alertname"])
        names = {rule["alert"] for rule in rules("alert")}
        self.assertEqual(fires, names)
        self.assertEqual(silent, names)

    def test_metrics_are_documented(self):
        recorded = {rule["record"] for rule in rules("record")}
        known = queries.documented_metrics() | recorded
        for rule in rules("expr"):
            with self.subTest(rule.get("alert", rule.get("record"))):
                found = queries.selectors(rule["expr"])
                self.assertTrue(found or "up{" in rule["expr"])
                for metric, _ in found:
                    self.assertTrue(metric in known or queries.family(metric) in known, metric)


class SetRunbooks(unittest.TestCase):
    """Runs script/dev/set-runbooks on a copy of the files that it changes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for part in ("deploy", "docs/operations/runbooks", "script/dev/set-runbooks", "tests/deploy"):
            source = queries.ROOT / part
            (self.tree / part).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, self.tree / part, symlinks=True)  # the chart links to the manifests
            else:
                shutil.copy(source, self.tree / part)

    def run_with(self, *arguments):
        return subprocess.run([self.tree / "script/dev/set-runbooks", *arguments], text=True, capture_output=True, check=False)

    def test_every_runbook_address_can_be_changed(self):
        done = self.run_with("https://wiki.example/vitrine/pages/")
        self.assertEqual(done.returncode, 0, done.stderr)
        left, moved = [], set()
        for path in [*self.tree.glob("deploy/**/*"), *self.tree.glob("tests/deploy/alerts/*")]:
            if path.is_file() and path.suffix in (".json", ".url", ".yaml", ".yml"):
                text = path.read_text()
                left += [path.name] if BASE in text else []
                moved |= {path.name} if "https://wiki.example/vitrine/pages" in text else set()
        self.assertEqual(left, [])
        self.assertLessEqual({"runbooks.url", "service.yml", "prometheus-rule.yaml", "overview.json", "budgets.yml"}, moved)


class Runbooks(unittest.TestCase):
    def test_each_alert_has_one_runbook(self):
        alerts = {rule["alert"] for rule in rules("alert")}
        self.assertEqual({path.stem for path in RUNBOOKS}, alerts)
        table = (queries.ROOT / "docs/operations/monitoring.md").read_text()
        self.assertEqual(set(re.findall(r"^\| \[(Vitrine\w+)\]", table, re.M)), alerts)

    def test_every_runbook_has_the_three_sections(self):
        for path in RUNBOOKS:
            with self.subTest(path.name):
                text = path.read_text()
                self.assertTrue(text.startswith(f"# {path.stem}\n"))
                self.assertEqual(re.findall(r"^## .*", text, re.M), HEADINGS)
                self.assertIn("```", text, "a runbook has something to type")

    def test_every_runbook_has_kubernetes_instructions(self):
        """The Kubernetes manifests enable no Admin service, and a pod's port must be forwarded. Therefore every runbook links the
        page on Kubernetes, and every step with --admin has its own instruction for Kubernetes."""
        for path in RUNBOOKS:
            with self.subTest(path.name):
                text = path.read_text()
                self.assertIn("(reaching-a-replica.md", text.partition(HEADINGS[0])[0])
                steps = re.split(r"(?m)^\d+\. ", text.partition(HEADINGS[2])[2])
                for step in steps:
                    if "--admin" in step:
                        self.assertIn("Kubernetes:", step)

    def test_logs_of_several_pods_are_complete(self):
        """With a selector, kubectl shows only the last ten lines of each pod, even with --since."""
        for path in [*RUNBOOKS, REACHING]:
            for line in commands(path.read_text()):
                if re.search(r"\blogs -l\b", line):
                    self.assertIn("--tail=-1", line, path.name)

    @unittest.skipUnless(PROGRAMS and pathlib.Path(PROGRAMS, "vitrine").is_file(), "VITRINE_BIN names no programs")
    def test_commands_and_flags_exist(self):
        """Every command and flag of our programs in a runbook is in the programs' help."""
        helps = {}

        def help_of(words):
            key = tuple(words)
            if key not in helps:
                done = subprocess.run([pathlib.Path(PROGRAMS) / words[0], *words[1:], "--help"], text=True,
                                      capture_output=True, check=False)
                helps[key] = done.stdout if done.returncode == 0 else ""
            return helps[key]

        for path in [*RUNBOOKS, REACHING]:
            for line in commands(path.read_text()):
                words = shlex.split(line, comments=True)
                if not words or not re.fullmatch(r"vitrine(-\w+)?", words[0]):
                    continue
                with self.subTest(f"{path.name}: {line}"):
                    asked = [words[0], *subcommand(words)]
                    pages = [help_of(asked[:length]) for length in range(1, len(asked) + 1)]
                    for word, page in zip(asked[1:], pages):
                        self.assertRegex(page, rf"(?m)^  {word}\b")
                    self.assertTrue(all(pages))
                    for flag in [word.split("=")[0] for word in words if word.startswith("--")]:
                        self.assertRegex("".join(pages), rf"(?<![\w-]){flag}(?![\w-])")


def commands(text):
    """Yields the lines of code blocks and the code within sentences. Joins lines that end with a backslash. Ends a line at
    the first pipe, redirection or `&&`."""
    for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
        yield code
    for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                yield re.split(r" \|| >| &&", line)[0].strip()


def subcommand(words):
    verbs = {"vitrine": 2, "vitrine-repo": 1, "vitrine-train": 1}.get(words[0], 0)
    found = []
    for word in words[1:1 + verbs]:
        if not re.fullmatch(r"[a-z]+", word) or (found and found[0] not in ("models", "admin")):  # other commands have no subcommands
            break
        found.append(word)
    return found


if __name__ == "__main__":
    unittest.main(verbosity=1)
