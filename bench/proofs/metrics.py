# SPDX-License-Identifier: Apache-2.0
"""Counters of a server, read from its metrics and from the kernel."""
import collections
import os
import pathlib
import re
import urllib.request


def scrape(server):
    with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=30) as response:
        return response.read().decode()


def count(text, name, *labels):
    """Returns the sum of a counter over all its series that have every one of `labels`, each given as 'name="value"'."""
    series = re.findall(rf"^{name}({{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    return sum(float(value) for found, value in series if all(label in found for label in labels))


def processor_seconds(process):
    """Returns {thread's name: processor seconds}. All executors count under one name, without their numbers."""
    spent = collections.Counter()
    for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat"):
        name, _, fields = stat.read_text().partition("(")[2].rpartition(")")
        user, system = fields.split()[11:13]
        spent[name.partition("-")[0]] += (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return spent
