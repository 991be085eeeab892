# SPDX-License-Identifier: Apache-2.0
"""Tests the examples of deploy/proxies: nginx and HAProxy, if installed, in front of real servers.

Exit code 77: neither is installed, so nothing was tested.
VITRINE_PROXY_SECONDS: time during which the servers are restarted in turn (default: each once). At least REQUESTS_A_SECOND must be
made during that time. For each proxy a line says how many requests were made, retried by the proxy, and lost."""
import csv
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("VITRINE_BIN", SOURCE / "build/bin"))
MODEL = "eit-mini-cifar10"
PICTURE = SOURCE / "samples/cifar/horse-bay.jpg"
PATH = os.environ["PATH"] + ":/usr/sbin"
RESTARTS_S = float(os.environ.get("VITRINE_PROXY_SECONDS", 0))
REQUESTS_A_SECOND = 2  # minimum, summed over all callers
NGINX, HAPROXY = shutil.which("nginx", path=PATH), shutil.which("haproxy", path=PATH)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(what, holds, patience=30):
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {patience} s")
        time.sleep(0.02)


class Server:
    def __init__(self, folder, name, port, metrics):
        self.log = folder / f"{name}.log"
        self.metrics = metrics
        self.address = f"127.0.0.1:{port}"
        command = [BIN / "vitrine-server", "--repository", folder / "models", "--listen", self.address, "--executors", "1",
                   "--metrics", f"127.0.0.1:{metrics}", "--trusted-proxies", "127.0.0.0/8", "--lame-duck", "3s", "--page",
                   "--log-requests", "all"]
        with self.log.open("ab") as log:
            self.begin = log.tell()
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT)

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended: {self.log.read_text()}")
        said = subprocess.run(["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{self.metrics}/readyz"], timeout=10)
        return said.returncode == 0

    def has_served(self):
        """Returns True if the current process of this server has answered a request."""
        with self.log.open("rb") as log:
            log.seek(self.begin)
            return b" code=OK " in log.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self):
        self.process.kill()
        self.process.wait(60)


