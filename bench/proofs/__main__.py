# SPDX-License-Identifier: Apache-2.0
"""Proves properties that operators rely on, at full length; the results are in docs/research/results/."""
import dataclasses
import datetime
import importlib
import os
import pathlib
import sys

from driver import command, report
from driver.setup import ROOT, Setup

# {name: (title, module, function)}. A module is imported only when its proof runs. Some modules import the Python client, and
# --help must work without it.
PROOFS = {
    "swaps": ("A thousand version swaps under a million requests", "programs", "measure_swaps"),
    "terminations": ("SIGTERM under load", "terminations", "measure"),
    "rolling": ("A rolling update", "rolling", "measure"),
    "beside": ("The trainer beside the server", "beside", "measure"),
    "scrapes": ("Metrics scraped a hundred times a second", "scrapes", "measure"),
    "tracing": ("Traces of a tenth of the requests, at full load", "tracing", "measure"),
    "slow": ("Slow pictures among quick ones", "slow_pictures", "measure"),
    "http": ("The HTTP port beside gRPC, and beside idle connections", "http_front", "measure"),
    "device": ("A GPU fed by the server, with a driver for tests in its place", "device_feed", "measure"),
    "publishes": ("A publisher killed at every system call", "programs", "measure_publishes"),
    "overload": ("Goodput under overload", "overload", "measure"),
    "calls": ("What a call costs, beside gRPC 1.51", "calls", "measure"),
    "distant": ("Calls over a round trip of 50 ms, beside gRPC 1.51", "distant_calls", "measure"),
    "callers": ("A thousand callers against one", "many_callers", "measure"),
    "urgent": ("Urgent requests beside long batches", "urgent", "measure"),
    "restore": ("Backups of a repository in use, restored", "restore", "measure"),
    "soak": ("An hour of all kinds of calls", "soak", "measure"),
    "forty": ("Forty models of one server", "forty", "measure"),
    "scoring": ("A million images scored by a program that is killed", "scoring", "measure"),
    "canaries": ("Bad canaries and harmless ones", "canaries", "measure"),
}


def part(name):
    """Returns the title of the proof and the function that runs it, which takes a ProofSetup."""
    title, module, function = PROOFS[name]
    return title, getattr(importlib.import_module(f"proofs.{module}"), function)


@dataclasses.dataclass
class ProofSetup(Setup):
    old_server: str = ""  # another vitrine-server binary, for the rolling update

    def old_name(self):
        return report.output(self.old_server, "--version").splitlines()[0]


def has_data():
    """Returns True if the training data of script/prove canaries exist."""
    data = pathlib.Path(os.environ.get("VITRINE_DATA") or "/nonexistent")
    return (data / "mnist" / "t10k-images-idx3-ubyte.gz").is_file() and (data / "cifar10.tar.xz").is_file()


def parse():
    parser = command.parser("script/prove", __doc__, "short runs, to see that everything works; writes no results")
    parser.add_argument("proofs", nargs="*", metavar="PROOF", help="one of " + ", ".join(PROOFS) + "; default: all")
    parser.add_argument("--old-server", default="", help="the vitrine-server that the rolling update begins with; "
                        "with --quick it may be left out")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "docs/research/results",
                        help="folder that results are written to (default docs/research/results)")
    arguments = parser.parse_args()
    command.check_names(parser, "proof", arguments.proofs, PROOFS)
    if not arguments.quick and not arguments.old_server and (not arguments.proofs or "rolling" in arguments.proofs):
        parser.error("rolling: name the binary that the update begins with: --old-server PATH")
    missing = "canaries: $VITRINE_DATA must name a folder with mnist/ (script/get-data mnist) and cifar10.tar.xz"
    if "canaries" in arguments.proofs and not has_data():
        parser.error(missing)
    if not arguments.proofs:
        arguments.proofs = [name for name in PROOFS if name != "canaries" or has_data()]
        if not has_data():
            print(f"prove: left out {missing}", file=sys.stderr)
    return arguments


def main():
    arguments = parse()

    def setup(scratch):
        return ProofSetup(arguments.build.resolve(), ROOT / "models/bundled", scratch, sys.executable, arguments.quick,
                          old_server=arguments.old_server)

    failed = False
    for name in arguments.proofs:
        rows = command.measure(part(name), setup)
        failed |= any(row.judgement() == "MISSED" for row in rows)
        if not arguments.quick:
            command.write(arguments.results / f"{name}.md", PROOFS[name][0],
                          f"`script/prove {name}`, {datetime.date.today()}",
                          report.machine() + [f"revision: {report.revision()}"], report.table(rows))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
