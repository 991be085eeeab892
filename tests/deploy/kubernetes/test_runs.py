# SPDX-License-Identifier: Apache-2.0
"""Runs the manifests' commands with files and ports of this machine. The test acts as the kubelet."""
import contextlib
import hashlib
import http.client
import os
import pathlib
import random
import secrets
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import grpc
import yaml

import flags
import manifests

BUNDLED = manifests.ROOT / "models/bundled"
HEALTH = {1: "SERVING", 2: "NOT_SERVING"}


def free_port():
    """Returns a free port for a later listener, below the kernel's ephemeral ports."""
    for port in random.sample(range(10_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def make_certificate(folder, names):
    """Writes tls.crt, tls.key and ca.crt; the certificate is self-signed."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                    "1", "-subj", "/CN=vitrine", "-addext", "subjectAltName=" + names, "-keyout", folder / "tls.key", "-out",
                    folder / "tls.crt"], check=True, capture_output=True)
    (folder / "tls.key").chmod(0o440)
    (folder / "ca.crt").write_bytes((folder / "tls.crt").read_bytes())


def localized(words, paths, ports):
    """Returns the command line with paths and ports of this test. For example, a local folder replaces /models."""
    made = []
    for word in words:
        name, equals, value = word.rpartition("=")
        kind, colon, rest = value.partition(":")
        path, prefix = (rest, kind + colon) if name == "--data" else (value, "")
        if name in ("--listen", "--metrics", "--health-listen"):
            value = f"127.0.0.1:{ports[int(rest)]}"
        for mount, here in sorted(paths.items(), reverse=True):
            if path == mount or path.startswith(mount + "/"):
                value = prefix + str(here) + path[len(mount):]
                break
        made.append(name + equals + value)
    return [str(flags.folder() / pathlib.PurePath(made[0]).name), *made[1:]]


def health(port, service=""):
    """Probes in plaintext as the kubelet does, but with a longer timeout. Returns the status, or the code of the error."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=lambda message: message,
                                    response_deserializer=lambda message: message)
        name = service.encode()
        try:
            answer = check(b"\x0a" + bytes([len(name)]) + name if name else b"", timeout=5)
            return HEALTH.get(answer[1] if len(answer) == 2 else 0, "UNKNOWN")
        except grpc.RpcError as error:
            return error.code().name


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection):
        connection.request("GET", path)
        return connection.getresponse().status


def await_that(condition, limit, what):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {limit} s")
        time.sleep(0.02)


def faults_of(folder):
    return [fault for pod in manifests.pods(folder) for container in pod.containers()
            for line in flags.program_lines(manifests.arguments(container)) for fault in flags.faults(line)]


def why_not(*folders):
    if flags.folder() is None:
        return "the programs are not built"
    missing = sorted({fault for folder in folders for fault in faults_of(folder)})
    return "test_flags fails: " + "; ".join(missing) if missing else ""


class Cluster:
    """The server of overlays/cpu, as far as one machine can test it."""

    def __init__(self, root):
        self.root = root
        self.pod = next(manifests.pods("overlays/cpu"))
        self.container = manifests.container_of(self.pod, "/usr/bin/vitrine-server")
        self.ports = {port["containerPort"]: free_port() for port in self.container["ports"]}
        self.token = secrets.token_urlsafe(32)
        # The local folder for each path at which the pod mounts a volume.
        self.paths = {"/models": BUNDLED}
        for volume, mount in (("serving", "/etc/vitrine"), ("policy", "/etc/vitrine-policy")):
            name = next(one for one in self.pod.spec["volumes"] if one["name"] == volume)["configMap"]["name"]
            data = next(one for one in manifests.documents("overlays/cpu", "ConfigMap") if one["metadata"]["name"] == name)
            self.paths[mount] = root / volume
            self.paths[mount].mkdir()
            for file, text in data["data"].items():
                (self.paths[mount] / file).write_text(text)
        for mount in ("/etc/vitrine-tls", "/etc/vitrine-tokens", "/etc/vitrine-client"):
            self.paths[mount] = root / pathlib.PurePath(mount).name
            self.paths[mount].mkdir()
        make_certificate(self.paths["/etc/vitrine-tls"], "DNS:vitrine-headless.vitrine.svc,DNS:localhost,IP:127.0.0.1")
        (self.paths["/etc/vitrine-client"] / "ca.crt").write_bytes((self.paths["/etc/vitrine-tls"] / "ca.crt").read_bytes())
        (self.paths["/etc/vitrine-client"] / "token").write_text(self.token + "\n")
        (self.paths["/etc/vitrine-client"] / "token").chmod(0o440)
        digest = hashlib.sha256(self.token.encode()).hexdigest()
        (self.paths["/etc/vitrine-tokens"] / "tokens").write_text(f"evaluation sha256:{digest}\n")
        self.log = open(root / "log", "w+")
        self.process = None

    def start(self):
        line = localized(manifests.arguments(self.container), self.paths, self.ports)
        # Shortens the lame duck from fifteen to six seconds, which is enough to test the server's behaviour in this time.
        line = ["--lame-duck=6s" if word.startswith("--lame-duck=") else word for word in line]
        self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=self.log)

    def probe(self, name):
        """Returns True if a probe of the manifest succeeds now."""
        probe = self.container[name]
        try:
            if "grpc" in probe:
                return health(self.ports[probe["grpc"]["port"]], probe["grpc"].get("service", "")) == "SERVING"
            port = next(one["containerPort"] for one in self.container["ports"] if one["name"] == probe["httpGet"]["port"])
            return get(self.ports[port], probe["httpGet"]["path"]) == 200
        except OSError:
            return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def said(self):
        return (self.root / "log").read_text()[-3000:]


