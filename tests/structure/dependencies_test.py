# SPDX-License-Identifier: Apache-2.0
"""script/dependencies-check: what it reads of the tree, that no two files pin a Python package in two versions, and how it holds
the list of advisories against the distribution's tracker."""
import contextlib
import datetime
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("dependencies_check", str(SOURCE / "script/dependencies-check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("dependencies_check", loader))
loader.exec_module(check)


class Pins(unittest.TestCase):
    def test_every_line_is_one(self):
        text = "# a\na==1.0\nb-c==2\nD[e]==3.1.post1 --hash=sha256:0\n\nf==4  # why\ng>=5\n"
        self.assertEqual(check.PIN.findall(text), [("a", "1.0"), ("b-c", "2"), ("D", "3.1.post1"), ("f", "4")])

    def test_all_of_the_tree_are_read(self):
        pins = check.requirements()
        for name in ("script/pins/docs.txt", "tests/requirements.txt", "script/pins/peers.txt"):
            written = [line for line in (SOURCE / name).read_text().splitlines() if "==" in line and line[0] != "#"]
            self.assertGreater(len(written), 0)
            self.assertEqual(sum(file == name for file, _, _ in pins), len(written), name)

    def test_disagreements(self):
        one, other = ("a.txt", "PyYAML", "6.0"), ("b.txt", "pyyaml", "6.1")
        self.assertEqual(check.disagreements([one, ("b.txt", "pyyaml", "6.0"), ("b.txt", "idna", "6.1")]), [])
        self.assertEqual(check.disagreements([one, other]),
                         ["pyyaml is pinned in two versions: 6.0 in a.txt; 6.1 in b.txt"])

    def test_the_tree_agrees(self):
        self.assertEqual(check.disagreements(check.requirements()), [])
        ran = subprocess.run([SOURCE / "script/dependencies-check", "--agree"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))


class Advisories(unittest.TestCase):
    DAY = datetime.date(2030, 1, 2)
    KNOWN = check.tracker(SOURCE / "tests/structure/tracker.json")  # some lines in the form of Debian's

    def listed(self, *libraries):
        return {"date": "2030-01-01", "release": "bookworm", "libraries": [
            {"source": source, "package": f"lib{source}", "version": version, "wire": "", "watch": "",
             "open": {name: "not affected" for name in names}} for source, version, names in libraries]}

    def notes(self, listed, installed, known=None, day=DAY):
        rows = check.advisory_rows(listed, self.KNOWN if known is None else known, day, lambda package: installed)
        return {row[1]: row[-1] for row in rows}

    def test_one_that_is_open_and_not_assessed_is_named(self):
        listed = self.listed(("nghttp2", "1.52.0-1+deb12u3", ["CVE-2026-58055"]))
        self.assertEqual(self.notes(listed, "1.52.0-1+deb12u3"), {"date": "", "nghttp2": "open, not assessed: CVE-2099-0001"})

    def test_what_is_fixed_in_a_newer_version_than_the_installed_is_open(self):
        listed = self.listed(("nghttp2", "1.52.0-1+deb12u1", ["CVE-2026-58055", "CVE-2099-0001"]))
        self.assertEqual(self.notes(listed, "1.52.0-1+deb12u1")["nghttp2"], "open, not assessed: CVE-2024-28182")
        self.assertEqual(self.notes(listed, "1.52.0-1+deb12u2")["nghttp2"], "")

    def test_one_that_is_fixed_leaves_the_list(self):
        listed = self.listed(("zlib", "1:1.2.13.dfsg-1", ["CVE-2026-27171", "CVE-2023-45853"]), ("libwebp", "1.2.4-0.2+deb12u1", []))
        self.assertEqual(self.notes(listed, "1:1.2.13.dfsg-1"), {"date": "", "zlib": "no longer open: CVE-2026-27171", "libwebp": ""})

    def test_an_older_version_than_the_lists_is_noted_without_a_tracker(self):
        listed = self.listed(("openssl", "3.0.22-1~deb12u2", []))
        notes = self.notes(listed, "3.0.19-1~deb12u2", known={})
        self.assertEqual(notes, {"date": "not asked: the tracker does not answer",
                                 "openssl": "older than the list knows it: fixes are missing here"})
        for installed in ("3.0.22-1~deb12u2", "3.0.22-1~deb12u3", ""):  # the last: not installed
            self.assertEqual(self.notes(listed, installed, known={})["openssl"], "")

    def test_an_old_list_is_noted(self):
        self.assertEqual(self.notes(self.listed(), "", day=datetime.date(2030, 4, 1))["date"], "")
        self.assertIn("91 days old", self.notes(self.listed(), "", day=datetime.date(2030, 4, 2))["date"])

    def test_a_tracker_that_is_not_there_is_no_fault(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(check.tracker("/nonexistent"), {})
            self.assertEqual(check.tracker(__file__), {})  # no JSON
        self.assertEqual(said.getvalue().count("no tracker: "), 2)

    def test_the_list_names_every_library_at_the_wire(self):
        listed = json.loads((SOURCE / check.ADVISORIES).read_text())
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

    def test_they_are_printed_with_what_they_mean(self):
        ran = subprocess.run([SOURCE / "script/dependencies-check", "--advisories", "--tracker", SOURCE / "tests/structure/tracker.json"],
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"(?m)^  CVE-2026-58055  not affected: ")
        self.assertRegex(ran.stdout, r"(?m)^script/pins/advisories.json +nghttp2 .*open, not assessed: CVE-2099-0001$")
        strict = subprocess.run([*ran.args, "--strict"], capture_output=True, text=True)
        self.assertEqual(strict.returncode, 1)


class Images(unittest.TestCase):
    def test_those_of_others_are_named(self):
        rows = list(check.image_rows())
        self.assertEqual([row[1] for row in rows], ["docker.io/prom/prometheus", "docker.io/grafana/grafana"])
        for row in rows:
            self.assertIn(f"{row[1]}:{row[2]}", (SOURCE / check.COMPOSE).read_text())
            self.assertEqual(row[-1], "not checked here")


if __name__ == "__main__":
    unittest.main()
