# SPDX-License-Identifier: Apache-2.0
"""Reads every dashboard into the types of Grafana's own SDK (PyPI: grafana-foundation-sdk) and writes it again.

Exit code 1: the SDK rejects a dashboard, lacks one of its fields, or changes a value. """

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

import dashboards_queries as queries


def lost(ours, theirs, path):
    """Yields the paths in `ours` whose value is missing or different in `theirs`. Ignores values that only `theirs`
    has, because these are the SDK's defaults."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            yield from lost(value, theirs[key], f"{path}.{key}") if key in theirs else [f"{path}.{key} is unknown"]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, (mine, other) in enumerate(zip(ours, theirs)):
            yield from lost(mine, other, f"{path}[{i}]")
    elif ours != theirs:
        yield f"{path} is {ours!r} and is read as {theirs!r}"


register_default_plugins()
faults = []
for name, dashboard in queries.load_dashboards().items():
    read = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(dashboard)))
    faults.extend(lost(dashboard, read, name))
print("\n".join(faults) or f"{len(queries.DASHBOARDS)} dashboards are what Grafana's SDK reads")
sys.exit(bool(faults))
