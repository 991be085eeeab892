# SPDX-License-Identifier: Apache-2.0
"""Tests that the flags in manifests, compose files and images exist in the built programs."""
import json
import re
import shlex
import unittest

import yaml

import flags
import manifests


def from_pods():
    for pod in manifests.pods():
        for container in pod.containers():
            for line in flags.program_lines(manifests.arguments(container)):
                yield f"{pod.where} {container['name']}", line


def from_kustomizations():
    """Yields the flags that patches and components add, even if no overlay renders them."""
    for file in sorted(manifests.FOLDER.rglob("*.yaml")):
        for found in re.findall(r"value: (--[a-z][^\s]*)", file.read_text()):
            yield str(file.relative_to(manifests.ROOT)), ["vitrine-server", found]


def from_compose():
    images = {"server": "vitrine-server", "trainer": "vitrine-train", "client": "vitrine"}
    for file in sorted([*manifests.ROOT.glob("*compose*.y*ml"), *(manifests.ROOT / "deploy").glob("**/*compose*.y*ml")]):
        for name, service in yaml.safe_load(file.read_text()).get("services", {}).items():
            build = service.get("build")
            target = build.get("target", "server") if isinstance(build, dict) else None
            if name.startswith("server"):  # uses the name, because `build` may be in another compose file
                target = "server"
            for key in ("entrypoint", "command"):
                value = service.get(key, [])
                service[key] = shlex.split(value) if isinstance(value, str) else [str(word) for word in value or []]
            words = service["entrypoint"] + service["command"]
            if target and not service["entrypoint"]:
                words = [images[target], *words]
            for line in flags.program_lines(words):
                yield f"{file.relative_to(manifests.ROOT)} {name}", line


def from_dockerfile():
    file = manifests.ROOT / "Dockerfile"
    if not file.exists():
        return
    entry = None
    for kind, words in re.findall(r"^(ENTRYPOINT|CMD|HEALTHCHECK.* CMD) (\[.*\])$", file.read_text(), re.M):
        line = json.loads(words)
        if kind == "ENTRYPOINT":
            entry = line
        for found in flags.program_lines(entry + line if kind == "CMD" else line):
            yield f"Dockerfile {kind}", found


@unittest.skipIf(flags.folder() is None, "the programs are not built: VITRINE_BIN names no folder that has them")
class Flags(unittest.TestCase):
    def check(self, lines, least):
        lines = list(lines)
        self.assertGreaterEqual(len(lines), least)
        for where, line in lines:
            with self.subTest(where):
                self.assertEqual(flags.faults(line), [])

    def test_flags_in_manifests_exist(self):
        self.check(from_pods(), 8)

    def test_flags_in_patches_exist(self):
        self.check(from_kustomizations(), 1)

    def test_flags_in_compose_exist(self):
        self.check(from_compose(), 0)

    def test_flags_in_the_dockerfile_exist(self):
        self.check(from_dockerfile(), 0)
