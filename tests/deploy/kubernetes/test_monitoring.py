# SPDX-License-Identifier: Apache-2.0
"""Tests scraping, the rules, and the metrics of the autoscaler."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest

import yaml

import manifests
import prometheus_rule

ADAPTER = manifests.FOLDER / "components" / "autoscaling" / "prometheus-adapter-values.yaml"
NO_PROMTOOL = "queries are not evaluated: there is no promtool (Debian: prometheus)"
SCALER = manifests.FOLDER / "components" / "autoscaling" / "autoscaler.yaml"


def adapter_rules():
    """Returns prometheus-adapter's rules by the name of the metric that a rule makes."""
    return {rule["name"]["as"]: rule for rule in yaml.safe_load(ADAPTER.read_text())["rules"]["custom"]}


def query(name):
    """Returns the query of a rule, with the values that prometheus-adapter inserts for the pods of a deployment."""
    text = adapter_rules()[name]["metricsQuery"]
    text = text.replace("<<.GroupBy>>", "pod").replace("<<.LabelMatchers>>", 'namespace="vitrine",pod=~"a|b|c"')
    assert "<<" not in text
    return text


def promtool_says(query, series, samples):
    """Runs a query on made-up series with promtool. Returns promtool's error if the result is not `samples` (values by
    labels)."""
    test = {"rule_files": [], "evaluation_interval": "15s", "tests": [{"interval": "15s", "input_series": series, "promql_expr_test": [
        {"expr": query, "eval_time": "5m", "exp_samples": [{"labels": labels, "value": value} for labels, value in samples.items()]}]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump(test, file)
        file.flush()
        said = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True, text=True)
    return said.stdout + said.stderr if said.returncode else ""


def series(name, pod, step, **labels):
    """Returns a counter of requests that grows by `step` every 15 s."""
    more = "".join(f',{label}="{value}"' for label, value in labels.items())
    return {"series": f'vitrine_requests_{name}total{{namespace="vitrine",pod="{pod}",model="m"{more}}}', "values": f"0+{step}x20"}


class Monitoring(unittest.TestCase):
    def test_rules_equal_those_of_prometheus(self):
        kept = yaml.safe_load(prometheus_rule.FILE.read_text())
        self.assertEqual(kept, prometheus_rule.made(), "run script/kubernetes-check --update")

    def test_the_guides_overlay_labels_the_monitors(self):
        """The guide's overlay for kube-prometheus-stack labels the three objects that kube-prometheus-stack looks for, and
        nothing else."""
        guide = (manifests.ROOT / "docs/operations/kubernetes.md").read_text()
        blocks = [textwrap.dedent(one) for one in re.findall(r"(?ms)^ *```yaml\n(.*?)^ *```", guide)]
        overlay = next(yaml.safe_load(one) for one in blocks if "/metadata/labels/release" in one)
        with tempfile.TemporaryDirectory() as folder:
            overlay["resources"] = [os.path.relpath(manifests.FOLDER / "overlays" / "cpu", os.path.realpath(folder))]
            pathlib.Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(overlay))
            said = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        labelled = {one["kind"] for one in yaml.safe_load_all(said.stdout) if "release" in one["metadata"].get("labels", {})}
        self.assertEqual(labelled, {"ServiceMonitor", "PodMonitor", "PrometheusRule"})

    def test_jobs_match_those_in_the_rules(self):
        names = {one["relabelings"][0]["replacement"] for file in ("service-monitor", "pod-monitor")
                 for one in (lambda spec: spec.get("endpoints") or spec["podMetricsEndpoints"])(
                     yaml.safe_load((prometheus_rule.FILE.parent / f"{file}.yaml").read_text())["spec"])}
        known = set()
        for file in prometheus_rule.RULES.glob("*.yml"):
            known.update(re.findall(r'job="([^"]+)"', file.read_text()))
        self.assertLessEqual(known, names)

    def test_kserve_pods_are_scraped_at_the_metrics_port(self):
        (pod,) = [one for one in manifests.pods("kserve")]
        (container,) = pod.containers()
        (endpoint,) = manifests.documents("kserve", "PodMonitor")[0]["spec"]["podMetricsEndpoints"]
        self.assertIn(endpoint["port"], [port["name"] for port in container["ports"]])
        row = next(one for one in endpoint["relabelings"] if one["targetLabel"] == "__address__")
        port = manifests.flag(container, "--metrics").rpartition(":")[2]
        for host in ("10.0.0.7", "[fd00::7]"):
            found = re.fullmatch(row["regex"], f"{host}:8500")
            self.assertEqual(found.expand(row["replacement"].replace("$", "\\")), f"{host}:{port}")

    def test_metrics_are_documented(self):
        """The adapter's query and the scaler use only metrics that docs/reference/metrics.md lists."""
        metrics = (manifests.ROOT / "docs/reference/metrics.md").read_text()
        documented = set(re.findall(r"`(vitrine_[a-z0-9_]+)`", metrics))
        used = {name for rule in adapter_rules().values()
                for name in re.findall(r"vitrine_[a-z0-9_]+", rule["metricsQuery"] + rule["seriesQuery"])}
        self.assertTrue(used)
        for name in used:
            self.assertIn(re.sub(r"_(sum|count|bucket)$", "", name), documented)

    def test_autoscaler_uses_the_adapters_metrics(self):
        metrics = yaml.safe_load(SCALER.read_text())["spec"]["metrics"]
        asked = [metric["pods"]["metric"]["name"] for metric in metrics if metric["type"] == "Pods"]
        self.assertEqual(asked, list(adapter_rules()))
        for rule in adapter_rules().values():
            self.assertRegex(rule["seriesQuery"].partition("{")[0], rule["name"]["matches"])

    def check_query(self, name, series, samples):
        self.assertEqual(promtool_says(query(name), series, {f'{{pod="{pod}"}}': value for pod, value in samples.items()}), "")

    @unittest.skipIf(shutil.which("promtool") is None, NO_PROMTOOL)
    def test_busy_lanes_query_gives_the_ratio_per_pod(self):
        """There are three pods: one at 40 %, an idle one, and one of another deployment."""
        self.check_query("vitrine_lanes_busy_ratio",
                         [{"series": f'vitrine_lanes_busy_ratio{{namespace="vitrine",pod="{pod}",instance="{pod}:8501"}}',
                           "values": f"{value}+0x20"} for pod, value in (("a", 0.4), ("b", 0), ("z", 1))], {"a": 0.4, "b": 0})

    @unittest.skipIf(shutil.which("promtool") is None, NO_PROMTOOL)
    def test_expiry_query_gives_the_ratio_per_pod(self):
        """In the first pod, all requests expire in the queue or during the computation. The second pod gets only requests that expired
        before their admission, which do not count. The third pod gets no requests."""
        self.check_query("vitrine_requests_expired_ratio",
                         [series("", "a", 40, code="DEADLINE_EXCEEDED"), series("", "a", 0, code="OK"),
                          series("expired_", "a", 30, stage="queue"), series("expired_", "a", 10, stage="compute"),
                          series("", "b", 40, code="DEADLINE_EXCEEDED"), series("expired_", "b", 40, stage="admission"),
                          series("expired_", "b", 0, stage="queue"),
                          series("", "c", 0, code="OK"), series("expired_", "c", 0, stage="queue")], {"a": 1, "b": 0, "c": 0})

    @unittest.skipIf(shutil.which("promtool") is None, NO_PROMTOOL)
    def test_shed_query_excludes_quota_rejections(self):
        """The first pod rejects everything, the second pod rejects only requests beyond a caller's quota, and the third pod gets no
        requests."""
        self.check_query("vitrine_requests_shed_ratio",
                         [series("", "a", 40, code="RESOURCE_EXHAUSTED"), series("shed_", "a", 30, reason="wait"),
                          series("shed_", "a", 10, reason="requests"),
                          series("", "b", 30, code="OK"), series("", "b", 10, code="RESOURCE_EXHAUSTED"),
                          series("shed_", "b", 10, reason="quota"), series("shed_", "b", 0, reason="wait"),
                          series("", "c", 0, code="OK"), series("shed_", "c", 0, reason="wait"),
                          series("", "z", 1, code="OK"), series("shed_", "z", 1, reason="wait")], {"a": 1, "b": 0, "c": 0})

    def test_relabeling_gives_the_instance_of_each_run(self):
        """Relabeling gives the right instance for pods of a Job, for pods of a PyTorchJob, and for other pods."""
        spec = yaml.safe_load((prometheus_rule.FILE.parent / "pod-monitor.yaml").read_text())["spec"]
        component, job = "app.kubernetes.io/component", "batch.kubernetes.io/job-name"
        for labels, instance in (({component: "trainer", job: "vitrine-train-kv-mnist"}, "vitrine-train-kv-mnist"),
                                 ({component: "trainer", "training.kubeflow.org/job-name": "vitrine-train"}, "vitrine-train"),
                                 ({component: "trainer"}, "10.0.0.7:9400")):
            known = {"instance": "10.0.0.7:9400"}
            known.update({"__meta_kubernetes_pod_label_" + re.sub(r"\W", "_", name): value for name, value in labels.items()})
            for row in spec["podMetricsEndpoints"][0]["relabelings"]:
                value = ";".join(known.get(label, "") for label in row.get("sourceLabels", []))
                found = re.fullmatch(row.get("regex", "(.*)"), value)
                if row["action"] == "replace" and found:
                    known[row["targetLabel"]] = found.expand(row.get("replacement", "$1").replace("$", "\\"))
            self.assertEqual(known["instance"], instance)
            self.assertEqual(known["job"], "vitrine-train")
