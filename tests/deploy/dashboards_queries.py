# SPDX-License-Identifier: Apache-2.0
"""PromQL and Grafana variables, for the tests of dashboards and alerts."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARDS = sorted((ROOT / "deploy/grafana/dashboards").glob("*.json"))
RULES = sorted((ROOT / "deploy/prometheus/rules").glob("*.yml"))

# Metrics that are ours or recorded by us; up and ALERTS are Prometheus' own.
_METRIC = r"(?:vitrine_\w+|process_\w+|(?:model|version|instance):\w+:\w+)"
_SELECTOR = re.compile(rf"(?<![\w:.])({_METRIC})(?![\w:])(\{{[^}}]*\}})?")


def selectors(expression):
    """(metric, its matchers in braces or "") of every selector of `expression`."""
    return [(metric, matchers or "") for metric, matchers in _SELECTOR.findall(expression)]


def family(metric):
    """The name that a document gives to a series of a histogram."""
    return re.sub(r"_(bucket|sum|count)$", "", metric)


def documented_metrics():
    """Names in the first columns of the tables of metrics, of the server and of the trainer."""
    names = set()
    for page in ("docs/reference/metrics.md", "docs/how-to/training.md"):
        for line in (ROOT / page).read_text().splitlines():
            if line.startswith("|"):
                names.update(re.findall(r"`((?:vitrine|process)_\w+)", line.split("|")[1]))
    return names


def load_dashboards():
    return {path.stem: json.loads(path.read_text()) for path in DASHBOARDS}


def panels(dashboard):
    """Panels with queries; rows have none."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def variable_queries(dashboard):
    return {variable["name"]: variable["query"]["query"]
            for variable in dashboard["templating"]["list"] if variable["type"] == "query"}


def substitute(expression, rate_interval="1m"):
    """`expression` as Grafana sends it while every variable is at All."""
    for name, value in (("__rate_interval", rate_interval), ("__range", "1h"), ("instance", ".*"), ("model", ".*"),
                        ("run", ".*")):
        expression = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", value, expression)
    return expression
