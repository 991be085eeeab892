# SPDX-License-Identifier: Apache-2.0
"""Tests which values the Helm chart refuses, and that it renders the same objects as the kustomizations. Other tests check the chart's pods
and objects."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

import chart
import manifests
from test_monitoring import NO_PROMTOOL, promtool_says
from test_schema import faults_of

# Objects of the kustomizations that the chart does not have, because they are for trainers or for the whole namespace.
NOT_THE_SERVERS = {"PodMonitor/vitrine-trainer", "NetworkPolicy/default-deny", "NetworkPolicy/vitrine-client",
                   "NetworkPolicy/vitrine-trainer"}
OF_HELM = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}
IMAGE = "--set=image.repository=registry.example/vitrine-server,models.image=registry.example/vitrine-models:1"


def without_labels_of_helm(value):
    if isinstance(value, dict):
        return {key: without_labels_of_helm(inner) for key, inner in value.items() if key not in OF_HELM}
    return [without_labels_of_helm(one) for one in value] if isinstance(value, list) else value


def by_identity(documents):
    return {manifests.identity(one): without_labels_of_helm(one) for one in documents}


class Examples(unittest.TestCase):
    """Tests that the chart renders the server's objects exactly as the overlays in deploy/kubernetes do, for a release "vitrine" in the
    namespace "vitrine"."""

    def check(self, overlay, documents):
        kustomized = {name: one for name, one in by_identity(manifests.documents(f"overlays/{overlay}")).items()
                      if name not in NOT_THE_SERVERS}
        charted = by_identity(documents)
        self.assertEqual(sorted(charted), sorted(kustomized))
        for name in charted:
            with self.subTest(f"{overlay} {name}"):
                self.maxDiff = None
                self.assertEqual(charted[name], kustomized[name])

    def test_cpu_example_equals_the_manifests(self):
        self.check("cpu", manifests.documents("helm/cpu"))

    def test_gpu_example_equals_the_manifests(self):
        self.check("gpu", manifests.documents("helm/gpu"))

    def test_gpu_mig_values_equal_the_manifests(self):
        self.check("gpu-mig", chart.template(f"--values={chart.EXAMPLES / 'gpu.yaml'}", "--set=gpu=nvidia.com/mig-1g.10gb",
                                             "--set=resources.cpu=2,resources.memory=4Gi", "--set=autoscaling.max=7"))

    def test_dashboards_equal_the_files(self):
        maps = [one["data"] for one in manifests.documents("helm/keda", "ConfigMap") if "-dashboard-" in one["metadata"]["name"]]
        charted = {name: json.loads(text) for data in maps for name, text in data.items()}
        files = (manifests.ROOT / "deploy" / "grafana" / "dashboards").glob("*.json")
        self.assertEqual(charted, {f"vitrine-{file.name}": json.loads(file.read_text()) for file in files})


class Values(unittest.TestCase):
    def setUp(self):
        self.schema = json.loads((chart.CHART / "values.schema.json").read_text())
        self.values = yaml.safe_load((chart.CHART / "values.yaml").read_text())

    def test_the_page_has_the_table_of_values(self):
        page = chart.PAGE.read_text()
        self.assertEqual(page, chart.updated(page), "run script/kubernetes-check --update")
        for path, _, _ in chart.leaves(self.schema, self.values):
            self.assertTrue(chart.meanings()[path].endswith("."), f"values.yaml does not say what {path} is")

    def test_values_and_schema_have_the_same_names(self):
        def compare(schema, values, path):
            self.assertIs(schema.get("additionalProperties"), False, path)
            self.assertEqual(set(values), set(schema["properties"]) - {"global"}, path)
            for name, inner in schema["properties"].items():
                if "properties" in inner:
                    compare(inner, values[name], f"{path}.{name}")
        compare(self.schema, self.values, "values")

    def test_unknown_values_are_refused(self):
        parents = {path.rpartition(".")[0] for path, _, _ in chart.leaves(self.schema, self.values)}
        self.assertGreaterEqual(len(parents), 9)
        for parent in parents:
            with self.subTest(parent):
                name = f"{parent}.nmae" if parent else "nmae"
                self.assertIn("nmae", chart.refusal(IMAGE, f"--set={name}=1"))

    def test_wrong_values_are_refused_by_name(self):
        for wrong, said in (("replicas=two", "replicas"), ("resources.cpu=1.5", "resources.cpu"), ("image.digest=abc", "image.digest"),
                            ("image.repository=r.example/s:1", "image.repository"),
                            ("autoscaling.mode=hpa", "autoscaling.mode"), ("gateway.canary.weight=101", "gateway.canary.weight"),
                            ("args={no-flag}", "args.0"), ("gpu=2", "gpu"), ("gpu=amd.com/gpu", "gpu"),
                            ("hosts={Vitrine_}", "hosts.0"), ("hosts={a..b}", "hosts.0"),
                            ("identity.tlsSecret=a: b", "identity.tlsSecret"), ("gateway.name=a_b", "gateway.name"),
                            ("hosts={a.example}", "hosts needs"), ("gateway.name=g", "gateway.name needs"),
                            ("gateway.grpcHosts={a.example}", "gateway.name"), ("gateway.canary.service=c", "gateway.name"),
                            ("gateway.name=g,hosts={a.example},gateway.grpcHosts={a.example}", "one kind of route"),
                            ("gateway.name=g,hosts={a.example},gateway.canary.service=vitrine", "another release"),
                            ("args={--lame-duck=30s}", "shutdown.lameDuckSeconds"), ("args={--log-format=text}", "the chart sets it"),
                            ("shutdown.lameDuckSeconds=4", "shutdown.lameDuckSeconds"),
                            # The server rejects a --drain-deadline above one hour.
                            ("shutdown.drainSeconds=3601", "shutdown.drainSeconds"),
                            ("models.claim=x", "models.image and models.claim"), ("models.remote=s3://x", "models.remote exclude"),
                            ("models.remote=ftp://x", "models.remote"), ("models.remoteSecret=x", "needs models.remote"),
                            ("models.image=,models.remote=s3://x,models.remoteSecret=a_b", "models.remoteSecret"),
                            ("identity.tokensSecret=x", "identity.tlsSecret"), ("identity.policy=x", "identity.clientCaSecret"),
                            ("identity.clientCaSecret=x", "identity.tlsSecret"),
                            ("autoscaling.min=9", "autoscaling.max"), ("ingress.enabled=true", "hosts"),
                            ("ingress.enabled=true,hosts={a.example}", "networkPolicy.from"),
                            ("autoscaling.mode=keda", "hosts"),
                            ("autoscaling.mode=keda,hosts={a.example},identity.tlsSecret=x", "identity.tlsSecret"),
                            ("autoscaling.mode=keda,hosts={a.example},gateway.name=public", "interceptor")):
            with self.subTest(wrong):
                self.assertIn(said, chart.refusal(IMAGE, f"--set={wrong}"))
        self.assertIn("image.repository must be set", chart.refusal("--set=models.image=x"))
        self.assertIn("models.image or models.claim", chart.refusal("--set=image.repository=x"))
        self.assertEqual(chart.refusal(IMAGE), "")

    def test_old_clusters_need_a_volume_claim(self):
        self.assertIn("got v1.32.0: use models.claim", chart.refusal(IMAGE, "--kube-version=1.32.0"))
        self.assertEqual(chart.refusal(f"--values={chart.EXAMPLES / 'no-prometheus.yaml'}", "--kube-version=1.30.0"), "")

    def test_names_are_rendered_as_strings(self):
        """Tests names that YAML would read as numbers or truth values, and names that no Service may have."""
        values = ("--set-string=identity.tlsSecret=123,identity.tokensSecret=1e3,identity.clientCaSecret=0x1,models.claim=4,models.image=,"
                  "ingress.className=5,ingress.tlsSecret=6,image.tag=7")
        documents = chart.template(IMAGE, values, "--set=ingress.enabled=true,hosts={a.example}",
                                   "--set=networkPolicy.from[0].podSelector.matchLabels.a=b", release="true")
        documents += chart.template(IMAGE, "--set=models.image=,models.remote=s3://x", "--set-string=models.remoteSecret=8", release="null")
        for document in documents:
            with self.subTest(manifests.identity(document)):
                self.assertEqual(faults_of(document), [])
        for name in ("123", "1abc", "my.rel"):
            self.assertIn(f"the release is called {name}", chart.refusal(IMAGE, release=name))

    def test_numbers_on_the_command_line_are_accepted(self):
        """Helm parses numbers in --set as another type than numbers in values.yaml."""
        self.assertEqual(chart.refusal(IMAGE, "--set=autoscaling.mode=cpu,autoscaling.min=1,gateway.canary.weight=50"), "")

    def test_args_cannot_repeat_flags_of_the_chart(self):
        """`args` may not have a flag that the chart itself renders in one of the examples."""
        text = chart.CHART.joinpath("templates/_check.tpl").read_text()
        refused = set(re.findall(r"^(--[a-z-]+): ", text, re.M))
        rendered = {argument.partition("=")[0] for name in manifests.all_documents() if name.startswith("helm/")
                    for pod in manifests.pods(name) for argument in pod.spec["containers"][0]["args"]}
        self.assertEqual(rendered - {"--trusted-proxies", "--otlp-endpoint"}, refused)

    def test_grace_period_covers_lame_duck_and_drain(self):
        documents = chart.template(IMAGE, "--set=shutdown.lameDuckSeconds=20,shutdown.drainSeconds=100")
        pod = next(one for one in documents if one["kind"] == "Deployment")["spec"]["template"]["spec"]
        self.assertLessEqual({"--lame-duck=20s", "--drain-deadline=100s"}, set(pod["containers"][0]["args"]))
        self.assertEqual(pod["terminationGracePeriodSeconds"], 135)

    def test_certificates_and_tokens_give_the_right_flags(self):
        """With CA certificates for clients and no tokens, every caller needs a certificate. With tokens as well, a caller may give a token
        instead. If `identity.policy` is empty, a server with tokens has the chart's own policy, and a server without tokens has no
        policy."""
        def flags(*arguments):
            pod = next(one for one in chart.template(IMAGE, "--set=identity.tlsSecret=t,identity.clientCaSecret=c", *arguments)
                       if one["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]
            return [manifests.flag(pod, name) for name in ("--tls-client-cert", "--tokens", "--policy")]
        self.assertEqual(flags(), ["required", None, None])
        self.assertEqual(flags("--set=identity.tokensSecret=k"),
                         ["optional", "/etc/vitrine-tokens/tokens", "/etc/vitrine-policy/policy.textproto"])

    def test_other_values_reach_their_fields(self):
        """Values that no example sets are rendered into the right fields."""
        documents = chart.template(IMAGE, "--set=image.tag=next,pullSecrets[0].name=regcred,nodeSelector.pool=vision",
                                   "--set=tolerations[0].key=pool,replicas=1,networkPolicy.enabled=false",
                                   "--set=monitoring.serviceMonitor=true,monitoring.labels.release=stack",
                                   "--set-string=serving=default_policy { latest: 2 }")
        one = {document["kind"]: document for document in documents}
        pod = one["Deployment"]["spec"]["template"]["spec"]
        self.assertEqual(pod["containers"][0]["image"], "registry.example/vitrine-server:next")
        self.assertEqual((pod["imagePullSecrets"], pod["nodeSelector"], pod["tolerations"]),
                         ([{"name": "regcred"}], {"pool": "vision"}, [{"key": "pool"}]))
        self.assertEqual(one["ConfigMap"]["data"]["serving.textproto"], "default_policy { latest: 2 }\n")
        self.assertEqual(one["ServiceMonitor"]["metadata"]["labels"]["release"], "stack")
        self.assertFalse({"NetworkPolicy", "PodDisruptionBudget", "PrometheusRule"} & set(one))
        digest = "sha256:" + "0" * 64
        pinned = chart.template(IMAGE, f"--set=image.digest={digest}")
        container = next(one for one in pinned if one["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], f"registry.example/vitrine-server@{digest}")


class Traffic(unittest.TestCase):
    def test_canary_routes_divide_the_traffic(self):
        """A route divides the traffic between the Services of two releases, "gateway" and "canary". The weights add up to 100 %, and each
        Service selects only the pods of its own release."""
        for kind in ("HTTPRoute", "GRPCRoute"):
            backends = manifests.documents("helm/gateway", kind)[0]["spec"]["rules"][0]["backendRefs"]
            self.assertEqual(sum(one["weight"] for one in backends), 100)
            for backend, folder in zip(backends, ("helm/gateway", "helm/canary")):
                service = next(one for one in manifests.documents(folder, "Service") if one["metadata"]["name"] == backend["name"])
                self.assertIn(backend["port"], [one["port"] for one in service["spec"]["ports"]])
                pods = {where: next(manifests.pods(where)).metadata["labels"] for where in ("helm/gateway", "helm/canary")}
                self.assertEqual([where for where, labels in pods.items()
                                  if manifests.selects({"matchLabels": service["spec"]["selector"]}, labels)], [folder])

    def test_each_host_name_has_one_route(self):
        http, grpc = (manifests.documents("helm/gateway", kind)[0]["spec"]["hostnames"] for kind in ("HTTPRoute", "GRPCRoute"))
        self.assertFalse(set(http) & set(grpc))

    def test_ingress_names_a_port_of_the_service(self):
        ports = [one["name"] for one in manifests.documents("helm/ingress", "Service")[0]["spec"]["ports"]]
        for rule in manifests.documents("helm/ingress", "Ingress")[0]["spec"]["rules"]:
            backend = rule["http"]["paths"][0]["backend"]["service"]
            self.assertEqual(backend["name"], "vitrine")
            self.assertIn(backend["port"]["name"], ports)


class ScaleToZero(unittest.TestCase):
    def setUp(self):
        self.spec = manifests.documents("helm/keda", "ScaledObject")[0]["spec"]
        self.route = manifests.documents("helm/keda", "InterceptorRoute")[0]

    def test_scaling_equals_the_autoscaler(self):
        """The targets and the scaling behaviour of KEDA's ScaledObject equal the values of the HorizontalPodAutoscaler."""
        file = yaml.safe_load((manifests.FOLDER / "components/autoscaling/autoscaler.yaml").read_text())["spec"]
        push, busy, cpu = self.spec["triggers"]
        self.assertEqual(float(busy["metadata"]["threshold"]),
                         manifests.quantity(file["metrics"][0]["pods"]["target"]["averageValue"]))
        self.assertEqual(int(cpu["metadata"]["value"]), file["metrics"][-1]["containerResource"]["target"]["averageUtilization"])
        self.assertEqual(self.spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"], file["behavior"])
        self.assertEqual(push["metadata"]["interceptorRoute"], self.route["metadata"]["name"])
        self.assertEqual((self.spec["idleReplicaCount"], self.spec["minReplicaCount"]), (0, 1))

    def test_the_interceptor_targets_the_service_port(self):
        target = self.route["spec"]["target"]
        service = next(one for one in manifests.documents("helm/keda", "Service") if one["metadata"]["name"] == target["service"])
        port = next(one for one in service["spec"]["ports"] if one["name"] == target["portName"])
        # Without this field, KEDA's interceptor would send HTTP/1.1 to the server.
        self.assertEqual(port["appProtocol"], "kubernetes.io/h2c")
        self.assertEqual(self.spec["scaleTargetRef"]["name"], manifests.documents("helm/keda", "Deployment")[0]["metadata"]["name"])

    def test_scale_to_zero_omits_the_alert_for_absence(self):
        def alerts(folder):
            groups = manifests.documents(folder, "PrometheusRule")[0]["spec"]["groups"]
            return {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
        self.assertEqual(alerts("helm/cpu") - alerts("helm/keda"), {"VitrineAbsent"})
        self.assertFalse(alerts("helm/keda") - alerts("helm/cpu"))

    @unittest.skipIf(shutil.which("promtool") is None, NO_PROMTOOL)
    def test_query_counts_only_servers_of_the_release(self):
        """The query gets series of two servers of the release, one server of another release, and one server in another
        namespace."""
        query = self.spec["triggers"][1]["metadata"]["query"]
        series = [{"series": f'vitrine_lanes_busy_ratio{{namespace="{space}",pod="{pod}"}}', "values": f"{value}+0x20"}
                  for space, pod, value in (("vitrine", "vitrine-server-7f-a", 0.5), ("vitrine", "vitrine-server-7f-b", 0.25),
                                            ("vitrine", "vitrine-canary-server-1", 1), ("other", "vitrine-server-7f-c", 1))]
        self.assertEqual(promtool_says(query, series, {"{}": 0.75}), "")


class Notes(unittest.TestCase):
    def notes(self, example, *arguments):
        """Returns the text that `helm install` prints. `helm template` does not print it, so this function renders a copy of the chart that
        has the text in an object."""
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "vitrine")
            shutil.copytree(chart.CHART, copy)
            (copy / "templates/NOTES.txt").rename(copy / "notes.txt")
            (copy / "templates/notes.yaml").write_text('kind: Notes\ntext: |\n  {{- tpl (.Files.Get "notes.txt") . | nindent 2 }}\n')
            documents = chart.template(f"--values={chart.EXAMPLES / example}.yaml", *arguments, chart=copy)
        return next(one["text"] for one in documents if one["kind"] == "Notes")

    def test_notes_name_the_address_for_each_client(self):
        for example, has, lacks in (("plain", ("dns:///vitrine-headless.vitrine.svc:8500", "no TLS"), ("From outside", "Every client")),
                                    ("keda", ("interceptor-proxy.keda.svc:8080, by the name vitrine.example",), ("dns:///", "port-forward")),
                                    ("ingress", ("https://vitrine.example", "port-forward"), ("Gateway",)),
                                    ("gateway", ("Gateway public: vitrine.example", "gRPC: grpc.vitrine.example"), ()),
                                    ("certificates", ("--tls-ca",), ("no TLS", "Every client"))):
            with self.subTest(example):
                notes = self.notes(example)
                self.assertEqual([text for text in has if text not in notes], [], notes)
                self.assertEqual([text for text in lacks if text in notes], [], notes)
        self.assertIn("Every client may call", self.notes("plain", "--set=identity.tlsSecret=t"))


class Package(unittest.TestCase):
    def test_helm_lint_passes(self):
        said = chart.helm("lint", "--strict", chart.KUBERNETES, str(chart.CHART), IMAGE)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_a_chart_without_its_symbolic_links_is_refused(self):
        """Flux and Windows omit symbolic links in a checkout."""
        for link, example in (("serving.textproto", "plain"), ("policy.textproto", "cpu"), ("prometheus-rule.yaml", "keda"),
                              ("autoscaler.yaml", "no-prometheus"), ("dashboards", "keda")):
            with self.subTest(link), tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder, "vitrine")
                shutil.copytree(chart.CHART, copy)
                there = copy / "files" / link
                shutil.rmtree(there) if there.is_dir() else there.unlink()
                self.assertIn(f"lacks files/{link}", chart.refusal(f"--values={chart.EXAMPLES / example}.yaml", chart=copy))

    def test_the_release_archive_is_reproducible(self):
        """The archive differs from the chart's folder only in the image registry, and does not depend on the umask and the path."""
        archives = []
        for umask in (0o022, 0o077):
            with tempfile.TemporaryDirectory() as folder:
                said = subprocess.run([chart.ROOT / "deploy/release/chart", folder, "r.example/vision"], capture_output=True, text=True,
                                      preexec_fn=lambda: os.umask(umask), env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
                self.assertEqual(said.returncode, 0, said.stderr)
                archive, = pathlib.Path(folder).iterdir()
                archives.append(archive.read_bytes())
                rendered = chart.template(f"--values={chart.EXAMPLES / 'keda.yaml'}", chart=archive)
                values = yaml.safe_load(chart.helm("show", "values", str(archive)).stdout)
        self.assertEqual(rendered, manifests.documents("helm/keda"))
        self.assertEqual(values["image"]["repository"], "r.example/vision/vitrine-server")
        self.assertEqual(archives[0], archives[1])
