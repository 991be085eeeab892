# SPDX-License-Identifier: Apache-2.0
"""script/dependencies-check: what it reads of the tree, and that no two files pin a Python package in two versions."""
import importlib.machinery
import importlib.util
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
        for name in ("script/docs.txt", "tests/requirements.txt", "script/peers.txt"):
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


class Images(unittest.TestCase):
    def test_those_of_others_are_named(self):
        rows = list(check.image_rows())
        self.assertEqual([row[1] for row in rows], ["docker.io/prom/prometheus", "docker.io/grafana/grafana"])
        for row in rows:
            self.assertIn(f"{row[1]}:{row[2]}", (SOURCE / check.COMPOSE).read_text())
            self.assertEqual(row[-1], "not checked here")


if __name__ == "__main__":
    unittest.main()
