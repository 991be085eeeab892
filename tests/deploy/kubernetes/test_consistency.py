# SPDX-License-Identifier: Apache-2.0
"""Tests that values in several places agree: probes and ports, times, selectors and labels, budgets and replicas."""
import os
import pathlib
import re
import tempfile
import unittest

import yaml

import manifests
from test_pods import servers

# Time of the shutdown in addition to preStop, lame duck and drain. The server waits until no new request has come for 250 ms, then waits
# up to two seconds for answers that no client reads, and then ends.
SPARE_SECONDS = 5


def port_of(container, port):
    for one in container["ports"]:
        if port in (one["name"], one["containerPort"]):
            return one["containerPort"]
    return None


def listened(container):
    return {int(manifests.flag(container, name).rpartition(":")[2])
            for name in ("--listen", "--metrics", "--health-listen") if manifests.flag(container, name)}


class Server(unittest.TestCase):
    def test_probes_reach_a_listener(self):
        """Probes over gRPC go to the plaintext listener, which has the health service only."""
        for pod in manifests.pods():
            container = manifests.container_of(pod, "/usr/bin/vitrine-server")
            if container is None:
                continue
            with self.subTest(pod.where):
                health = int(manifests.flag(container, "--health-listen").rpartition(":")[2])
                self.assertEqual(container["readinessProbe"]["grpc"], {"port": health})
                live = container["livenessProbe"]["httpGet"]
                # If the startup probe waited for a ready model, the kubelet would repeatedly kill a server whose repository has no
                # usable version.
                self.assertEqual(container["startupProbe"]["httpGet"], live)
                port = live["port"] if isinstance(live["port"], int) else port_of(container, live["port"])
                self.assertEqual(port, int(manifests.flag(container, "--metrics").rpartition(":")[2]))
                # With /readyz, the kubelet would restart a draining server.
                self.assertEqual(live["path"], "/healthz")
                if pod.kind != "ServingRuntime":
                    self.assertEqual({one["containerPort"] for one in container["ports"]}, listened(container))

    def test_grace_period_covers_the_shutdown(self):
        """preStop, lame duck, drain and the end of the process must all come before SIGKILL."""
        for pod in manifests.pods():
            container = manifests.container_of(pod, "/usr/bin/vitrine-server")
            if container is None:
                continue
            with self.subTest(pod.where):
                before = container["lifecycle"]["preStop"]["sleep"]["seconds"]
                lame_duck = manifests.seconds(manifests.flag(container, "--lame-duck"))
                drain = manifests.seconds(manifests.flag(container, "--drain-deadline"))
                self.assertGreaterEqual(pod.spec["terminationGracePeriodSeconds"],
                                        before + lame_duck + drain + SPARE_SECONDS)
                # The kubelet and the clients that watch the server's health must receive NOT_SERVING before new calls are rejected.
                probe = container["readinessProbe"]
                self.assertGreater(lame_duck, probe["periodSeconds"] * probe["failureThreshold"])

    def test_the_progress_deadline_allows_a_slow_start(self):
        for folder in manifests.folders("Deployment"):
            spec = manifests.documents(folder, "Deployment")[0]["spec"]
            probe = spec["template"]["spec"]["containers"][0]["startupProbe"]
            self.assertGreater(spec["progressDeadlineSeconds"], probe["periodSeconds"] * probe["failureThreshold"])

    def test_liveness_waits_longer_than_readiness(self):
        for pod, container in servers():
            def patience(probe):
                return container[probe]["periodSeconds"] * container[probe]["failureThreshold"]
            self.assertGreater(patience("livenessProbe"), patience("readinessProbe"), pod.where)


