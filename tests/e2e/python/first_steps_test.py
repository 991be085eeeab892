# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of README.md and of the documents' first steps, one after the other, in a fresh copy of the checkout.

Usage: first_steps_test.py BUILD [-v]

The programs are those of BUILD. Files that a reader must have (a data set, weights, a certificate) are made first, under the names
that the documents use. Every command must end with exit code 0, serve until the test stops it, or have a row in NOT_RUN.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/models/tool"))
from pull_test import WEIGHTS  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()

# The documents, each with the number of command blocks at its beginning that this test runs (None: all).
DOCUMENTS = [("README.md", None), ("docs/tutorial/tour.md", None), ("docs/how-to/http.md", 1),
             ("docs/how-to/attention.md", 1), ("docs/tutorial/ten-minutes.md", None), ("docs/how-to/command-line.md", 1),
             ("docs/how-to/training.md", 1), ("docs/how-to/importing.md", 1)]

# Commands that this test does not run, each with the reason.
NOT_RUN = [
    (r"^script/(demo|test)\b", "installs, builds and tests everything; .ci/run runs it"),
    (r"^script/get-data\b", "downloads; tests/get_data, from a server of its own"),
    (r"^vitrine-repo import .*--pull\b", "downloads; tests/models/tool/pull_test.py, from a hub of its own"),
    (r"^vitrine eval .*--calibrate\b", "wants 100 pictures; tests/e2e/python/calibrate_test.py"),
    (r"^vitrine-repo calibrate\b", "wants what that writes; tests/e2e/python/calibrate_test.py"),
    (r"^kubectl\b", "needs a cluster; tests/deploy/kubernetes"),
    (r"^docker\b", "needs docker; tests/deploy/container_test.py"),
    (r"^vitrine-train run eit-mini-cifar10\b", "trains for hours; tests/trainer runs every recipe, made small"),
    (r"^vitrine-train (attend|generate|translate)\b", "needs a trained run of the reader's; tests/trainer/inspect"),
    (r"^vitrine-train sweep\b", "needs a grid of the reader's; tests/trainer/sweep"),
    (r"^vitrine-train augment xcit-imagenet\b", "needs a set of photographs; tests/trainer/augment"),
    (r"^vitrine bench .*--find-max\b", "searches for minutes; tests/client/load"),
    (r"^pip\b", "needs a package index; script/test-python-client installs it and runs docs/how-to/python.md"),
]
# Shorter replacements of slow commands.
SHORTER = [
    (r"^vitrine-train --recipe kv-mnist\b", "{} --set epochs=1 --set batch=16 --no-report"),
    (r"^vitrine-train run finetune\b", "{} --epochs 1 --no-report"),
    (r"^vitrine bench\b", "{} --warmup 0.2s --duration 1s"),
    (r"^vitrine models watch\b", "timeout --preserve-status --signal INT 2 {}; test $? = 130"),
    (r"^vitrine-repo describe\b", "{} --no-measure"),
]


def commands(document, most):
    """Returns the commands in the first blocks of a document, without comments and with continued lines joined."""
    text = (ROOT / document).read_text()
    blocks = [body for language, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if language in ("", "sh")]
    for block in blocks[:most]:
        pending = ""
        for line in block.splitlines():
            # A command continues on the next line after a backslash at the end of the line or within a quoted string.
            pending += re.sub(r"\s+#\s.*$", "", line)
            if pending.endswith("\\"):
                pending = pending[:-1]
            elif pending.count("'") % 2:
                pending += "\n"
            elif pending.strip():
                yield pending.strip()
                pending = ""


def free_port():
    for port in random.sample(range(10_000, 32_000), 100):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise AssertionError("no port is free")


