# SPDX-License-Identifier: Apache-2.0
"""Tests that all files pin the same version of a Python package, that the list
of advisories covers every library that processes network data, and that the
list is compared with the distribution's tracker."""
import datetime
import json
import pathlib
import subprocess
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Dependencies(unittest.TestCase):
    def test_pins_agree(self):
        ran = subprocess.run([SOURCE / "script/dependencies-check", "--agree"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_advisories_list_every_library_that_processes_network_data(self):
        listed = json.loads((SOURCE / "script/pins/advisories.json").read_text())
        self.assertLessEqual(datetime.date.fromisoformat(listed["date"]), datetime.date.today())
        sources = [library["source"] for library in listed["libraries"]]
        self.assertEqual(sorted(sources), ["abseil", "boost1.81", "curl", "grpc", "libisal", "libjpeg-turbo", "libspng", "libwebp",
                                           "nghttp2", "nlohmann-json3", "openssl", "protobuf", "zlib"])
        policy = (SOURCE / "SECURITY.md").read_text()
        for library in listed["libraries"]:
            for address in [word for word in library["watch"].split() if word.startswith("https://")]:
                self.assertIn(address, policy, library["source"])
            for name, assessment in library["open"].items():
                self.assertRegex(name, r"^(CVE|GHSA|TEMP)-")
                self.assertRegex(assessment, r"^(not affected|bounded by us|accepted): .")


class Advisories(unittest.TestCase):
    """Compares a list of one library, installed in version 1.2-1, with made-up security trackers."""
    DAY = datetime.date(2026, 11, 25)
    LISTED = {"date": "2026-11-25", "release": "bookworm",
              "libraries": [{"source": "lib", "package": "lib1", "version": "1.2-1", "open": {"CVE-1": "accepted: why"}}]}
    OPEN = {"status": "open", "urgency": "not yet assigned"}

    @classmethod
    def setUpClass(cls) -> None:
        loader = SourceFileLoader("dependencies_check", str(SOURCE / "script/dependencies-check"))
        cls.check = module_from_spec(spec_from_loader(loader.name, loader))
        loader.exec_module(cls.check)

    def notes(self, states: dict, installed: str = "1.2-1", days: int = 0) -> "tuple[str, str]":
        """Returns the notes of the list and of its library. `states` maps advisories to their state in bookworm."""
        known = {"lib": {name: {"releases": {"bookworm": state}} for name, state in states.items()}} if states else {}
        rows = self.check.advisory_rows(self.LISTED, known, self.DAY + datetime.timedelta(days), lambda _: installed)
        of_list, of_library = [row[-1] for row in rows]
        return of_list, of_library

    def resolved(self, version: str) -> dict:
        return {"status": "resolved", "fixed_version": version, "urgency": "low"}

    def test_an_assessed_advisory_has_no_note(self):
        self.assertEqual(self.notes({"CVE-1": self.OPEN}), ("", ""))

    def test_a_strange_advisory_is_named(self):
        self.assertEqual(self.notes({"CVE-1": self.OPEN, "CVE-2": self.OPEN}), ("", "open, not assessed: CVE-2"))
        self.assertEqual(self.notes({"CVE-1": self.OPEN, "CVE-2": self.resolved("1.2-2")}), ("", "open, not assessed: CVE-2"))

    def test_advisories_without_effect_are_not_named(self):
        others = {"CVE-2": self.resolved("1.2-1"), "CVE-3": self.resolved("0"), "CVE-4": {**self.OPEN, "urgency": "unimportant"},
                  "CVE-5": {"status": "undetermined", "urgency": "low"}}
        self.assertEqual(self.notes({"CVE-1": self.OPEN, **others}), ("", ""))

    def test_an_advisory_that_is_gone_is_named(self):
        self.assertEqual(self.notes({"CVE-1": self.resolved("1.2-1")}), ("", "no longer open: CVE-1"))

    def test_an_older_package_lacks_fixes(self):
        older = "older than the list knows it: fixes are missing here"
        self.assertEqual(self.notes({"CVE-1": self.OPEN}, "1.1-1"), ("", older))
        # The advisory was fixed in the version of the list, but is open in the installed version.
        self.assertEqual(self.notes({"CVE-1": self.OPEN, "CVE-2": self.resolved("1.2-1")}, "1.1-1"),
                         ("", older + "; open, not assessed: CVE-2"))
        self.assertEqual(self.notes({"CVE-1": self.OPEN}, ""), ("", ""))  # not installed

    def test_an_old_list_and_a_silent_tracker_have_a_note(self):
        self.assertEqual(self.notes({"CVE-1": self.OPEN}, days=90), ("", ""))
        self.assertEqual(self.notes({}, days=91), ("not asked: the tracker does not answer; "
                                                   "the list is 91 days old: go through it, and date it anew", ""))

    def test_the_program_reads_a_stored_tracker(self):
        known = {"nghttp2": {"CVE-1": {"releases": {"bookworm": self.OPEN}}}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(known, file)
            file.flush()
            ran = self.run_program(file.name)
        self.assertRegex(ran.stdout, r"(?m)^script/pins/advisories.json +nghttp2 .*open, not assessed: CVE-1$")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        ran = self.run_program("/missing")
        self.assertIn("not asked: the tracker does not answer", ran.stdout)
        self.assertEqual(ran.returncode, 1, ran.stderr)

    def run_program(self, tracker: str) -> subprocess.CompletedProcess:
        return subprocess.run([SOURCE / "script/dependencies-check", "--advisories", "--strict", "--tracker", tracker],
                              capture_output=True, text=True)


if __name__ == "__main__":
    unittest.main()