class References(unittest.TestCase):
    def test_selectors_match_existing_pods(self):
        """Deployments, services, budgets, policies and monitors select existing pods."""
        labels = {folder: [pod.metadata.get("labels", {}) for pod in manifests.pods(folder)] for folder in manifests.all_documents()}
        everywhere = [one for found in labels.values() for one in found]
        for folder, documents in manifests.all_documents().items():
            for document in documents:
                spec, kind = document.get("spec", {}), document["kind"]
                with self.subTest(f"{folder} {manifests.identity(document)}"):
                    if kind == "Service":
                        # A Job's template does not have the labels that the Job adds to its pods.
                        names = {"batch.kubernetes.io/job-name": job["metadata"]["name"]
                                 for job in manifests.documents(folder, "Job")}
                        self.assertTrue(any(manifests.selects({"matchLabels": spec["selector"]}, {**one, **names})
                                            for one in labels[folder]))
                    elif kind == "PodDisruptionBudget":
                        self.assertTrue(any(manifests.selects(spec["selector"], one) for one in labels[folder]))
                    elif kind == "Deployment":
                        self.assertTrue(manifests.selects(spec["selector"], spec["template"]["metadata"]["labels"]))
                        for constraint in spec["template"]["spec"].get("topologySpreadConstraints", []):
                            self.assertEqual(constraint["labelSelector"], spec["selector"])
                    elif kind == "NetworkPolicy" and document["metadata"]["name"] != "default-deny":
                        self.assertTrue(any(manifests.selects(spec["podSelector"], one) for one in everywhere))
                    elif kind == "PodMonitor":
                        self.assertTrue(any(manifests.selects(spec["selector"], one) for one in everywhere))
                    elif kind == "ServiceMonitor":
                        found = [one for one in manifests.documents(folder, "Service")
                                 if manifests.selects(spec["selector"], one["metadata"]["labels"])]
                        # With two services, every pod would be scraped twice.
                        self.assertEqual([one["metadata"]["name"] for one in found],
                                         [document["metadata"]["name"].removesuffix("-server")])
                        self.assertIn(spec["endpoints"][0]["port"], [port["name"] for port in found[0]["spec"]["ports"]])

    def test_service_ports_exist_in_pods(self):
        for folder in manifests.all_documents():
            names = {port["name"] for pod in manifests.pods(folder) for one in pod.containers() for port in one.get("ports", [])}
            for service in manifests.documents(folder, "Service"):
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], names, f"{folder} {manifests.identity(service)}")

    def test_config_maps_and_accounts_exist(self):
        for folder in manifests.all_documents():
            maps = {one["metadata"]["name"] for one in manifests.documents(folder, "ConfigMap")}
            accounts = {one["metadata"]["name"] for one in manifests.documents(folder, "ServiceAccount")}
            for pod in manifests.pods(folder):
                with self.subTest(pod.where):
                    for volume in pod.spec.get("volumes", []):
                        if "configMap" in volume:
                            self.assertIn(volume["configMap"]["name"], maps)
                    if "serviceAccountName" in pod.spec:
                        self.assertIn(pod.spec["serviceAccountName"], accounts)

    def test_network_policy_allows_only_needed_ports(self):
        """Callers reach the gRPC port, and Prometheus reaches the metrics port. No pod reaches the health port, and the
        server connects to nothing."""
        for overlay in ("cpu", "gpu", "gpu-mig", "dev", "one-node"):
            policies = manifests.documents(f"overlays/{overlay}", "NetworkPolicy")
            by_name = {one["metadata"]["name"]: one["spec"] for one in policies}
            self.assertEqual(by_name["default-deny"], {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})
            server = by_name["vitrine-server"]
            self.assertFalse(server.get("egress"))
            self.assertIn("Egress", server["policyTypes"])
            ports = {port["port"] for rule in server["ingress"] for port in rule["ports"]}
            self.assertEqual(ports, {"grpc", "metrics"})
            for rule in server["ingress"]:
                self.assertTrue(rule["from"])


