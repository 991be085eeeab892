# SPDX-License-Identifier: Apache-2.0
"""Tests `vitrine-repo pull` and `push`, and a server with a remote repository, as programs.

Usage: remote_test.py BUILD [-v]. The services are moto (S3), Debian's docker-registry (OCI; its test is skipped without
it) and Python's web server. Exit code 77: moto cannot be installed.
"""

import contextlib
import functools
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(sys.argv[1]).resolve() / "bin"
BUNDLED = SOURCE / "models/bundled"
MODELS = ("eit-mini-cifar10", "kv-pos-mnist", "xcit-n12-f-sne-cifar10")
BUCKET = "s3://models/prod env"


def ask(url, data=None, method=None):
    headers = {"Content-Type": "application/octet-stream"}
    if "/models/prod" in url:  # moto requires a signature for objects, but does not check it
        headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, Signature=0"
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as reply:
        return reply.read()


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if condition():
                return
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s for {what}")


def free_port():
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        return server.server_port


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="vitrine-remote-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "AWS_EC2_METADATA_DISABLED": "true"}

    def repo(self, *arguments, fails=None):
        """Runs vitrine-repo. If the command must fail, `fails` has words of the expected error."""
        done = subprocess.run([BIN / "vitrine-repo", *map(str, arguments)], env=self.environment, text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if fails is None:
            self.assertEqual(done.returncode, 0, done.stdout)
        else:
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(fails, done.stdout)
        return done.stdout

    def start(self, *command, log=subprocess.DEVNULL):
        process = subprocess.Popen(list(map(str, command)), env=self.environment, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def copies(self):
        return sorted(f"{path.parent.name}/{path.name}" for path in self.cache.glob("[!.]*/[1-9]*"))

    def check_all(self):
        self.assertEqual(self.copies(), ["eit-mini-cifar10/2", "kv-pos-mnist/1", "xcit-n12-f-sne-cifar10/1"])
        for version in self.copies():
            for file in (BUNDLED / version).iterdir():
                self.assertEqual((self.cache / version / file.name).read_bytes(), file.read_bytes(), file)


class S3(Programs):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment.update(AWS_ENDPOINT_URL=self.url, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret",
                                AWS_SESSION_TOKEN="session", AWS_REGION="us-east-1")
        self.moto = self.start_moto()

    def start_moto(self):
        moto = self.start(PYTHON, "-m", "moto.server", "-H", "127.0.0.1", "-p", self.port)
        wait_for(lambda: ask(f"{self.url}/models", method="PUT") is not None, "moto")
        return moto

    def push_all(self):
        for model in MODELS:
            self.repo("push", BUNDLED, model, BUCKET)

    def second_version(self):
        """Returns a repository in which kv-pos-mnist has version 2."""
        staging = self.folder / "staging"
        for _ in range(2):
            self.repo("publish", staging, "kv-pos-mnist", "--from", BUNDLED)
        return staging

    def test_pushed_versions_can_be_pulled(self):
        self.push_all()
        self.assertIn("already", self.repo("push", BUNDLED, "kv-pos-mnist", BUCKET))
        self.repo("pull", BUCKET, self.cache)
        self.check_all()
        self.assertEqual(self.repo("pull", BUCKET, self.cache), "", "nothing is fetched twice")
        self.repo("pull", "s3://elsewhere", self.cache, fails="status 404")

    def test_a_damaged_copy_is_fetched_again(self):
        self.push_all()
        self.repo("pull", BUCKET, self.cache)
        (self.cache / "kv-pos-mnist/1/weights.safetensors").write_bytes(b"short")
        self.assertIn("pulled kv-pos-mnist/1", self.repo("pull", BUCKET, self.cache))
        self.check_all()

    def test_other_bytes_in_the_bucket_are_refused(self):
        self.push_all()
        weights = (BUNDLED / "kv-pos-mnist/1/weights.safetensors").read_bytes()
        ask(f"{self.url}/models/prod%20env/kv-pos-mnist/1/weights.safetensors", weights[:-1] + b"x", "PUT")
        self.repo("pull", BUCKET, self.cache, fails="kv-pos-mnist/1: ")
        self.assertEqual(self.copies(), ["eit-mini-cifar10/2", "xcit-n12-f-sne-cifar10/1"])

    def test_a_version_is_never_replaced(self):
        self.push_all()
        other = self.folder / "other"
        self.repo("create", other, "kv-pos-mnist", "--variant", "kv-pos-mnist-p7-d64-l2")
        self.repo("push", other, "kv-pos-mnist", BUCKET, fails="another version has this number")
        manifest = f"{self.url}/models/prod%20env/kv-pos-mnist/1/manifest.textproto"
        self.assertEqual(ask(manifest), (BUNDLED / "kv-pos-mnist/1/manifest.textproto").read_bytes())
        ask(manifest, method="DELETE")  # as if the first push had been interrupted
        self.repo("push", other, "kv-pos-mnist", BUCKET, fails="holds another file")
        self.repo("push", BUNDLED, "kv-pos-mnist", BUCKET)

    def test_size_is_limited_and_versions_are_deleted_on_request(self):
        self.push_all()
        self.repo("pull", BUCKET, self.cache, "--max-bytes", 8_000_000, fails="--max-bytes")
        self.assertEqual(self.copies(), ["eit-mini-cifar10/2", "kv-pos-mnist/1"])
        self.repo("pull", BUCKET, self.cache)
        ask(f"{self.url}/models/prod%20env/kv-pos-mnist/1/manifest.textproto", method="DELETE")
        self.repo("pull", BUCKET, self.cache)
        self.check_all()
        self.assertEqual(self.repo("pull", BUCKET, self.cache, "--delete"), "removed kv-pos-mnist/1\n")
        self.repo("pull", "s3://models/nothing", self.cache, "--delete", fails="no version at all")
        self.assertEqual(len(self.copies()), 2)

    def test_invalid_command_lines_are_refused(self):
        for line in (["pull", "ftp://x", "c"], ["pull", "s3://", "c"], ["push", BUNDLED, "kv-pos-mnist", "oci://x"]):
            done = subprocess.run([BIN / "vitrine-repo", *line], env=self.environment, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 2, line)

    def serve(self):
        ports = self.folder / "ports"
        ports.unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            server = self.start(BIN / "vitrine-server", "--repository", BUCKET, "--repository-cache", self.cache,
                                "--repository-refresh", "1s", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                "--executors", "1", "--port-file", ports, log=log)
        wait_for(ports.exists, "the server's port")
        addresses = dict(line.split("=") for line in ports.read_text().split())
        wait_for(lambda: ask(f"http://{addresses['metrics']}/readyz"), "the server")
        return server, f"http://{addresses['grpc']}"

    def classify(self, url, models=MODELS):
        image = (SOURCE / "samples/cifar/horse-bay.jpg").read_bytes()
        for model in models:
            answer = json.loads(ask(f"{url}/v1/models/{model}:classify", image, "POST"))
            self.assertEqual(answer["model"], model)

    def stop(self, server):
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(30), 0, (self.folder / "log").read_text())

    def test_a_server_serves_the_intact_versions_of_a_bucket(self):
        self.push_all()
        ask(f"{self.url}/models/prod%20env/kv-pos-mnist/1/weights.safetensors", b"short", "PUT")
        ask(f"{self.url}/models/prod%20env/xcit-n12-f-sne-cifar10/1/weights.safetensors", method="DELETE")
        server, url = self.serve()
        self.classify(url, ["eit-mini-cifar10"])
        log = (self.folder / "log").read_text()
        self.assertIn("the copy of the repository lacks versions", log)
        (fault,) = [line for line in log.splitlines() if "kv-pos-mnist/1: " in line][:1]
        for words in ("repository not refreshed", "xcit-n12-f-sne-cifar10/1: ", "the next attempt is in "):
            self.assertIn(words, fault, "one line has all faults")
        self.assertEqual(self.copies(), ["eit-mini-cifar10/2"])
        self.stop(server)
        self.moto.kill()
        self.moto.wait()
        server, url = self.serve()  # serves its copy, because the bucket's service is down
        self.classify(url, ["eit-mini-cifar10"])
        self.start_moto()
        self.push_all()
        wait_for(lambda: len(self.copies()) == 3, "the versions that were left out", 60)
        wait_for(lambda: self.classify(url) is None, "all models", 30)
        self.stop(server)

    def test_a_server_follows_the_bucket_and_survives_its_loss(self):
        self.push_all()
        server, url = self.serve()
        self.classify(url)
        self.repo("push", self.second_version(), "kv-pos-mnist", BUCKET)
        versions = lambda: json.loads(ask(f"{url}/v2/models/kv-pos-mnist"))["versions"]  # noqa: E731
        wait_for(lambda: versions() == ["2"], "version 2", 15)

        # The server restarts a child that dies.
        pulls = lambda: subprocess.run(["pgrep", "-P", str(server.pid)], capture_output=True, text=True).stdout.split()  # noqa: E731
        (child,) = pulls()
        os.kill(int(child), signal.SIGKILL)
        wait_for(lambda: pulls() not in ([], [child]), "another child", 15)

        self.moto.kill()
        self.moto.wait()
        log = lambda: (self.folder / "log").read_text()  # noqa: E731
        wait_for(lambda: "repository not refreshed" in log(), "a line about the bucket", 30)
        self.classify(url)
        (child,) = pulls()
        self.stop(server)
        wait_for(lambda: not pathlib.Path(f"/proc/{child}").exists(), "the end of the child", 10)

        server, url = self.serve()  # while the bucket's service is down
        self.classify(url)
        self.start_moto()  # the bucket is empty now, but the server removes no version
        wait_for(lambda: "no version at all" in log(), "a line about the empty bucket", 30)
        self.classify(url)
        (child,) = pulls()
        server.kill()
        wait_for(lambda: not pathlib.Path(f"/proc/{child}").exists(), "the end of the child", 10)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Web(Programs):
    def test_a_folder_behind_a_web_server_can_be_pulled(self):
        site = self.folder / "site"
        shutil.copytree(BUNDLED, site)
        handler = functools.partial(QuietHandler, directory=site)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = f"http://127.0.0.1:{server.server_port}"
        self.repo("pull", url, self.cache, fails="vitrine-repo list DIR --format json")
        (site / "index.json").write_text(self.repo("list", site, "--format", "json"))
        self.repo("pull", url + "/", self.cache)
        self.check_all()
        self.repo("create", self.folder / "other", "new", "--variant", "kv-pos-mnist-p7-d64-l2")
        self.repo("push", self.folder / "other", "new", url, fails="only read")


@unittest.skipUnless(shutil.which("docker-registry"), "docker-registry is not installed")
class Oci(Programs):
    def test_a_registry_can_be_pushed_to_and_pulled(self):
        port = free_port()
        settings = self.folder / "registry.yml"
        settings.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.folder}/data}}}}\n"
                            f"http: {{addr: '127.0.0.1:{port}'}}\n")
        self.start(shutil.which("docker-registry"), "serve", settings)
        wait_for(lambda: ask(f"http://127.0.0.1:{port}/v2/"), "the registry")
        registry = f"oci://127.0.0.1:{port}/team/models"
        for model in MODELS:
            self.repo("push", BUNDLED, model, registry)
        self.assertIn("already", self.repo("push", BUNDLED, "kv-pos-mnist", registry))
        self.repo("pull", registry, self.cache)
        self.check_all()
        other = self.folder / "other"
        self.repo("create", other, "kv-pos-mnist", "--variant", "kv-pos-mnist-p7-d64-l2")
        self.repo("push", other, "kv-pos-mnist", registry, fails="another version has this number")


if __name__ == "__main__":
    made = subprocess.run([SOURCE / "script/test-environment"], stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        sys.exit(made.returncode)
    PYTHON = f"{made.stdout.strip()}/bin/python"
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
