# SPDX-License-Identifier: Apache-2.0
"""Tests deploy/systemd: systemd accepts the units, and the server starts, reports to a service manager and ends as the units
expect."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VITRINE_BUILD", SOURCE / "build"))
UNITS = SOURCE / "deploy/systemd"
SERVER = "/usr/bin/vitrine-server"
PATIENCE = 60  # seconds


def settings(unit: str, name: str) -> "list[str]":
    texts = [(UNITS / file).read_text() for file in (unit, "vitrine.service.d/common.conf")]
    return re.findall(rf"^{name}=(.*)$", "\n".join(texts).replace("\\\n", " "), re.M)


def environment(card: int) -> "dict[str, str]":
    words = " ".join(settings("vitrine@.service", "Environment")).replace("%i", str(card)).split()
    return dict(word.split("=", 1) for word in words)


class Unit(unittest.TestCase):
    def analyze(self, unit: str, *words: str) -> "subprocess.CompletedProcess[str]":
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(UNITS, folder, dirs_exist_ok=True)
            shutil.copytree(UNITS / "vitrine.service.d", f"{folder}/vitrine@.service.d")
            for file in pathlib.Path(folder).rglob("*.*"):
                if file.is_file():
                    file.write_text(file.read_text().replace(SERVER, "/bin/true"))
            shutil.copy(f"{folder}/vitrine@.service", f"{folder}/vitrine@0.service")
            return subprocess.run(["systemd-analyze", *words, f"{folder}/{unit}"], capture_output=True, text=True, timeout=PATIENCE)

    def test_units_are_valid(self) -> None:
        for unit in ("vitrine.service", "vitrine@0.service"):
            said = self.analyze(unit, "verify", "--man=no")
            self.assertEqual((said.returncode, said.stderr), (0, ""), unit)

    def test_units_are_hardened(self) -> None:
        for unit, exposure in (("vitrine.service", 20), ("vitrine@0.service", 30)):
            said = self.analyze(unit, "security", "--offline=yes", f"--threshold={exposure}", "--no-pager")
            self.assertEqual(said.returncode, 0, said.stdout[-200:])

    def test_each_gpu_has_its_own_server_and_ports(self) -> None:
        ports = [int(environment(card)[f"VITRINE_SERVER_{name}"].rpartition(":")[2]) for card in range(10)
                 for name in ("LISTEN", "METRICS", "HEALTH_LISTEN")]
        self.assertEqual(len(set(ports)), 30)
        self.assertEqual((ports[0], environment(1)["VITRINE_SERVER_DEVICE"]), (8500, "cuda:1"))

    def test_units_of_gpus_can_access_devices(self) -> None:
        for name in ("PrivateDevices", "ProtectClock", "DevicePolicy", "DeviceAllow", "MemoryDenyWriteExecute"):
            self.assertEqual(settings("vitrine@.service", name), [], name)

    def test_restarts_on_failure_unless_misconfigured(self) -> None:
        self.assertEqual(settings("vitrine.service", "Restart"), ["on-failure"])
        self.assertEqual(settings("vitrine.service", "RestartPreventExitStatus"), ["2"])
        # With a limit on restarts, the service would stay down after a device was unavailable for minutes.
        self.assertEqual(settings("vitrine.service", "StartLimitIntervalSec"), ["0"])
        # RestartPreventExitStatus does not apply to ExecStartPre, so systemd would repeat a failing command forever.
        self.assertEqual(settings("vitrine.service", "ExecStartPre"), [])


class Upgrade(unittest.TestCase):
    """Tests the package's postinst, with fakes of systemd and the server."""

    def run_it(self, version: str, checked: int) -> "tuple[str, str]":
        """Returns the systemctl commands of the script, and its errors. `checked` is the exit code of the fake server,
        which checks the settings."""
        with tempfile.TemporaryDirectory() as folder:
            text = (SOURCE / "deploy/debian/postinst").read_text()
            for path in ("/var/lib/vitrine", "/run/systemd/system", SERVER):
                self.assertIn(path, text)
                text = text.replace(path, f"{folder}{path}")
            pathlib.Path(folder, "run/systemd/system").mkdir(parents=True)
            programs = pathlib.Path(folder, "usr/bin")
            programs.mkdir(parents=True)
            for name, body in (("vitrine-server", f"echo no such setting >&2; exit {checked}"), ("deb-systemd-helper", ""),
                               *((name, f'echo "$*" >>{folder}/said') for name in ("systemctl", "deb-systemd-invoke"))):
                (programs / name).write_text(f"#!/bin/sh\n{body}\n")
                (programs / name).chmod(0o755)
            done = subprocess.run(["sh", "-c", text, "postinst", "configure", version], capture_output=True, text=True,
                                  env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            return pathlib.Path(folder, "said").read_text(), done.stderr

    def test_restarts_unless_the_settings_are_refused(self) -> None:
        self.assertIn("start vitrine.service", self.run_it("", 2)[0])
        for checked in (0, 1):
            self.assertEqual(self.run_it("0-1", checked), ("daemon-reload\nrestart vitrine.service\ntry-restart vitrine@*.service\n", ""))
        asked, errors = self.run_it("0-1", 2)
        self.assertEqual(asked, "daemon-reload\n")
        self.assertRegex(errors, "no such setting\n.*not restarted")


class Purge(unittest.TestCase):
    def test_removes_every_cache_and_no_model(self) -> None:
        """Runs the package's postrm on a copy of the folders that systemd makes for the units. The cache folders are links into
        `private`."""
        with tempfile.TemporaryDirectory() as folder:
            cache, models = pathlib.Path(folder, "var/cache"), pathlib.Path(folder, "var/lib/vitrine/models/a")
            models.mkdir(parents=True)
            for name in settings("vitrine@.service", "CacheDirectory"):
                (cache / "private" / name / "models").mkdir(parents=True)
                (cache / name).symlink_to(f"private/{name}")
            text = (SOURCE / "deploy/debian/postrm").read_text().replace("deb-systemd-helper", "true")
            for path in ("/var/", "/run/"):
                text = text.replace(path, f"{folder}{path}")
            subprocess.run(["sh", "-c", text, "postrm", "purge"], check=True, timeout=PATIENCE)
            self.assertEqual([path.name for path in cache.rglob("*")], ["private"])
            self.assertTrue(models.is_dir())


class Notifications(unittest.TestCase):
    """Tests the server as systemd would start it, with the installed settings but another repository and free ports."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.settimeout(PATIENCE)
        self.socket.bind(f"{folder.name}/notify")
        self.variables = {"NOTIFY_SOCKET": f"{folder.name}/notify", "WATCHDOG_USEC": "300000",
                          "VITRINE_SERVER_REPOSITORY": str(SOURCE / "models/bundled"),
                          "VITRINE_SERVER_LISTEN": "127.0.0.1:0", "VITRINE_SERVER_METRICS": "127.0.0.1:0"}
        self.words = [BUILD / "bin/vitrine-server", "--config", SOURCE / "deploy/debian/server.toml"]

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        server = subprocess.Popen([*self.words, *words], env={**os.environ, **self.variables}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server

    def await_line(self, line: str) -> "list[str]":
        while True:
            lines = self.socket.recv(4096).decode().split("\n")
            if line in lines:
                return lines

    def test_notifies_readiness_watchdog_and_shutdown(self) -> None:
        server = self.start("--drain-deadline=20s")
        self.assertIn("STATUS=ready", self.await_line("READY=1"))
        for _ in range(3):
            self.assertIn("READY=1", self.await_line("WATCHDOG=1"))
        server.send_signal(signal.SIGHUP)
        self.await_line("WATCHDOG=1")
        server.terminate()
        seconds = 0 + 20 + 10  # lame duck, drain deadline, and time to end
        self.assertIn(f"EXTEND_TIMEOUT_USEC={seconds}000000", self.await_line("STOPPING=1"))
        self.assertEqual(server.wait(PATIENCE), 0)

    def test_is_ready_without_models_if_allowed(self) -> None:
        with tempfile.TemporaryDirectory() as empty:
            self.variables["VITRINE_SERVER_REPOSITORY"] = empty
            self.start()
            self.await_line("READY=1")

    def test_wrong_settings_exit_without_restart(self) -> None:
        for words in (["--check"], []):
            self.variables["VITRINE_SERVER_EXECUTOR"] = "1"
            self.assertEqual(self.start(*words).wait(PATIENCE), 2)


if __name__ == "__main__":
    unittest.main()