class Guide(unittest.TestCase):
    def test_the_guides_overlay_renames_all_images(self):
        """docs/operations/kubernetes.md has an overlay that replaces the images of the server and of the models by the user's images. It
        must do so with the overlays cpu, gpu and gpu-mig as its base."""
        guide = (manifests.ROOT / "docs/operations/kubernetes.md").read_text()
        block = next(one for one in re.findall(r"(?ms)^```yaml\n(.*?)^```", guide) if "volumes/0/image" in one)
        for name in ("cpu", "gpu", "gpu-mig"):
            with self.subTest(name):
                overlay = yaml.safe_load(block)
                with tempfile.TemporaryDirectory() as folder:
                    overlay["resources"] = [os.path.relpath(manifests.FOLDER / "overlays" / name, os.path.realpath(folder))]
                    pathlib.Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(overlay))
                    deployment = next(one for one in manifests.render(pathlib.Path(folder)) if one["kind"] == "Deployment")
                spec = deployment["spec"]["template"]["spec"]
                images = [spec["containers"][0]["image"], *(one["image"]["reference"] for one in spec["volumes"] if "image" in one)]
                self.assertEqual([one.rpartition("/")[0] for one in images], ["registry.of.yours"] * 2)


class Numbers(unittest.TestCase):
    def test_disruption_budgets_allow_a_drain(self):
        """A disruption budget lets a node be drained. If there are several servers, the budget keeps at least one of them running."""
        for folder in manifests.folders("Deployment"):
            scalers = [*manifests.documents(folder, "HorizontalPodAutoscaler"), *manifests.documents(folder, "ScaledObject")]
            replicas = (scalers[0]["spec"].get("minReplicas") or scalers[0]["spec"]["minReplicaCount"] if scalers
                        else manifests.documents(folder, "Deployment")[0]["spec"]["replicas"])
            for budget in manifests.documents(folder, "PodDisruptionBudget"):
                spec = budget["spec"]
                gone = spec.get("maxUnavailable", replicas - spec.get("minAvailable", 0))
                self.assertGreaterEqual(gone, 1, "no node could be drained")
                self.assertTrue(replicas == 1 or gone < replicas, "a drain could take every server")

    def test_autoscaler_controls_the_replicas(self):
        folders = manifests.folders("HorizontalPodAutoscaler")
        self.assertGreaterEqual(len(folders), 7)
        for folder in folders:
            scaler = manifests.documents(folder, "HorizontalPodAutoscaler")[0]["spec"]
            deployment = manifests.documents(folder, "Deployment")[0]
            self.assertEqual(scaler["scaleTargetRef"]["name"], deployment["metadata"]["name"])
            self.assertNotIn("replicas", deployment["spec"])
            self.assertLess(scaler["minReplicas"], scaler["maxReplicas"])

    def test_first_autoscaler_metric_follows_the_load(self):
        """The first metric must not be the time in the queue, which is near zero below the server's capacity and unbounded above it."""
        first, *others = yaml.safe_load((manifests.FOLDER / "components/autoscaling/autoscaler.yaml").read_text())["spec"]["metrics"]
        self.assertEqual((first["pods"]["metric"]["name"], manifests.quantity(first["pods"]["target"]["averageValue"])),
                         ("vitrine_lanes_busy_ratio", 0.65))
        self.assertEqual([one["pods"]["metric"]["name"] for one in others[:-1]],
                         ["vitrine_requests_shed_ratio", "vitrine_requests_expired_ratio"])
        cpu = manifests.documents("helm/no-prometheus", "HorizontalPodAutoscaler")[0]["spec"]["metrics"]
        self.assertEqual([(one["containerResource"]["name"], one["containerResource"]["target"]["averageUtilization"])
                          for one in (others[-1], *cpu)], [("cpu", 80), ("cpu", 65)])

    def test_distributed_run_has_the_right_variables(self):
        """WORLD_SIZE is the number of pods, and MASTER_ADDR is the name of the first pod."""
        job = manifests.documents("jobs/training-distributed", "Job")[0]
        pod = next(manifests.pods("jobs/training-distributed"))
        service = manifests.documents("jobs/training-distributed", "Service")[0]
        variables = {one["name"]: one.get("value") for one in pod.containers()[0]["env"]}
        self.assertEqual(job["spec"]["completionMode"], "Indexed")
        self.assertEqual(int(variables["WORLD_SIZE"]), job["spec"]["completions"])
        self.assertEqual(job["spec"]["parallelism"], job["spec"]["completions"])
        self.assertEqual(variables["MASTER_ADDR"], f"{job['metadata']['name']}-0.{pod.spec['subdomain']}")
        self.assertEqual(pod.spec["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertIs(service["spec"]["publishNotReadyAddresses"], True)
        self.assertIn(int(variables["MASTER_PORT"]), [port["containerPort"] for port in pod.containers()[0]["ports"]])

    def test_shards_equal_the_pods_and_are_merged(self):
        """There are as many shards as pods, and the merge reads each shard."""
        job = manifests.documents("jobs/evaluation", "Job")[0]["spec"]
        arguments = manifests.arguments(next(manifests.pods("jobs/evaluation")).containers()[0])
        merge = manifests.arguments(next(manifests.pods("jobs/evaluation-merge")).containers()[0])
        self.assertEqual(job["completionMode"], "Indexed")
        self.assertIn(f"--shard=/{job['completions']}", arguments)
        out = next(one for one in arguments if one.startswith("--out="))[len("--out="):]
        shards = [out.replace("$(SHARD)", str(index)) for index in range(job["completions"])]
        self.assertEqual([one for one in merge if one.startswith("/runs")], shards)

    def test_table_of_the_guide_has_the_pod_sizes(self):
        """docs/operations/kubernetes.md states the size of each pod."""
        guide = (manifests.ROOT / "docs/operations/kubernetes.md").read_text()
        rows = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", guide, re.M))
        for pod in manifests.pods():
            folder = pod.where.split()[0]
            if folder == "base" or folder.startswith("helm/"):
                continue
            with self.subTest(pod.where):
                cores = sum(manifests.quantity(one["resources"]["limits"]["cpu"]) for one in pod.containers(initial=False))
                memory = sum(manifests.quantity(one["resources"]["limits"]["memory"]) for one in pod.containers(initial=False))
                self.assertEqual(rows[folder].strip(), f"{cores:g} core{'' if cores == 1 else 's'}, {memory / 2**30:g} GiB")


class KServePolicy(unittest.TestCase):
    def test_kserve_policy_agrees_with_the_server_policy(self):
        """Pods that may reach the server may also reach KServe's pods, and clients may connect to the server and to KServe's
        pods."""
        def policies(folder):
            documents = yaml.safe_load_all((manifests.FOLDER / folder / "network-policy.yaml").read_text())
            return {one["metadata"]["name"]: one["spec"] for one in documents}

        base, kserve = policies("base"), policies("kserve")["vitrine-kserve"]
        server = base["vitrine-server"]
        self.assertEqual([rule["from"] for rule in kserve["ingress"]], [rule["from"] for rule in server["ingress"]])
        self.assertEqual((kserve["egress"], kserve["policyTypes"]), (server["egress"], server["policyTypes"]))
        self.assertEqual(base["vitrine-client"]["egress"][0]["to"],
                         [{"podSelector": server["podSelector"]}, {"podSelector": kserve["podSelector"]}])


class Secrets(unittest.TestCase):
    def test_manifests_contain_no_secret(self):
        """The user creates Secrets when deploying. The manifests have no Secret, no secretGenerator, and no text that looks like a
        key."""
        for folder, documents in manifests.all_documents().items():
            self.assertEqual([manifests.identity(one) for one in documents if one["kind"] == "Secret"], [], folder)
        for file in manifests.FOLDER.rglob("*"):
            if file.is_file():
                # Removes the digests of images, because they look like the digests of tokens.
                text = re.sub(r'digest: "sha256:[0-9a-f]{64}"', "", file.read_text())
                self.assertNotRegex(text, r"secretGenerator|BEGIN [A-Z ]*(PRIVATE KEY|CERTIFICATE)|stringData|sha256:[0-9a-f]{64}", file)
