# SPDX-License-Identifier: Apache-2.0
"""Tests that Kubernetes would accept every object, with strict Kubernetes schemas and with the fields of custom resources that
we use."""
import functools
import json
import re
import unittest

import kubernetes_validate

import custom_resources
import manifests

# The versions of Kubernetes against which objects are checked. 1.33 is the oldest version that has every used feature (images as volumes of
# restricted pods). 1.35 is the first version that has these features without a feature gate. The third version is the newest one in the
# package.
VERSIONS = ("1.33", "1.35", kubernetes_validate.latest_version())


def faults_of(document):
    return faults_in(json.dumps(document))


@functools.cache
def faults_in(text):
    return list(faults(json.loads(text)))


def faults(document):
    own = custom_resources.shape_of(document)
    if own is not None:
        yield from custom_resources.faults(document.get("spec"), own, "spec")
        yield from (f"no field {name}" for name in document if name not in ("apiVersion", "kind", "metadata", "spec"))
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": document["metadata"]}  # keeps only the metadata
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{version}: {'.'.join(map(str, error.path))}: {error.message}"
        except kubernetes_validate.SchemaNotFoundError as error:
            yield f"{version}: no schema: {error.message}"


class Schema(unittest.TestCase):
    def test_every_object_matches_its_schema(self):
        for folder, documents in manifests.all_documents().items():
            for document in documents:
                with self.subTest(f"{folder} {manifests.identity(document)}"):
                    self.assertEqual(faults_of(document), [])

    def test_pods_in_custom_resources_match_the_schema(self):
        """Schemas of custom resources do not check pods, but Kubernetes' schema does."""
        custom = [pod for pod in manifests.pods() if pod.kind in ("PyTorchJob", "ServingRuntime")]
        self.assertTrue(custom)
        for pod in custom:
            with self.subTest(pod.where):
                document = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"},
                            "template": {"metadata": pod.metadata, "spec": pod.spec}}
                self.assertEqual(faults_of(document), [])

    def test_names_are_unique_and_labels_complete(self):
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


class Files(unittest.TestCase):
    def test_every_file_is_used(self):
        """A file that no kustomization names would never be applied."""
        named = set()
        for folder in manifests.kustomizations("Kustomization") + manifests.kustomizations("Component"):
            text = (folder / "kustomization.yaml").read_text()
            named.update((folder / name).resolve() for name in re.findall(r"[\w./-]+\.(?:yaml|textproto)", text))
            named.add((folder / "kustomization.yaml").resolve())
        named.add(manifests.FOLDER / "components" / "autoscaling" / "prometheus-adapter-values.yaml")
        there = {file for file in manifests.FOLDER.rglob("*") if file.is_file() and file.suffix != ".json"}
        self.assertEqual(sorted(there - named), [])

    def test_overlays_differ_as_documented(self):
        """Each overlay exists and differs from the other overlays as documented. The manifests contain no script."""
        self.assertEqual({folder.name for folder in (manifests.FOLDER / "overlays").iterdir()}, {"cpu", "gpu", "gpu-mig", "dev", "one-node"})
        self.assertEqual(list(manifests.FOLDER.rglob("*.sh")), [])
        for overlay in ("cpu", "gpu", "gpu-mig", "dev", "one-node"):
            self.assertEqual(len(manifests.documents(f"overlays/{overlay}", "Deployment")), 1, overlay)
        for overlay, resource in (("gpu", "nvidia.com/gpu"), ("gpu-mig", "nvidia.com/mig-1g.10gb")):
            server = next(manifests.pods(f"overlays/{overlay}")).containers()[0]
            self.assertEqual(manifests.flag(server, "--device"), "cuda:0")
            devices = {name: count for name, count in server["resources"]["limits"].items() if "nvidia" in name}
            self.assertEqual(devices, {resource: "1"})
        self.assertIsNone(manifests.flag(next(manifests.pods("overlays/cpu")).containers()[0], "--device"))
