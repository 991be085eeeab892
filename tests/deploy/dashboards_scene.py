# SPDX-License-Identifier: Apache-2.0
"""Runs a server under load, a training, and a Prometheus that scrapes both, on this machine for half a minute."""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

from dashboards_queries import ROOT

SERVED, SECOND = "eit-mini-cifar10", "kv-pos-mnist"

# Versions 1 and 2 are served. Version 2 has a fifth of the traffic and a canary guard. Version 3 is damaged.
SERVING = f"""
models {{
  model: "{SERVED}"
  version_policy {{ latest: 2 }}
  labels {{ label: "stable" version: 1 }}
  labels {{ label: "canary" version: 2 }}
  traffic {{ version: 2 percent: 20 }}
  canary_guard {{ max_error_rate: 0.5 max_golden_drift: 0.1 golden_interval_seconds: 5 }}
}}
"""


# Every caller may use the models SERVED and SECOND and no other model. The user who runs this test may read the serving state.
POLICY = f"""
roles {{
  name: "ask"
  methods: "/vitrine.v1.Classifier/*"
  methods: "/vitrine.v1.Registry/*"
  models: "{SERVED}"
  models: "{SECOND}"
}}
roles {{ name: "look" methods: "/vitrine.v1.Admin/GetServing" models: "*" }}
callers {{ anonymous: true roles: "ask" }}
callers {{ uid: {os.getuid()} roles: "look" }}
"""


class SceneError(Exception):
    """Raised if the servers and programs of the test cannot be started. The message is shown to the user."""


