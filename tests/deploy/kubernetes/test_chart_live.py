# SPDX-License-Identifier: Apache-2.0
"""Tests what the Helm chart reads from the cluster, with a fake API server."""
import http.server
import json
import pathlib
import tempfile
import threading
import unittest

import chart

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "vitrine-server", "namespace": "vitrine"},
              "spec": {"replicas": 6}}
RESOURCE = {"name": "deployments", "singularName": "deployment", "namespaced": True, "kind": "Deployment", "verbs": ["get", "list"]}
VERSION = {"groupVersion": "apps/v1", "version": "v1"}
ANSWERS = {
    "/version": {"major": "1", "minor": "35", "gitVersion": "v1.35.0"},
    "/api": {"kind": "APIVersions", "versions": []},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "apps", "versions": [VERSION], "preferredVersion": VERSION}]},
    "/apis/apps/v1": {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "apps/v1", "resources": [RESOURCE]},
}


class Api(http.server.BaseHTTPRequestHandler):
    deployments: dict = {}

    def do_GET(self):
        path = self.path.partition("?")[0]
        answer = {**ANSWERS, **self.deployments}.get(path)
        missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}
        body = json.dumps(answer or missing).encode()
        self.send_response(200 if answer else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Replicas(unittest.TestCase):
    """A release with a fixed number of servers keeps this number when an autoscaler takes over."""

    def replicas(self, mode, deployments):
        handler = type("Handler", (Api,), {"deployments": deployments})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config")
            config.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "a", "users": [], "contexts": [
                {"name": "a", "context": {"cluster": "a"}}], "clusters": [
                {"name": "a", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}]}))
            documents = chart.template(f"--values={chart.EXAMPLES / 'plain.yaml'}", f"--set=autoscaling.mode={mode}",
                                       f"--kubeconfig={config}", "--dry-run=server")
        return next(one for one in documents if one["kind"] == "Deployment")["spec"].get("replicas")

    def test_replicas_of_the_autoscaler_are_kept(self):
        live = {"/apis/apps/v1/namespaces/vitrine/deployments/vitrine-server": DEPLOYMENT}
        self.assertEqual(self.replicas("cpu", live), 6)
        self.assertEqual(self.replicas("fixed", live), 2)
        self.assertIsNone(self.replicas("cpu", {}))