class FirstSteps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="vitrine-first-steps-")
        cls.addClassCleanup(folder.cleanup)
        cls.clone = pathlib.Path(folder.name) / "vitrine"
        cls.run_directory = pathlib.Path(folder.name) / "run"
        cls.run_directory.mkdir()
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], check=True,
                                capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():  # skips removed files that are still in the index
                (cls.clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, cls.clone / name)
        (cls.clone / "build").symlink_to(BUILD)
        cls.addresses = {port: f"127.0.0.1:{free_port()}" for port in (8500, 8501, 8000)}
        cls.environment = dict(os.environ, PATH=f"{BUILD}/bin:{os.environ['PATH']}", VITRINE_SERVER=cls.addresses[8500],
                               VITRINE_DATA="DIR")
        cls.server = None
        cls.addClassCleanup(cls.stop)
        cls.bring_along()

    @classmethod
    def shell(cls, line):
        return subprocess.run(["bash", "-c", line], cwd=cls.clone, env=cls.environment, text=True, timeout=240,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @classmethod
    def prepare(cls, line):
        done = cls.shell(line)
        assert done.returncode == 0, f"{line}\n{done.stdout}"

    @classmethod
    def bring_along(cls):
        """Makes the files that a reader must have: data in DIR, weights, and the files of a server with credentials."""
        pictures = sorted((cls.clone / "samples/cifar").iterdir())
        for picture in pictures:
            for part, copies in (("train", 1), ("test", 9)):  # vitrine-repo quantize needs a hundred images of the test split
                label = cls.clone / "DIR" / part / picture.name.split("-")[0]
                label.mkdir(parents=True, exist_ok=True)
                for copy in range(copies):
                    shutil.copy(picture, label / f"{copy}-{picture.name}")
        shutil.copy(cls.clone / "samples/digits/digit-7.png", cls.clone / "digit.png")
        mnist = cls.clone / "DIR"
        for part, count in (("train", 128), ("t10k", 32)):
            pixels = bytes((index * 31 + at) % 256 for index in range(count) for at in range(784))
            (mnist / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + pixels)
            (mnist / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + bytes(i % 10 for i in range(count)))
        (mnist / "mnist").symlink_to(".")
        (cls.clone / "weights.safetensors").write_bytes(WEIGHTS)
        (cls.clone / "labels.txt").write_text("".join(f"thing {i}\n" for i in range(1000)))
        cls.prepare("umask 077; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                    "-subj /CN=localhost -addext extendedKeyUsage=serverAuth -keyout server.key -out server.pem")
        cls.prepare("umask 077; vitrine token new ci --out tokens > ci.token")
        (cls.clone / "policy.textproto").write_text(
            f'roles {{ name: "all" methods: "/vitrine.v1.Admin/*" models: "*" }} callers {{ uid: {os.getuid()} roles: "all" }}\n')
        (cls.clone / "policy.textproto").chmod(0o600)
        (cls.clone / "serving.textproto").write_text(
            'models { model: "eit-mini-cifar10" version_policy { latest: 2 } labels { label: "stable" version: 2 } }\n')
        # The documents' commands for canaries need three versions of the model.
        for _ in range(3):
            cls.prepare("vitrine-repo publish my-models eit-mini-cifar10 --from models/bundled")

    @classmethod
    def stop(cls):
        """Stops the running server, if any, and returns its exit code."""
        server, cls.server = cls.server, None
        if server is None:
            return 0
        server.send_signal(signal.SIGTERM)
        return server.wait(60)

    def here(self, line):
        """Returns the command with ports and sockets that no other process on this machine uses."""
        for port, address in self.addresses.items():
            line = line.replace(f"127.0.0.1:{port}", address)
        return line.replace("/tmp/", f"{self.run_directory}/").replace("/run/vitrine", str(self.run_directory))

    def serve(self, line):
        self.assertEqual(self.stop(), 0)
        for flag, port in (("--listen", 8500), ("--metrics", 8501)):
            if flag not in line:
                line += f" {flag} {self.addresses[port]}"
        self.log = open(self.run_directory / "server.log", "w+")
        self.addCleanup(self.log.close)
        type(self).server = subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=self.clone, env=self.environment,
                                             stdout=self.log, stderr=self.log)
        end = time.monotonic() + 120
        while True:
            self.assertIsNone(self.server.poll(), self.said())
            self.assertLess(time.monotonic(), end, self.said())
            try:
                return urllib.request.urlopen(f"http://{self.addresses[8501]}/readyz", timeout=5).read()
            except OSError:
                time.sleep(0.1)

    def said(self):
        return pathlib.Path(self.log.name).read_text()

    def run_one(self, line):
        why_not = next((why for pattern, why in NOT_RUN if re.search(pattern, line)), None)
        if why_not is not None:
            print(f"not run: {line}: {why_not}", flush=True)
            return
        line = self.here(line)
        if re.match(r"(build/bin/)?vitrine-server\b", line):
            self.serve(line)
            return
        if line.startswith("vitrine eval compare"):
            shutil.copytree(self.clone / "results", self.clone / "other-results", dirs_exist_ok=True)
        line = next((shorter.format(line) for pattern, shorter in SHORTER if re.search(pattern, line)), line)
        start = time.monotonic()
        done = self.shell(line)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout[-3000:]}")
        print(f"{time.monotonic() - start:6.1f} s  {line}", flush=True)

    def test_every_documented_command_works(self):
        for document, most in DOCUMENTS:
            found = list(commands(document, most))
            self.assertTrue(found, document)
            if document != "README.md":
                self.serve("vitrine-server --repository models/bundled")
            for line in found:
                with self.subTest(document=document, command=line):
                    self.run_one(line)
        self.assertEqual(self.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
