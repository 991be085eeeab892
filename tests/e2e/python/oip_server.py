# SPDX-License-Identifier: Apache-2.0
"""A real vitrine-server for one test run, with bundled models."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(os.environ["VITRINE_BIN"]) / "vitrine-server"


class Server:
    """Starts the program on free ports and waits until it listens. "{folder}" in an argument is replaced by the server's own folder.

    `grpc`, `http` and `metrics` are its addresses."""

    def __init__(self, *arguments, models=("eit-mini-cifar10",), listen="127.0.0.1:0"):
        self._folder = tempfile.TemporaryDirectory(prefix="vitrine-oip-")
        folder = self.folder = pathlib.Path(self._folder.name)
        for model in models:
            shutil.copytree(SOURCE / "models/bundled" / model, folder / "models" / model)
        ports = folder / "ports"
        self.log = folder / "log"
        command = [str(PROGRAM), "--repository", str(folder / "models"), "--listen", listen,
                   "--metrics", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", str(ports), *(each.format(folder=folder) for each in arguments)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while not ports.exists() or "http=" not in ports.read_text():
            self._check(end)
        addresses = dict(line.split("=", 1) for line in ports.read_text().splitlines())
        self.grpc, self.http, self.metrics = addresses["grpc"], addresses["http"], addresses["metrics"]

    def _check(self, end):
        if self._process.poll() is not None or time.monotonic() > end:
            raise RuntimeError("vitrine-server did not start:\n" + self.log.read_text())
        time.sleep(0.02)

    def wait(self, ready):
        """Polls ready() until it returns true."""
        end = time.monotonic() + 60
        while not ready():
            self._check(end)

    def stop(self):
        """Sends SIGTERM and returns the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        self._folder.cleanup()
        return code
