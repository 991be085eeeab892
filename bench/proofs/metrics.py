# SPDX-License-Identifier: Apache-2.0
"""Counters of a server, read from its metrics."""
import re
import urllib.request


def scrape(server):
    with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=30) as response:
        return response.read().decode()


def count(text, name, *labels):
    """Returns the sum over the series of a counter that have all these labels, each as 'name="value"'."""
    series = re.findall(rf"^{name}({{[^}}]*}})? (\S+)$", text, re.MULTILINE)
    return sum(float(value) for found, value in series if all(label in found for label in labels))