@unittest.skipIf(why_not("overlays/cpu", "jobs/evaluation", "jobs/evaluation-merge"),
                 why_not("overlays/cpu", "jobs/evaluation", "jobs/evaluation-merge"))
class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cluster = Cluster(pathlib.Path(folder.name))
        self.addCleanup(self.cluster.stop)
        self.cluster.start()
        for probe in ("startupProbe", "readinessProbe"):
            await_that(lambda: self.cluster.process.poll() is not None or self.cluster.probe(probe), 60, probe)
            self.assertIsNone(self.cluster.process.poll(), self.cluster.said())

    def test_probes_work_from_start_to_shutdown(self):
        """The server is ready and alive. After SIGTERM it is not ready but alive, so that no kubelet restarts it. It
        then ends with code 0."""
        cluster = self.cluster
        self.assertTrue(cluster.probe("readinessProbe"))
        self.assertTrue(cluster.probe("livenessProbe"))
        # The health listener rejects all other calls, such as ListModels.
        health_port = cluster.ports[cluster.container["readinessProbe"]["grpc"]["port"]]
        self.assertNotEqual(health_port, cluster.ports[8500])
        with grpc.insecure_channel(f"127.0.0.1:{health_port}") as channel:
            call = channel.unary_unary("/vitrine.v1.Registry/ListModels", request_serializer=bytes, response_deserializer=bytes)
            with self.assertRaises(grpc.RpcError) as refused:
                call(b"", timeout=20)
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        # The listener for callers accepts no plaintext.
        self.assertNotIn(health(cluster.ports[8500]), HEALTH.values())

        begin = time.monotonic()
        cluster.process.send_signal(signal.SIGTERM)
        await_that(lambda: not cluster.probe("readinessProbe"), 5, "NOT_SERVING")
        self.assertTrue(cluster.probe("livenessProbe"))
        self.assertIsNone(cluster.process.poll())
        self.assertEqual(cluster.process.wait(timeout=60), 0, cluster.said())
        self.assertGreaterEqual(time.monotonic() - begin, 5.9)
        self.assertLess(time.monotonic() - begin, cluster.pod.spec["terminationGracePeriodSeconds"])

    def test_indexed_evaluation_can_be_merged(self):
        """Runs the eight pods of the Indexed Job and the merging pod, over TLS with a token."""
        cluster = self.cluster
        data = cluster.root / "data" / "cifar10"
        data.mkdir(parents=True)
        pictures = b"".join(struct.pack("B", index % 10) + bytes([(index * 37 + at) % 251 for at in range(3072)])
                            for index in range(16))
        (data / "test_batch.bin").write_bytes(pictures)
        work = cluster.root / "work"
        work.mkdir()
        paths = {**cluster.paths, "/data": cluster.root / "data", "/runs": work}

        shard = next(manifests.pods("jobs/evaluation")).containers()[0]
        completions = manifests.documents("jobs/evaluation", "Job")[0]["spec"]["completions"]
        for index in range(completions):
            line = [word.replace("$(SHARD)", str(index)) for word in manifests.arguments(shard)]
            line = [f"--server=localhost:{cluster.ports[8500]}" if word.startswith("--server=") else word
                    for word in localized(line, paths, {})]
            said = subprocess.run(line, capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "JOB_COMPLETION_INDEX": str(index)})
            self.assertEqual(said.returncode, 0, said.stderr + cluster.said())
        merge = next(manifests.pods("jobs/evaluation-merge")).containers()[0]
        said = subprocess.run(localized(manifests.arguments(merge), paths, {}), capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 0, said.stderr)
        rows = (work / "evaluation" / "whole" / "predictions.csv").read_text().splitlines()
        self.assertEqual(len(rows), 1 + 16)
        self.assertTrue((work / "evaluation" / "whole" / "report.html").exists())
        self.assertNotIn(cluster.token, cluster.said())


@unittest.skipIf(flags.folder() is None, "the programs are not built")
class RandomModel(unittest.TestCase):
    def test_repeated_init_containers_publish_once(self):
        # Reads the overlay's own file, without rendering it.
        deployment = yaml.safe_load((manifests.FOLDER / "overlays" / "dev" / "deployment.yaml").read_text())
        container, = deployment["spec"]["template"]["spec"]["initContainers"]
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                line = localized(manifests.arguments(container), {"/models": folder}, {})
                said = subprocess.run(line, capture_output=True, text=True, timeout=120)
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertEqual([one.name for one in (pathlib.Path(folder) / "try").iterdir() if one.is_dir()], ["1"])
