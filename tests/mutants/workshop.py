# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree. Faults are inserted, built and tested in the copy, so that the tree itself never changes.

The copy keeps its build folder between runs and shares the compiler cache with every other checkout.
"""

import dataclasses
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import faults

KILLED, TIMEOUT, SURVIVED, UNBUILT = "killed", "timeout", "survived", "does not compile"
# A test program counts as hung after this multiple of its run time without a fault.
PATIENCE = 5
SHORTEST_LIMIT = 30  # seconds
# Limit of the address space for faults that allocate endlessly. The emulator of GPUs reserves 9 GB of addresses per device but
# uses little of this memory. cuda_driver_test needs at most 29 GB.
ADDRESS_SPACE = 48 << 30
FAILED = re.compile(r"\[  FAILED  \] (\w[\w/]*\.\w[\w/]*)")


@dataclasses.dataclass
class Outcome:
    mutant: faults.Mutant
    verdict: str
    by: str  # the suite that detected the fault, and its test if known
    seconds: float


class Broken(Exception):
    """Raised if a build or a suite fails without any fault."""


def tracked(root):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            check=True, capture_output=True).stdout.decode()
    return sorted(name for name in set(listed.split("\0")) if name and (root / name).is_file())


class Workshop:
    def __init__(self, root, folder, through=()):
        self.root, self.folder, self.through = root, folder, list(through)
        self.seconds = {}  # by suite: run time without a fault

    def synchronize(self):
        """Updates the copy from the tree. Unchanged files keep their modification time, so that they are not
        rebuilt."""
        names = tracked(self.root)
        marks = hashlib.sha256()
        for name in names:
            content = (self.root / name).read_bytes()
            marks.update(f"{name}\0{len(content)}\0".encode() + content)
            copy = self.folder / name
            if not copy.is_file() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.root / name, copy)
                os.utime(copy)
        self.remove_what_is_gone(set(names))
        self.fingerprint = marks.hexdigest()

    def remove_what_is_gone(self, names):
        listed = self.folder / "build" / "copied.json"
        before = json.loads(listed.read_text()) if listed.exists() else []
        for name in set(before) - names:
            (self.folder / name).unlink(missing_ok=True)
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text(json.dumps(sorted(names)))

    def run(self, command):
        """Runs the command in the copy, and ends the processes that the command started. Returns its exit code, output and
        run time in seconds."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if command[0] == "ctest":
                # Sets only the soft limit, because tests must be able to set their own limits.
                resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))
        environment = {name: value for name, value in os.environ.items() if name != "VITRINE_STORE"}
        environment["GTEST_FAIL_FAST"] = "1"
        begin = time.monotonic()
        log = self.folder / "build" / "last.log"
        with open(log, "wb") as output:
            process = subprocess.Popen(self.through + command, cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                       preexec_fn=limit, env=environment)
            try:
                code = process.wait()
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        return code, log.read_text(errors="replace"), time.monotonic() - begin

    def build(self, suites):
        return self.run(["script/build", "release", *suites])

    def test(self, suite, limit):
        return self.run(["ctest", "--test-dir", "build", "--output-on-failure", "--timeout", str(int(limit)),
                         "-R", f"^{re.escape(suite)}$", "--no-tests=error"])

    def prove(self, suites, say):
        """Builds the suites without a fault and requires that they pass, so that a later failure is caused by the
        fault. Skips suites that have already passed on the same files."""
        suites = [suite for suite in suites if suite not in self.seconds]
        if not suites:
            return
        record = self.folder / "build" / "passed.json"
        known = json.loads(record.read_text()) if record.exists() else {}
        passed = known.get("seconds", {}) if known.get("files") == self.fingerprint else {}
        code, output, seconds = self.build(suites)
        if code != 0:
            raise Broken("the tree does not build without a fault:\n" + output[-4000:])
        say(f"built {len(suites)} suites in {seconds:.0f} s")
        for suite in suites:
            if suite not in passed:
                code, output, seconds = self.test(suite, 900)
                if code != 0:
                    say(f"{suite} fails without a fault; once more")
                    code, output, seconds = self.test(suite, 900)
                if code != 0:
                    raise Broken(f"{suite} fails without a fault:\n" + output[-4000:])
                passed[suite] = self.test_seconds(output, seconds)
                record.write_text(json.dumps({"files": self.fingerprint, "seconds": passed}))
                say(f"{suite} passes without a fault in {passed[suite]:.1f} s")
            self.seconds[suite] = passed[suite]

    def prove_again(self, suite):
        """Requires that a suite that failed with a fault passes without the fault. Otherwise the machine may have caused the failure."""
        for code, output, _ in (self.build([suite]), self.test(suite, 900)):
            if code != 0:
                raise Broken(f"{suite} fails now without a fault too; the verdicts are worth nothing:\n" + output[-4000:])

    @staticmethod
    def test_seconds(output, otherwise):
        """Returns the run time that ctest prints, which excludes the waits of the --through command; `otherwise` if ctest prints none."""
        said = re.search(r"Passed\s+([\d.]+) sec", output)
        return float(said.group(1)) if said else otherwise

    def judge(self, mutant, suites):
        """Inserts the fault, runs the suites until one fails, and removes the fault."""
        path = self.folder / mutant.file
        clean = path.read_text()
        begin = time.monotonic()
        path.write_text(faults.apply(clean, mutant))
        try:
            verdict, by = self.first_to_fail(suites)
        finally:
            path.write_text(clean)
        return Outcome(mutant, verdict, by, time.monotonic() - begin)

    def first_to_fail(self, suites):
        for suite in suites:
            code, output, _ = self.build([suite])
            if code != 0:
                if "error:" not in output:
                    raise Broken(f"{suite} was not built, and not because of the fault:\n" + output[-4000:])
                return UNBUILT, ""
            code, output, _ = self.test(suite, max(SHORTEST_LIMIT, PATIENCE * self.seconds[suite]))
            if code != 0:
                test = FAILED.search(output)
                timeout = "***Timeout" in output
                return TIMEOUT if timeout else KILLED, f"{suite} {test.group(1) if test and not timeout else ''}".strip()
        return SURVIVED, ""
