# SPDX-License-Identifier: Apache-2.0
"""Tests that all files pin the same version of a Python package, that a pending fix of a linked library is named, and that the list
of advisories covers every library that processes data from the network."""
import datetime
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Dependencies(unittest.TestCase):
    def test_pins_agree(self):
        ran = subprocess.run([SOURCE / "script/dependencies-check", "--agree"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_a_pending_fix_of_a_linked_library_is_named(self):
        """apt-cache stands in: libc6 has a newer version, which both the point release and the security archive offer."""
        with tempfile.TemporaryDirectory() as folder:
            apt = pathlib.Path(folder) / "apt-cache"
            for candidate, code, note in (("2.36-9+deb12u99", 1, "security fix pending here"), ("2.36-9+deb12u1", 0, "")):
                table = "".join(f"        500 http://deb.debian.org/{suite} Packages\\n" for suite in ("debian bookworm/main", "debian bookworm-security/main"))
                apt.write_text(f"#!/bin/sh\nprintf 'libc6:\\n  Installed: 2.36-9+deb12u1\\n  Candidate: {candidate}\\n  Version table:\\n"
                               f"     {candidate} 500\\n{table} *** 2.36-9+deb12u1 100\\n'\n")
                apt.chmod(0o755)
                ran = subprocess.run([SOURCE / "script/dependencies-check", "--linked", "/bin/true"], capture_output=True, text=True,
                                     env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
                self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
                self.assertIn(note, ran.stdout)

    def test_advisories_list_every_library_that_processes_network_data(self):
        listed = json.loads((SOURCE / "script/pins/advisories.json").read_text())
        self.assertLessEqual(datetime.date.fromisoformat(listed["date"]), datetime.date.today())
        sources = [library["source"] for library in listed["libraries"]]
        self.assertEqual(sorted(sources), ["boost1.81", "curl", "grpc", "libisal", "libjpeg-turbo", "libspng", "libwebp", "nghttp2",
                                           "nlohmann-json3", "openssl", "protobuf", "zlib"])
        policy = (SOURCE / "SECURITY.md").read_text()
        for library in listed["libraries"]:
            for address in [word for word in library["watch"].split() if word.startswith("https://")]:
                self.assertIn(address, policy, library["source"])
            for name, assessment in library["open"].items():
                self.assertRegex(name, r"^(CVE|GHSA|TEMP)-")
                self.assertRegex(assessment, r"^(not affected|bounded by us|accepted): .")


if __name__ == "__main__":
    unittest.main()
