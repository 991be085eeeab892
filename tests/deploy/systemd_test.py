# SPDX-License-Identifier: Apache-2.0
"""Tests deploy/systemd: systemd accepts the unit, the server its flags, and the times and exit codes fit."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VITRINE_BUILD", SOURCE / "build"))
UNIT = SOURCE / "deploy/systemd/vitrine@.service"
SPARE_SECONDS = 5  # for the last callers and answers: docs/operations/serving.md


def setting(name: str) -> "list[str]":
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text().replace("\\\n", " "), re.M)


def words(card: int) -> "list[str]":
    return setting("ExecStart")[0].replace("%i", str(card)).replace("$VITRINE_FLAGS", "").split()


def flag(card: int, name: str) -> str:
    return next(word.split("=", 1)[1] for word in words(card) if word.startswith(f"--{name}="))


class Unit(unittest.TestCase):
    def test_systemd_accepts_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "vitrine@0.service"
            unit.write_text(UNIT.read_text().replace("/usr/bin/vitrine-server", "/bin/true"))
            said = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stderr), (0, ""))

    def test_the_server_knows_its_flags(self) -> None:
        helped = subprocess.run([BUILD / "bin/vitrine-server", "--help"], capture_output=True, text=True).stdout
        for word in words(0)[1:]:
            self.assertRegex(helped, rf"(^|[\s,]){word.split('=')[0]}\b")

    def test_each_card_has_a_server_and_ports(self) -> None:
        ports = [int(flag(card, name).rpartition(":")[2]) for card in range(10) for name in ("listen", "metrics")]
        self.assertEqual(len(set(ports)), 20)
        self.assertEqual((ports[0], flag(1, "device")), (8500, "cuda:1"))

    def test_a_lost_device_restarts_and_a_wrong_configuration_does_not(self) -> None:
        self.assertEqual(setting("Restart"), ["on-failure"])
        self.assertEqual(setting("RestartPreventExitStatus"), ["2"])

    def test_waits_for_the_end(self) -> None:
        times = [float(flag(0, name).removesuffix("s")) for name in ("lame-duck", "drain-deadline")]
        self.assertGreaterEqual(float(setting("TimeoutStopSec")[0].removesuffix("s")), sum(times) + SPARE_SECONDS)


if __name__ == "__main__":
    unittest.main()
