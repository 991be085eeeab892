#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dashboards/*.json from panels/*.yaml.

    deploy/grafana/generate.py            writes every dashboard
    deploy/grafana/generate.py --check    names the committed files that differ; exit code 1 if there are any

A file in panels/ is a dashboard: title, variables, rows, and for each panel the settings that differ between panels. This
script adds the settings that all panels have (data source, place on the grid, ids, style). Needs python3-yaml.
"""

import argparse
import difflib
import json
import pathlib
import sys

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
RUNBOOKS = FOLDER.parent / "runbooks.url"  # script/dev/set-runbooks changes this file
COLUMNS = 24  # width of Grafana's grid
COLORS = {"ok": "green", "warn": "orange", "bad": "red", "plain": "text"}

# Variables of a dashboard. The values of a variable are the values of a label in the metric "of". The label is "from", or else has the
# variable's name. The user chooses one or more of the values, or all.
VARIABLES = {
    "instance": {"label": "Instance", "of": "vitrine_build_info{job=\"vitrine-server\"}"},
    "model": {"label": "Model", "of": "vitrine_requests_total{instance=~\"$instance\"}"},
    "run": {"label": "Run", "of": "vitrine_train_info", "from": "instance"},
}


def target(query, ref_id, kind):
    instant = kind in ("stat", "table", "bargauge")
    made = {
        "refId": ref_id,
        "datasource": DATA_SOURCE,
        "expr": query["expr"].strip(),
        "instant": instant,
        "range": not instant,
        "format": {"table": "table", "heatmap": "heatmap"}.get(kind, "time_series"),
    }
    if kind != "table":
        made["legendFormat"] = query.get("legend", "__auto")
    return made


def thresholds(steps):
    """Returns thresholds. `steps` maps the meaning of a colour to the lowest value of the colour's range; the first range has
    no lowest value."""
    made = [{"color": COLORS[meaning], "value": value} for meaning, value in steps.items()]
    made[0]["value"] = None
    return {"mode": "absolute", "steps": made}


def custom(panel, kind):
    """Returns Grafana's "custom" field configuration: how a kind of panel draws its fields."""
    if kind == "state-timeline":
        return {"lineWidth": 0, "fillOpacity": 80}
    if kind != "timeseries":
        return {}
    return {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 30 if panel.get("stack") else 8,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if panel.get("stack") else "none", "group": "A"},
        "thresholdsStyle": {"mode": "dashed" if "thresholds" in panel else "off"},
        "scaleDistribution": {"type": "log", "log": 10} if panel.get("log") else {"type": "linear"},
    }


def options(panel, kind):
    reduce = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    if kind == "stat":
        return {
            "reduceOptions": reduce,
            "colorMode": "background" if "thresholds" in panel else "value",
            "graphMode": "none",
            "textMode": panel.get("text", "auto"),
            "justifyMode": "auto",
            "orientation": "auto",
        }
    if kind == "bargauge":
        return {"reduceOptions": reduce, "orientation": "horizontal", "displayMode": "basic", "showUnfilled": True}
    if kind == "table":
        return {"showHeader": True, "cellHeight": "sm"}
    if kind == "heatmap":
        return {
            "calculate": False,
            "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5, "reverse": False},
            "cellGap": 1,
            "yAxis": {"axisPlacement": "left", "unit": panel["unit"], "reverse": False},
            "rowsFrame": {"layout": "auto"},
            "filterValues": {"le": 1e-9},
            "tooltip": {"show": True, "yHistogram": True},
            "legend": {"show": True},
        }
    if kind == "state-timeline":
        return {"mergeValues": True, "showValue": "auto", "alignValue": "left", "rowHeight": 0.8,
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
                "tooltip": {"mode": "single", "sort": "none"}}
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def field_config(panel, kind):
    defaults = {"unit": panel["unit"], "custom": custom(panel, kind)}
    if "thresholds" in panel:
        defaults["thresholds"] = thresholds(panel["thresholds"])
        if kind != "timeseries":
            defaults["color"] = {"mode": "thresholds"}
    for bound in ("min", "max", "decimals"):
        if bound in panel:
            defaults[bound] = panel[bound]
    if "words" in panel:
        values = {str(value): {"text": text, "index": i} for i, (value, text) in enumerate(panel["words"].items())}
        defaults["mappings"] = [{"type": "value", "options": values}]
    overrides = [
        {"matcher": {"id": "byName", "options": name},
         "properties": [{"id": key, "value": value} for key, value in properties.items()]}
        for name, properties in panel.get("columns", {}).items()
    ]
    return {"defaults": defaults, "overrides": overrides}


