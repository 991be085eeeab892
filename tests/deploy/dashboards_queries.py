# SPDX-License-Identifier: Apache-2.0
"""PromQL and Grafana variables, for the tests of dashboards and alerts."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARDS = sorted((ROOT / "deploy/grafana/dashboards").glob("*.json"))
RULES = sorted((ROOT / "deploy/prometheus/rules").glob("*.yml"))

# Names of our metrics and of metrics that our rules record. up and ALERTS are Prometheus' own.
_METRIC = r"(?:vitrine_\w+|process_\w+|(?:model|version|instance):\w+:\w+)"
_SELECTOR = re.compile(rf"(?<![\w:.])({_METRIC})(?![\w:])(\{{[^}}]*\}})?")


def selectors(expression):
    """Returns (metric, its matchers in braces or "") for every selector of `expression`."""
    return [(metric, matchers or "") for metric, matchers in _SELECTOR.findall(expression)]


def family(metric):
    """Returns the metric's name as documented, without the suffix of a histogram's series, such as "_bucket"."""
    return re.sub(r"_(bucket|sum|count)$", "", metric)


def documented_metrics():
    """Returns the names in the first column of the metric tables of the server and the trainer."""
    names = set()
    for page in ("docs/reference/metrics.md", "docs/how-to/training.md"):
        for line in (ROOT / page).read_text().splitlines():
            if line.startswith("|"):
                names.update(re.findall(r"`((?:vitrine|process)_\w+)", line.split("|")[1]))
    return names


def load_dashboards():
    return {path.stem: json.loads(path.read_text()) for path in DASHBOARDS}


def panels(dashboard):
    """Returns the panels that have queries. Rows are panels without queries."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def variable_queries(dashboard):
    return {variable["name"]: variable["query"]["query"]
            for variable in dashboard["templating"]["list"] if variable["type"] == "query"}


def substitute(expression, rate_interval="1m"):
    """Returns `expression` as Grafana sends it if every variable is set to All."""
    for name, value in (("__rate_interval", rate_interval), ("__range", "1h"), ("instance", ".*"), ("model", ".*"),
                        ("run", ".*")):
        expression = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", value, expression)
    return expression
