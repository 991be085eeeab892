# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the real server with the bundled models."""

import contextlib
import io
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator, List, Optional

import pytest
from PIL import Image

import vitrine

ROOT = Path(__file__).resolve().parents[3]
MODEL = "eit-mini-cifar10"


def free_port() -> int:
    """Returns a free port for a server that will be restarted on it. The port is below 32000, because the kernel
    assigns only higher ports to other programs."""
    for port in random.sample(range(10_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def program(name: str) -> str:
    """Returns the path of a built program."""
    path = Path(os.environ.get("VITRINE_BIN", str(ROOT / "build/bin"))) / name
    if not path.exists():
        pytest.skip("there is no %s; build it, or name its folder in VITRINE_BIN" % path)
    return str(path)


class Server:
    """A vitrine-server in a separate process."""

    def __init__(self, scratch: Path, repository: Path, port: int = 0, options: Optional[List[str]] = None) -> None:
        ports = scratch / "ports"
        ports.unlink(missing_ok=True)
        command = [program("vitrine-server"), "--repository", str(repository), "--listen", "127.0.0.1:%d" % port]
        command += ["--port-file", str(ports), "--executors", "1", *(options or [])]
        command += [] if "--metrics" in command else ["--metrics", ""]
        command += [] if "--log-level" in command else ["--log-level", "warning"]
        self.log = scratch / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while not ports.exists() or "grpc=" not in ports.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, "the server does not start: " + self.log.read_text()
            time.sleep(0.02)
        self.address = ports.read_text().split("grpc=")[1].split()[0]
        self.ports = dict(line.split("=", 1) for line in ports.read_text().split())
        self.port = int(self.address.rpartition(":")[2])
        expected = {path.name for path in repository.iterdir()}
        with vitrine.Client(self.address) as client:
            while {model.name for model in client.models() if model.ready} != expected:
                assert time.monotonic() < end, client.models()
                time.sleep(0.02)
            client.wait_until_ready(deadline=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.log.read_text()


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VITRINE_SERVER", "VITRINE_TOKEN", "VITRINE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("server"), ROOT / "models/bundled")
    yield started
    started.stop()


@pytest.fixture()
def client(server: Server) -> Iterator[vitrine.Client]:
    with vitrine.Client(server.address) as connected:
        yield connected


@pytest.fixture(scope="session")
def cats() -> List[Path]:
    pictures = sorted((ROOT / "samples/cifar").glob("*.*"))
    assert len(pictures) == 12
    return pictures


@pytest.fixture(scope="session")
def cat() -> Path:
    return ROOT / "samples/cifar/cat-chelsea.jpg"


@pytest.fixture(scope="session")
def large() -> bytes:
    """A JPEG with more pixels than the server accepts."""
    file = io.BytesIO()
    Image.new("RGB", (6000, 3000), "grey").save(file, "JPEG")
    return file.getvalue()


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Provides the package vitrine_engine with the library of the build, unless the package is already installed."""
    library = Path(os.environ.get("VITRINE_BIN", str(ROOT / "build/bin"))).parent / "lib/libvitrine_engine.so"
    folder = tmp_path_factory.mktemp("engine")
    (folder / "vitrine_engine").mkdir()
    module = ROOT / "client/engine/python/vitrine_engine/__init__.py"
    (folder / "vitrine_engine/__init__.py").write_bytes(module.read_bytes())
    if library.exists():
        (folder / "vitrine_engine/libvitrine_engine.so").symlink_to(library)
        sys.path.insert(0, str(folder))
    else:
        pytest.importorskip("vitrine_engine", reason="there is no %s; build vitrine_engine_library" % library)
    yield
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