def table_steps(panel):
    """Returns Grafana's transformations for a table: merge the results of all queries, then hide and rename columns as `panel` states."""
    hidden = {name: True for name in ["Time", *panel.get("hide", [])]}
    steps = [{"id": "merge", "options": {}}] if len(panel["queries"]) > 1 else []
    return steps + [{"id": "organize", "options": {"excludeByName": hidden, "renameByName": panel.get("rename", {}),
                                                   "indexByName": {}}}]


def make_panel(panel, place, panel_id):
    kind = panel.get("kind", "timeseries")
    made = {
        "id": panel_id,
        "type": kind,
        "title": panel["title"],
        "description": " ".join(panel["description"].split()),
        "datasource": DATA_SOURCE,
        "gridPos": place,
        "fieldConfig": field_config(panel, kind),
        "options": options(panel, kind),
        "targets": [target(query, chr(ord("A") + i), kind) for i, query in enumerate(panel["queries"])],
        "links": [{"title": f"Runbook: {name}", "url": f"${{runbooks}}/{name}.md", "targetBlank": True}
                  for name in panel.get("runbooks", [])],
    }
    if kind == "table":
        made["transformations"] = table_steps(panel)
    return made


def lay_out(rows):
    """Places panels from left to right. If a panel does not fit, begins a new line. Numbers the panels in reading order."""
    panels, y = [], 0
    for row in rows:
        panels.append({"id": len(panels) + 1, "type": "row", "title": row["title"], "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}})
        x, y, line = 0, y + 1, 0
        for panel in row["panels"]:
            width, height = panel.get("width", row.get("width", 8)), panel.get("height", row.get("height", 8))
            if x + width > COLUMNS:
                x, y, line = 0, y + line, 0
            panels.append(make_panel(panel, {"x": x, "y": y, "w": width, "h": height}, len(panels) + 1))
            x, line = x + width, max(line, height)
        y += line
    return panels


def variables(names, runbooks):
    made = [{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1,
             "hide": 0, "includeAll": False, "multi": False, "options": [], "current": {}}]
    for name in names:
        row = VARIABLES[name]
        query = f"label_values({row['of']}, {row.get('from', name)})"
        made.append({"name": name, "label": row["label"], "type": "query", "datasource": DATA_SOURCE,
                     "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "hide": 0,
                     "multi": True, "includeAll": True, "allValue": ".*", "options": [],
                     "current": {"text": ["All"], "value": ["$__all"]}})
    made.append({"name": "runbooks", "label": "Runbooks", "type": "textbox", "query": runbooks, "hide": 2,
                 "options": [{"text": runbooks, "value": runbooks, "selected": True}],
                 "current": {"text": runbooks, "value": runbooks}})
    return made


def dashboard(source, name, runbooks):
    return {
        "uid": f"vitrine-{name}",
        "title": source["title"],
        "description": " ".join(source["description"].split()),
        "tags": ["vitrine"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": source.get("refresh", "30s"),
        "time": {"from": source.get("from", "now-1h"), "to": "now"},
        "annotations": {"list": []},
        "links": [{"type": "dashboards", "title": "Vitrine", "tags": ["vitrine"], "asDropdown": True,
                   "icon": "dashboard", "includeVars": True, "keepTime": True, "targetBlank": False, "tooltip": "", "url": ""}],
        "templating": {"list": variables(source["variables"], runbooks)},
        "panels": lay_out(source["rows"]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    arguments = parser.parse_args()
    runbooks = RUNBOOKS.read_text().strip()
    differs = False
    for path in sorted((FOLDER / "panels").glob("*.yaml")):
        made = dashboard(yaml.safe_load(path.read_text()), path.stem, runbooks)
        text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
        written = FOLDER / "dashboards" / f"{path.stem}.json"
        if not arguments.check:
            written.write_text(text)
            continue
        was = written.read_text() if written.exists() else ""
        if was != text:
            differs = True
            sys.stdout.writelines(difflib.unified_diff(was.splitlines(True), text.splitlines(True), str(written),
                                                       f"made from {path.name}"))
    if differs:
        sys.exit("the dashboards are not what deploy/grafana/generate.py makes of panels/; run it and commit")


if __name__ == "__main__":
    main()