class ProxyCase:
    """Tests that run behind nginx and behind HAProxy. All tests of a class share one proxy."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="vitrine-proxies-")
        cls.addClassCleanup(scratch.cleanup)
        folder = cls.folder = pathlib.Path(scratch.name)
        folder.chmod(0o755)  # for worker processes that run as the user nobody
        shutil.copytree(SOURCE / "models/bundled" / MODEL, folder / "models" / MODEL)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", folder / "tls.key", "-out", folder / "tls.crt"], check=True, capture_output=True, timeout=60)
        (folder / "tls.pem").write_text((folder / "tls.crt").read_text() + (folder / "tls.key").read_text())
        cls.ports = {"8443": free_port(), "8500": free_port(), "8501": free_port(), "8600": free_port(), "8601": free_port()}
        cls.servers = [cls.start("one", "8500", "8501"), cls.start("two", "8600", "8601")]
        for server in cls.servers:
            wait_for("ready", server.is_ready)
        cls.proxy = f"localhost:{cls.ports['8443']}"
        cls.start_proxy()
        wait_for("the proxy serves", lambda: cls.curl("/v2/health/ready", "--http1.1")[0] == "200")

    @classmethod
    def start(cls, name, port, metrics):
        server = Server(cls.folder, name, cls.ports[port], cls.ports[metrics])
        cls.addClassCleanup(server.kill)
        return server

    @classmethod
    def example(cls, name):
        """Writes the example with the ports and files of this test, and with the lines of the second server enabled. Returns its
        path."""
        text = (SOURCE / "deploy/proxies" / name).read_text().replace("/etc/vitrine", str(cls.folder))
        text = text.replace("# server", "server").replace("/tmp/vitrine-nginx", str(cls.folder / "nginx"))
        for port, free in cls.ports.items():
            text = text.replace(port, str(free))
        (cls.folder / name).write_text(text)
        return cls.folder / name

    @classmethod
    def run_proxy(cls, *command):
        cls.proxy_log = cls.folder / "proxy.log"
        with cls.proxy_log.open("wb") as log:
            process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT)
        cls.addClassCleanup(process.wait, 30)
        cls.addClassCleanup(process.terminate)

    @classmethod
    def curl(cls, path, *arguments):
        """Returns the status code and the body."""
        said = subprocess.run(["curl", "-s", "--cacert", cls.folder / "tls.crt", "-w", "\n%{http_code}", *arguments,
                               f"https://{cls.proxy}{path}"], capture_output=True, timeout=60)
        body, code = said.stdout.rsplit(b"\n", 1)
        return code.decode(), body

    def classify(self, *arguments):
        return subprocess.run([BIN / "vitrine", "classify", PICTURE, "--server", self.proxy, "--tls-ca", self.folder / "tls.crt",
                               "--model", MODEL, *arguments], capture_output=True, text=True, timeout=60)

    def logs(self):
        return "".join(server.log.read_text() for server in self.servers)

    def test_both_http_versions_are_proxied(self):
        for version in ("--http1.1", "--http2"):
            with self.subTest(version):
                code, body = self.curl(f"/v1/models/{MODEL}:classify", version, "--data-binary", f"@{PICTURE}",
                                       "-H", f"X-Request-Id: id-of{version}")
                self.assertEqual(code, "200", body)
                self.assertIn(b'"predictions"', body)
                wait_for("the id is in the log", lambda: f"id-of{version}" in self.logs())
                self.assertEqual(self.curl("/", version)[0], "200")
                self.assertEqual(self.curl("/page/main.js", version, "--compressed")[0], "200")
                self.assertEqual(self.curl(f"/v1/models/{MODEL}:classify", version, "-X", "PUT", "-d", "x")[0], "405")

    def test_a_too_large_body_is_refused(self):
        """Uses HTTP/1.1, because over HTTP/2 curl 7.88 loses a response that arrives before curl has sent the whole request."""
        too_large = self.folder / "large"
        too_large.write_bytes(b"\xff\xd8\xff" + bytes(17 << 20))
        code, body = self.curl(f"/v1/models/{MODEL}:classify", "--http1.1", "--data-binary", f"@{too_large}")
        self.assertEqual(code, "413", body)

    def test_grpc_is_proxied(self):
        said = self.classify()
        self.assertEqual(said.returncode, 0, said.stderr)
        # The client sends several images over ClassifyStream.
        said = subprocess.run([BIN / "vitrine", "classify", *sorted(PICTURE.parent.glob("*.jpg")), "--server", self.proxy, "--tls-ca",
                               self.folder / "tls.crt", "--model", MODEL], capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertNotEqual(self.classify("--model", "nobody").returncode, 0)

    def test_a_draining_server_loses_no_request(self):
        codes, stop = [], threading.Event()

        def ask_http():
            while not stop.is_set():
                codes.append(self.curl(f"/v1/models/{MODEL}:classify", "--http2", "--data-binary", f"@{PICTURE}")[0])

        def ask_grpc():
            while not stop.is_set():
                said = self.classify()
                codes.append("200" if said.returncode == 0 else said.stderr)

        threads = [threading.Thread(target=ask) for ask in (ask_http, ask_http, ask_grpc, ask_grpc)]
        for thread in threads:
            thread.start()
        names = (("one", "8500", "8501"), ("two", "8600", "8601"))
        begin = time.monotonic()
        restarts, end = 0, begin + RESTARTS_S
        try:
            while restarts < len(names) or time.monotonic() < end:
                index = restarts % len(names)
                time.sleep(1)
                self.assertEqual(self.servers[index].stop(), 0)
                self.servers[index] = self.start(*names[index])
                wait_for("ready again", self.servers[index].is_ready)
                wait_for("the proxy has found the server", self.servers[index].has_served)
                restarts += 1
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        seconds = time.monotonic() - begin
        lost = {code: codes.count(code) for code in set(codes) if code != "200"}
        print(f"{type(self).__name__}: {len(codes)} requests in {seconds:.0f} s, {restarts} restarts, {sum(lost.values())} lost, "
              f"{self.retries()} retries of the proxy", file=sys.stderr)
        self.assertGreater(len(codes), max(20, REQUESTS_A_SECOND * seconds))
        # Removes expected lines: the proxy logs that a draining server is not ready and that a restarted server is ready again.
        log = [line for line in self.proxy_log.read_text().splitlines() if not re.search(r"status, code: 503|UP, reason", line)]
        self.assertEqual(lost, {}, "other lines of the proxy's log:\n" + "\n".join(log[-200:]))


@unittest.skipUnless(NGINX, "nginx is not installed (nginx-light)")
class Nginx(ProxyCase, unittest.TestCase):
    @classmethod
    def start_proxy(cls):
        file = cls.example("nginx.conf")
        paths = "".join(f"    {kind}_temp_path {cls.folder};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        file.write_text(file.read_text().replace("    access_log off;\n", "    access_log off;\n" + paths))
        cls.run_proxy(NGINX, "-c", file, "-p", cls.folder, "-g", "daemon off;")

    def retries(self):
        """Returns the number of attempts that nginx logged as failed. nginx does not log attempts that it repeats after a 503."""
        return len(re.findall(r"\[error\].* upstream", self.proxy_log.read_text()))


@unittest.skipUnless(HAPROXY, "HAProxy is not installed (haproxy)")
class Haproxy(ProxyCase, unittest.TestCase):
    @classmethod
    def start_proxy(cls):
        file = cls.example("haproxy.cfg")
        file.write_text(file.read_text().replace("global\n", f"global\n    stats socket {cls.folder}/haproxy.sock\n", 1))
        cls.run_proxy(HAPROXY, "-W", "-f", file)

    def retries(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.folder / "haproxy.sock"))
            control.sendall(b"show stat\n")
            lines = control.makefile().read().lstrip("# ").splitlines()
        row = next(row for row in csv.DictReader(lines) if row["svname"] == "BACKEND")
        return int(row["wretr"]) + int(row["wredis"])

    def test_the_server_sees_the_clients_address(self):
        said = subprocess.run(["curl", "-s", "--cacert", self.folder / "tls.crt", "--interface", "127.0.0.9", "-H",
                               "X-Request-Id: from-nine", "--data-binary", f"@{PICTURE}",
                               f"https://{self.proxy}/v1/models/{MODEL}:classify"], capture_output=True, timeout=60)
        self.assertIn(b'"predictions"', said.stdout)
        wait_for("the request is in the log", lambda: "from-nine" in self.logs())
        line = next(line for line in self.logs().splitlines() if "from-nine" in line)
        self.assertIn("ipv4:127.0.0.9:", line)


if __name__ == "__main__":
    if not NGINX and not HAPROXY:
        print("neither nginx nor HAProxy is installed: nothing was tested")
        sys.exit(77)
    unittest.main()