def wait_for(what, seconds, ask):
    """Returns the first true result of `ask`. Raises SceneError if there is no true result within `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.1)
    raise SceneError(f"{what}: not within {seconds} s")


def get(url, **parameters):
    query = "?" + urllib.parse.urlencode(parameters, doseq=True) if parameters else ""
    with urllib.request.urlopen(url + query, timeout=10) as answer:
        return answer.read().decode()


def free_port():
    """Returns a free port for a later listener, below the kernel's ephemeral ports."""
    for port in random.sample(range(10_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port
    raise SceneError("no port is free")


class Scene:
    """A context manager whose exit stops the processes and keeps `folder`."""

    def __init__(self, programs, folder):
        self.programs, self.folder = pathlib.Path(programs), pathlib.Path(folder)
        self.processes = []
        self.admin = f"unix://{self.folder}/admin"

    def __enter__(self):
        try:
            self._publish()
            self._start_server()
            self._start_trainer()
            self._start_prometheus()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name, process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for name, process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _start(self, name, *command):
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log,
                                       stdin=subprocess.DEVNULL)
        self.processes.append((name, process))
        return process

    def _published(self, name, process, pattern):
        """Waits for `pattern` in the log of a starting process; returns the match."""
        def look():
            if process.poll() is not None:
                raise SceneError(f"{name} ended with {process.returncode}:\n{self.log(name)[-2000:]}")
            return re.search(pattern, self.log(name))
        return wait_for(f"{name} to say where it listens", 60, look)

    def _publish(self):
        repository = self.folder / "repository"
        for model, version in ((SERVED, 1), (SERVED, 2), (SERVED, 3), (SECOND, 1)):
            source = max((ROOT / "models/bundled" / model).iterdir(), key=lambda path: int(path.name))
            folder = shutil.copytree(source, repository / model / str(version))
            manifest = (folder / "manifest.textproto").read_text()
            (folder / "manifest.textproto").write_text(re.sub(r"(?m)^version: \d+$", f"version: {version}", manifest))
        with open(repository / SERVED / "3" / "weights.safetensors", "r+b") as weights:
            weights.seek(5000)
            weights.write(b"damaged")
        (self.folder / "serving.textproto").write_text(SERVING)

    def _certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "30", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", self.folder / "tls.key", "-out", self.folder / "tls.crt"],
                       check=True, capture_output=True)
        (self.folder / "tls.key").chmod(0o600)

    def _start_server(self):
        ports = self.folder / "ports"
        flags = ["--executors", "1", "--max-queue-requests", "64", "--admin", self.admin,
                 "--serving-config", self.folder / "serving.textproto",
                 "--tls-cert", self.folder / "tls.crt", "--tls-key", self.folder / "tls.key",
                 "--policy", self.folder / "policy.textproto"]
        self._certificate()
        (self.folder / "policy.textproto").write_text(POLICY)
        process = self._start("server", self.programs / "vitrine-server", "--repository", self.folder / "repository",
                              "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--port-file", ports, *flags)
        self._published("server", process, "listening on")
        addresses = dict(line.split("=", 1) for line in ports.read_text().split())
        self.server, self.server_metrics = addresses["grpc"], addresses["metrics"]
        self.dial = ["--server", self.server, "--tls-ca", self.folder / "tls.crt"]

        def is_ready():
            try:
                return get(f"http://{self.server_metrics}/readyz")
            except urllib.error.URLError:
                return None
        wait_for("the server to be ready", 60, is_ready)

    def _start_trainer(self):
        """Starts a training that lasts longer than the scene on any machine, because the metrics of a training disappear when it ends."""
        process = self._start("trainer", self.programs / "vitrine-train", "run", "task-sort", "--work",
                              self.folder / "work", "--metrics", "127.0.0.1:0", "--threads", "1",
                              "--loader-threads", "1", "--set", "epochs=1000", "--set", "evaluate_every_steps=20",
                              "--no-report")
        self.trainer_metrics = self._published("trainer", process, r"metrics on http://([\d.:]+)/")[1]

    def _start_prometheus(self):
        """Starts Prometheus with the project's configuration, but with this test's addresses and one scrape and evaluation per
        second."""
        port = free_port()
        source = ROOT / "deploy/prometheus"
        configuration = yaml.safe_load((source / "prometheus.yml").read_text())
        configuration["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        targets = {"vitrine-server": self.server_metrics, "vitrine-train": self.trainer_metrics,
                   "prometheus": f"127.0.0.1:{port}"}
        for job in configuration["scrape_configs"]:
            job["static_configs"] = [{"targets": [targets.pop(job["job_name"])]}]
        (self.folder / "rules").mkdir()
        for path in source.glob("rules/*.yml"):
            rules = yaml.safe_load(path.read_text())
            for group in rules["groups"]:
                group.pop("interval", None)
            (self.folder / "rules" / path.name).write_text(yaml.safe_dump(rules))
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        process = self._start("prometheus", "prometheus", f"--config.file={self.folder}/prometheus.yml",
                              f"--storage.tsdb.path={self.folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}")
        self.prometheus = f"http://127.0.0.1:{port}/api/v1/"
        self._published("prometheus", process, "Server is ready to receive web requests")

    def load(self, seconds):
        """Sends requests for at least `seconds`: requests to both models over Classify and ClassifyStream, more requests than the
        server can answer, invalid requests, and requests of a client that is killed."""
        vitrine, cifar, digits = self.programs / "vitrine", ROOT / "samples/cifar", ROOT / "samples/digits"
        (self.folder / "no.png").write_text("no picture")
        quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
        end = time.monotonic() + seconds
        watch = self._start("watch", vitrine, "models", "watch", *self.dial)
        steady = self._start("steady", vitrine, "bench", *self.dial, "--rate", "15", "--warmup", "0", "--duration",
                             "1h", "--mix", f"model={SERVED},images={cifar},weight=3",
                             "--mix", f"model={SECOND},images={digits}")
        subprocess.run([vitrine, "admin", "serving", SERVED, "--admin", self.admin], timeout=30, **quietly)
        for words in (["classify", cifar, "--model", SERVED], ["classify", digits, "--model", SECOND],
                      ["bench", cifar, "--model", "nobody"], ["bench", self.folder / "no.png", "--model", SECOND]):
            subprocess.run([vitrine, *words, *self.dial], timeout=30, **quietly)
        leaves = self._start("leaves", vitrine, "bench", cifar, "--model", SERVED, *self.dial, "--concurrency", "40",
                             "--warmup", "0")
        time.sleep(3)
        leaves.kill()
        self._start("burst", vitrine, "bench", cifar, "--model", SERVED, *self.dial, "--rate", "1500", "--deadline",
                    "100ms", "--warmup", "0", "--duration", "4s").wait(30)
        time.sleep(max(0, end - time.monotonic()))
        steady.send_signal(signal.SIGINT)
        steady.wait(30)
        watch.send_signal(signal.SIGTERM)

    def ask(self, path, **parameters):
        """Returns `data` of Prometheus' answer. Raises SceneError with Prometheus' message if Prometheus rejects the query."""
        try:
            return json.loads(get(self.prometheus + path, **parameters))["data"]
        except urllib.error.HTTPError as error:
            raise SceneError(error.read().decode()) from error
