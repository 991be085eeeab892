# SPDX-License-Identifier: Apache-2.0
"""Every object is one that Kubernetes would take: its own schemas, strictly, and ours for custom resources."""
import functools
import json
import re
import unittest

import jsonschema
import kubernetes_validate
import yaml

import manifests

# The oldest with everything that is used (a preStop that sleeps), one between, and the newest that the package knows.
VERSIONS = ("1.30", "1.32", kubernetes_validate.latest_version())


def faults_of(document):
    return faults_in(json.dumps(document))


@functools.cache
def faults_in(text):
    return list(faults(json.loads(text)))


def faults(document):
    own = manifests.schema(document["kind"])
    if own is not None:
        for error in jsonschema.Draft202012Validator(own).iter_errors(document):
            yield f"{error.json_path}: {error.message}"
        return
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{version}: {'.'.join(map(str, error.path))}: {error.message}"
        except kubernetes_validate.SchemaNotFoundError as error:
            yield f"{version}: no schema: {error.message}"


class Schema(unittest.TestCase):
    def test_every_object(self):
        for folder, documents in manifests.all_documents().items():
            for document in documents:
                with self.subTest(f"{folder} {manifests.identity(document)}"):
                    self.assertEqual(faults_of(document), [])

    def test_pods_inside_custom_resources(self):
        """Their own schemas leave pods open; Kubernetes' does not."""
        custom = [pod for pod in manifests.pods() if pod.kind in ("PyTorchJob", "ServingRuntime")]
        self.assertTrue(custom)
        for pod in custom:
            with self.subTest(pod.where):
                document = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"},
                            "template": {"metadata": pod.metadata, "spec": pod.spec}}
                self.assertEqual(faults_of(document), [])

    def test_a_wrong_object_is_refused(self):
        """The check itself: a field that does not exist, a number where words belong, a custom resource likewise."""
        pod = next(manifests.pods())
        good = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"},
                "template": {"metadata": pod.metadata, "spec": pod.spec}}
        self.assertEqual(faults_of(good), [])
        text = yaml.safe_dump(good)
        for before, after in (("readinessProbe", "readynessProbe"), ("automountServiceAccountToken: false",
                              "automountServiceAccountToken: 7"), ("seccompProfile", "seccomp")):
            self.assertIn(before, text)
            self.assertNotEqual(faults_of(yaml.safe_load(text.replace(before, after))), [], after)
        monitor = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "x"},
                   "spec": {"selector": {"matchLabels": {"a": "b"}}, "endpoints": [{"port": "metrics", "interval": "15"}]}}
        self.assertNotEqual(faults_of(monitor), [])

    def test_names_and_labels(self):
        for folder, documents in manifests.all_documents().items():
            seen = set()
            for document in documents:
                with self.subTest(f"{folder} {manifests.identity(document)}"):
                    key = (document["apiVersion"], manifests.identity(document))
                    self.assertNotIn(key, seen, "twice")
                    seen.add(key)
                    self.assertRegex(document["metadata"]["name"], r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
                    self.assertEqual(document["metadata"]["labels"]["app.kubernetes.io/part-of"], "vitrine")
                    if document["kind"] != "Namespace":
                        self.assertIn("namespace", document["metadata"])

    def test_schemas_themselves(self):
        for file in sorted((manifests.FOLDER / "schemas").glob("*.json")):
            with self.subTest(file.name):
                jsonschema.Draft202012Validator.check_schema(manifests.schema(file.stem))


class Files(unittest.TestCase):
    def test_every_file_is_used(self):
        """What no kustomization names would never be applied."""
        named = set()
        for folder in manifests.kustomizations("Kustomization") + manifests.kustomizations("Component"):
            text = (folder / "kustomization.yaml").read_text()
            named.update((folder / name).resolve() for name in re.findall(r"[\w./-]+\.(?:yaml|sh|textproto)", text))
            named.add((folder / "kustomization.yaml").resolve())
        named.add(manifests.FOLDER / "components" / "autoscaling" / "prometheus-adapter-values.yaml")
        there = {file for file in manifests.FOLDER.rglob("*") if file.is_file() and file.suffix != ".json"}
        self.assertEqual(sorted(there - named), [])

    def test_overlays(self):
        """Each overlay is there and differs from the others where it says so."""
        for overlay in ("cpu", "gpu", "dev", "sidecar"):
            self.assertEqual(len(manifests.documents(f"overlays/{overlay}", "Deployment")), 1, overlay)
        gpu = next(manifests.pods("overlays/gpu"))
        self.assertEqual(manifests.flag(gpu.containers()[0], "--device"), "cuda:0")
        self.assertEqual(gpu.containers()[0]["resources"]["limits"]["nvidia.com/gpu"], "1")
        self.assertIsNone(manifests.flag(next(manifests.pods("overlays/cpu")).containers()[0], "--device"))
