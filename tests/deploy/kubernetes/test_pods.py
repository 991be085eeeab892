# SPDX-License-Identifier: Apache-2.0
"""Tests that every pod is restricted, can get exclusive cores, and has write access only to volumes that it must change."""
import re
import unittest

import yaml

import manifests

SERVER = "/usr/bin/vitrine-server"
# Kinds of volumes that the manifests use. The security standard "restricted" admits all of them, but "image" only since Kubernetes
# 1.33.
VOLUMES = {"configMap", "emptyDir", "image", "persistentVolumeClaim", "secret"}


def servers():
    for pod in manifests.pods():
        container = manifests.container_of(pod, SERVER)
        if container is not None and pod.kind != "ServingRuntime":
            yield pod, container


def effective(pod, container, name):
    """Returns the container's value, or the pod's value if the container has none."""
    for context in (container.get("securityContext", {}), pod.spec.get("securityContext", {})):
        if name in context:
            return context[name]
    return None


class Pods(unittest.TestCase):
    def test_pods_meet_the_restricted_standard(self):
        """Pods meet the security standard "restricted", have a read-only root file system, and have no token for the Kubernetes API."""
        for pod in manifests.pods():
            with self.subTest(pod.where):
                self.assertIs(pod.spec["automountServiceAccountToken"], False)
                for forbidden in ("hostNetwork", "hostPID", "hostIPC"):
                    self.assertNotIn(forbidden, pod.spec)
                for volume in pod.spec.get("volumes", []):
                    self.assertLessEqual(set(volume) - {"name"}, VOLUMES)
            for container in pod.containers():
                with self.subTest(f"{pod.where} {container['name']}"):
                    own = container["securityContext"]
                    self.assertIs(own["allowPrivilegeEscalation"], False)
                    self.assertIs(own["readOnlyRootFilesystem"], True)
                    self.assertEqual(own["capabilities"], {"drop": ["ALL"]})
                    self.assertNotIn("privileged", own)
                    self.assertIs(effective(pod, container, "runAsNonRoot"), True)
                    # The images run as this user.
                    self.assertEqual(effective(pod, container, "runAsUser"), 65532)
                    self.assertEqual(effective(pod, container, "seccompProfile"), {"type": "RuntimeDefault"})

    def test_the_guides_init_container_is_restricted(self):
        """The guide replaces the training operator's template of an init container. A namespace with the standard "restricted" must
        admit the new template."""
        guide = (manifests.ROOT / "docs/operations/kubernetes.md").read_text()
        template = re.search(r"(?ms)^```yaml\n(- name: init-pytorch\n.*?)^```", guide)[1]
        self.assertEqual(set(re.findall(r"{{\.(\w+)}}", template)), {"InitContainerImage", "MaxTries", "MasterAddr"})
        own = yaml.safe_load(re.sub(r"{{\.(\w+)}}", r"\1", template))[0]["securityContext"]
        self.assertIs(own["allowPrivilegeEscalation"], False)
        self.assertIs(own["runAsNonRoot"], True)
        self.assertEqual(own["capabilities"], {"drop": ["ALL"]})
        self.assertEqual(own["seccompProfile"], {"type": "RuntimeDefault"})

    def test_requests_equal_limits_with_whole_cores(self):
        """For every container, requests equal limits and cores are whole numbers. The pod is then Guaranteed and can
        get exclusive cores."""
        for pod in manifests.pods():
            for container in pod.containers():
                with self.subTest(f"{pod.where} {container['name']}"):
                    resources = container["resources"]
                    self.assertEqual(resources["requests"], resources["limits"])
                    self.assertEqual(manifests.quantity(resources["limits"]["cpu"]) % 1, 0)
                    self.assertGreaterEqual(manifests.quantity(resources["limits"]["memory"]), 64 * 2**20)

    def test_threads_fit_cores(self):
        """A trainer with more threads than cores would be throttled in the middle of a training step."""
        for pod in manifests.pods():
            for container in pod.containers():
                threads = manifests.flag(container, "--threads")
                if threads is not None:
                    with self.subTest(pod.where):
                        self.assertLessEqual(int(threads), manifests.quantity(container["resources"]["limits"]["cpu"]))

    def test_server_limits_fit_memory(self):
        """The limits on the bytes of queued requests and of the transport leave at least half of the memory for models and
        workspaces."""
        for pod, container in servers():
            with self.subTest(pod.where):
                held = sum(int(manifests.flag(container, name) or default) for name, default in
                           (("--max-queue-bytes", 256 << 20), ("--max-transport-bytes", 512 << 20)))
                self.assertLessEqual(held, manifests.quantity(container["resources"]["limits"]["memory"]) / 2, pod.where)

    def test_images_are_pinned(self):
        for pod in manifests.pods():
            if pod.where.startswith("base "):
                continue  # Overlays name the images.
            images = [(one["name"], one["image"], one["imagePullPolicy"]) for one in pod.containers()]
            images += [(one["name"], one["image"]["reference"], one["image"]["pullPolicy"])
                       for one in pod.spec.get("volumes", []) if "image" in one]
            for which, image, pull in images:
                with self.subTest(f"{pod.where} {which}"):
                    if re.fullmatch(r"[^@]+@sha256:[0-9a-f]{64}", image):
                        continue
                    # Third-party images are pinned by digest, since a tag can move. Our own images use a tag.
                    self.assertRegex(image, r"^(registry\.example/)?vitrine[a-z-]*:")
                    name, _, tag = image.rpartition(":")
                    self.assertTrue(name and tag and "/" not in tag, image)
                    self.assertNotEqual(tag, "latest")
                    self.assertEqual(pull, "IfNotPresent")

    def test_volumes_mounts_and_claims_match(self):
        """Every mount has a volume, every volume is mounted, and every claim is in storage/."""
        claims = {one["metadata"]["name"] for one in manifests.documents("storage", "PersistentVolumeClaim")}
        for pod in manifests.pods():
            with self.subTest(pod.where):
                volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", [])}
                mounts = {mount["name"] for container in pod.containers() for mount in container.get("volumeMounts", [])}
                self.assertEqual(set(volumes), mounts)
                for volume in volumes.values():
                    if "persistentVolumeClaim" in volume:
                        self.assertIn(volume["persistentVolumeClaim"]["claimName"], claims)
                    if "emptyDir" in volume:
                        self.assertIn("sizeLimit", volume["emptyDir"])

    def test_pods_with_claims_share_a_node(self):
        """No claim is ReadWriteMany. Therefore all pods with claims, except the pods of the Helm chart, must run on the same node."""
        for folder in manifests.all_documents():
            self.assertNotIn("ReadWriteMany", str(manifests.documents(folder)), folder)
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"vitrine.claims": "true"}}}
        with_claims = [pod for pod in manifests.pods() if not pod.where.startswith("helm/")
                       and any("persistentVolumeClaim" in volume for volume in pod.spec.get("volumes", []))]
        self.assertGreaterEqual(len(with_claims), 8)
        for pod in with_claims:
            with self.subTest(pod.where):
                self.assertEqual(pod.metadata["labels"]["vitrine.claims"], "true")
                self.assertEqual(pod.spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"], [term])

    def test_paths_of_commands_are_mounted(self):
        """Every absolute path in a command line is in a volume; if the program writes to it, the volume is writable."""
        for pod in manifests.pods():
            if pod.kind == "ServingRuntime":
                continue  # KServe mounts /mnt/models.
            for container in pod.containers():
                mounts = {mount["mountPath"]: not mount.get("readOnly", False) for mount in container.get("volumeMounts", [])}
                for argument in container.get("args", []):
                    name, _, value = argument.rpartition("=")
                    path = value.split(":", 1)[-1] if name == "--data" else value
                    if not path.startswith("/") or path.startswith("/usr/bin/") or name == "--shard":
                        continue
                    with self.subTest(f"{pod.where} {argument}"):
                        mount = next((mount for mount in mounts if path == mount or path.startswith(mount + "/")), None)
                        self.assertIsNotNone(mount)
                        if name in ("--work", "--publish", "--out"):
                            self.assertTrue(mounts[mount], "read-only")

    def test_volumes_are_writable_only_where_needed(self):
        """The server and its clients never write to the repository; trainers never write to data sets. A server's copy of a remote
        repository is used only by the pod of this server."""
        found = 0
        for pod in manifests.pods():
            volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", [])}
            for container in pod.containers():
                for mount in container.get("volumeMounts", []):
                    with self.subTest(f"{pod.where} {container['name']} {mount['mountPath']}"):
                        if "--repository-cache=/models" in container.get("args", []):
                            self.assertTrue(mount["mountPath"] != "/models" or "emptyDir" in volumes[mount["name"]])
                        elif mount["mountPath"] == "/data" or (mount["mountPath"] == "/models" and
                                                             SERVER in manifests.arguments(container)):
                            found += 1
                            self.assertIs(mount.get("readOnly"), True)
                        if mount["mountPath"] == "/data":
                            self.assertIs(volumes[mount["name"]]["persistentVolumeClaim"]["readOnly"], True)
        self.assertGreaterEqual(found, 8)
