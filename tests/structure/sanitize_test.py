# SPDX-License-Identifier: Apache-2.0
"""script/sanitize: what a suite that passes has skipped is told, and judged. Compilers and suites are made up. And that
docs/contributing/building.md names the suites of every run."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NOTHING = "#!/bin/sh\n"
# Its suite says much, and what $SAYS does last, of which it keeps as much as it is told; it ends with $ENDS.
CTEST = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --output-junit) junit=$2 ;; --test-output-size-passed) kept=$2 ;; -L) echo "label $2" ;; esac
  shift
done
mkdir -p "$(dirname "$junit")"
echo '<testsuite><testcase name="faults_test" status="run"><system-out>' >"$junit"
{ yes '[       OK ] A.A (0 ms)' | head -n 1000; echo "$SAYS"; } | head -c "${kept:-1024}" >>"$junit"
echo '</system-out></testcase></testsuite>' >>"$junit"
exit "${ENDS:-0}"
"""


def skip(reason):
    return f"[ RUN      ] A.B\nx.cc:1: Skipped\n{reason}\n\n[  SKIPPED ] A.B (0 ms)\n"


class Sanitize(unittest.TestCase):
    def sanitize(self, *runs, **environment):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("script/sanitize", "script/skips", "tests/allowed-skips.txt"):
                (root / name).parent.mkdir(exist_ok=True)
                shutil.copy(SOURCE / name, root / name)
            for name, text in (("script/bootstrap", NOTHING), ("script/build", NOTHING), ("bin/ctest", CTEST)):
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            path = f"{root / 'bin'}:{os.environ['PATH']}"
            return subprocess.run([root / "script/sanitize", *runs], capture_output=True, text=True,
                                  env={"PATH": path, "SAYS": "", **environment})

    def test_each_run_has_its_label(self):
        ran = self.sanitize()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout, "label ^sanitize-asan$\nlabel ^sanitize-asan-e2e$\nlabel ^sanitize-tsan$\n")

    def test_what_may_be_skipped_is_told(self):
        ran = self.sanitize("asan", SAYS=skip("no control group with a quota can be made here"))
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("   1 faults_test/A.B: no control group with a quota can be made here; rights: ", ran.stdout)

    def test_what_may_not_be_skipped_fails(self):
        ran = self.sanitize("asan", "tsan", SAYS=skip("this build has a sanitizer"))
        self.assertEqual(ran.returncode, 1)
        self.assertIn("   1 faults_test/A.B: this build has a sanitizer\n", ran.stdout)
        self.assertNotIn("tsan", ran.stdout)

    def test_data_are_needed_in_ci_alone(self):
        says = skip("VITRINE_DATA is not set")
        self.assertEqual(self.sanitize("asan", SAYS=says).returncode, 0)
        self.assertEqual(self.sanitize("asan", SAYS=says, VITRINE_STRICT="1").returncode, 1)

    def test_a_finding_fails_and_skips_are_told_all_the_same(self):
        ran = self.sanitize("asan", SAYS=skip("VITRINE_DATA is not set"), ENDS="8")
        self.assertEqual(ran.returncode, 8)
        self.assertIn("VITRINE_DATA is not set", ran.stdout)


class Documented(unittest.TestCase):
    def test_every_suite_of_every_run_is_in_the_table(self):
        built = set()
        for path in [*SOURCE.glob("tests/**/CMakeLists.txt"), *SOURCE.glob("tests/**/*.cmake")]:
            for name, arguments in re.findall(r"^vitrine_test\((\w+)([^)]*)\)", path.read_text(), re.M):
                sanitizers = re.search(r"\bSANITIZE((?: (?:asan|tsan))+)", arguments)
                longer = "-e2e" if re.search("PROGRAMS|e2e_testing", arguments) else ""
                built |= {(run + longer, name) for run in (sanitizers[1].split() if sanitizers else [])}
        page = (SOURCE / "docs/contributing/building.md").read_text()
        table = page.split("| run | suites | because |\n")[1].split("\n\n")[0]
        told = {(run, name) for run, names in re.findall(r"^\| ([\w-]+) \| (.*?) \|", table, re.M)
                for name in re.findall(r"`(\w+)`", names)}
        self.assertGreater(len(built), 20)
        self.assertEqual(told, built)


if __name__ == "__main__":
    unittest.main()
