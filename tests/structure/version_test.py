# SPDX-License-Identifier: Apache-2.0
"""Tests that the version is typed only in VERSION. Other files read VERSION or are written by script/set-version."""
import re
import unittest
from pathlib import Path

from tree import SOURCE, files, text

VERSION = (SOURCE / "VERSION").read_text().strip()
# Copies of the version that script/set-version writes.
COPIES = re.compile(r"^ARG VITRINE_VERSION=(\S+)$|\bnewTag: ([^\s}]+)|^(?:version: |appVersion: \")(\d[\d.]*)", re.M)
# Other files that may contain the same number: the changelog, recorded results and versions of other packages.
MAY_NAME = re.compile(r"VERSION|CHANGELOG\.md|(docs/research|bench)/results/.*|script/pins/\w+\.txt|.*requirements\.txt")


def copies(root: Path) -> "list[str]":
    """Returns the versions in the Dockerfile, the chart and the manifests, except overlays/dev, which uses local builds."""
    manifests = [root / "deploy/helm/vitrine/Chart.yaml", *sorted((root / "deploy/kubernetes").rglob("*.yaml"))]
    found = [match for path in [root / "Dockerfile", *manifests] for match in COPIES.findall(path.read_text())]
    return [label or tag or chart for label, tag, chart in found if tag != "dev"]


class Version(unittest.TestCase):
    def test_the_version_has_three_parts(self) -> None:
        self.assertRegex(VERSION, r"^\d+\.\d+\.\d+$")

    def test_manifests_chart_and_dockerfile_have_the_version(self) -> None:
        self.assertGreaterEqual(len(copies(SOURCE)), 12)
        self.assertEqual(set(copies(SOURCE)), {VERSION})

    def test_the_version_is_written_nowhere_else(self) -> None:
        number = re.compile(rf"(?<![\w.]){re.escape(VERSION)}(?![\w.]*\d)")
        strays = [str(path) for path in files()
                  if not MAY_NAME.fullmatch(str(path)) and number.search(COPIES.sub("", text(path)))]
        self.assertEqual(strays, [], "use CMake's PROJECT_VERSION or script/set-version for these files")

    def test_the_newest_changelog_entry_has_the_version(self) -> None:
        self.assertEqual(re.findall(r"(?m)^## \[([^]]+)\]", text(Path("CHANGELOG.md")))[0], VERSION)


if __name__ == "__main__":
    unittest.main()
