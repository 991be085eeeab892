# SPDX-License-Identifier: Apache-2.0
"""Tests that all files pin the same version of a Python package, and that the list
of advisories covers every library that processes data from the network."""
import datetime
import json
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Dependencies(unittest.TestCase):
    def test_pins_agree(self):
        ran = subprocess.run([SOURCE / "script/dependencies-check", "--agree"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

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
