# SPDX-License-Identifier: Apache-2.0
"""Tests that the files in ConfigMaps are valid protobuf text of the server's messages."""
import re
import shutil
import subprocess
import unittest

import manifests

SERVING = manifests.FOLDER / "base" / "serving.textproto"
POLICY = manifests.FOLDER / "components" / "identity" / "policy.textproto"


def encode(message, file, text):
    """Returns protoc's error if the text is not a valid message of this type, otherwise an empty string."""
    root = manifests.ROOT / "proto"
    said = subprocess.run(["protoc", f"--proto_path={root}", f"--encode=vitrine.v1.{message}", f"vitrine/v1/{file}.proto"],
                          input=text.encode(), capture_output=True)
    return said.stderr.decode() if said.returncode else ""


@unittest.skipIf(shutil.which("protoc") is None, "texts are not parsed: there is no protoc (Debian: protobuf-compiler)")
class Settings(unittest.TestCase):
    def test_settings_files_are_valid(self):
        self.assertEqual(encode("ServingConfig", "serving", SERVING.read_text()), "")
        self.assertEqual(encode("AccessPolicy", "access", POLICY.read_text()), "")
        self.assertIn("no field named", encode("AccessPolicy", "access", "callers { tokens: \"a\" }"))

    def test_settings_of_the_chart_are_valid(self):
        policies = {one["data"]["policy.textproto"] for name in manifests.folders("ConfigMap") if name.startswith("helm/")
                    for one in manifests.documents(name, "ConfigMap") if "policy.textproto" in one["data"]}
        self.assertGreaterEqual(len(policies), 2)
        for policy in policies:
            self.assertEqual(encode("AccessPolicy", "access", policy), "")

    def test_examples_of_the_guide_are_valid(self):
        guide = (manifests.ROOT / "docs/operations/kubernetes.md").read_text()
        examples = re.findall(r"^```\n(models \{.*?)^```", guide, re.M | re.S)
        self.assertEqual(len(examples), 1)
        row = examples[0].rstrip().removesuffix("}")
        self.assertEqual(encode("ServingConfig", "serving", examples[0]), "")
        for field in re.findall(r"`(labels \{[^`]*\})`", guide):
            self.assertEqual(encode("ServingConfig", "serving", row + field + "}"), "")


class Policy(unittest.TestCase):
    def test_methods_exist_in_the_server(self):
        """The server does not start with a policy that names an unknown method."""
        known = set()
        for file in (manifests.ROOT / "proto").rglob("*.proto"):
            text = file.read_text()
            package = re.search(r"^package ([\w.]+);", text, re.M)[1]
            for service, body in re.findall(r"^service (\w+) \{(.*?)^\}", text, re.M | re.S):
                known.update(f"/{package}.{service}/{method}" for method in re.findall(r"rpc (\w+)", body))
        asked = re.findall(r'methods: "([^"]+)"', POLICY.read_text())
        self.assertTrue(asked)
        for method in asked:
            with self.subTest(method):
                self.assertTrue(any(one == method or (method.endswith("/*") and one.startswith(method[:-1])) for one in known))
        self.assertFalse([method for method in asked if ".Admin/" in method or "/RepositoryModel" in method])

    def test_roles_and_callers_are_defined_and_used(self):
        text = POLICY.read_text()
        roles = set(re.findall(r'^  name: "([^"]+)"', text, re.M))
        self.assertEqual(set(re.findall(r'roles: "([^"]+)"', text)), roles)
        guide = (manifests.ROOT / "docs/operations/kubernetes.md").read_text()
        self.assertEqual(set(re.findall(r"vitrine token new (\w+)", guide)), set(re.findall(r'token: "([^"]+)"', text)))
        self.assertNotIn("anonymous", text)
