"""What an operator relies on, shown at full length; docs/results/ keeps what came out."""
import argparse
import dataclasses
import datetime
import pathlib
import sys
import tempfile

from driver import report
from driver.setup import ROOT, Setup
from proofs import beside, overload, programs, rolling, terminations

PROOFS = {
    "swaps": ("A thousand version swaps under a million requests", programs.measure_swaps),
    "terminations": ("SIGTERM under load", terminations.measure),
    "rolling": ("A rolling update", rolling.measure),
    "beside": ("The trainer beside the server", beside.measure),
    "publishes": ("A publisher killed at every system call", programs.measure_publishes),
    "overload": ("Goodput under overload", overload.measure),
}


@dataclasses.dataclass
class ProofSetup(Setup):
    old_server: str = ""  # another binary of vitrine-server, for the rolling update

    def old_name(self):
        return report.output(self.old_server, "--version").splitlines()[0]


def parse():
    parser = argparse.ArgumentParser(prog="script/prove", description=__doc__)
    parser.add_argument("proofs", nargs="*", metavar="PROOF", help="of " + ", ".join(PROOFS) + "; default all")
    parser.add_argument("--quick", action="store_true", help="short runs, to see that everything works; writes no results")
    parser.add_argument("--old-server", default="", help="the vitrine-server that the rolling update begins with; "
                        "with --quick it may be left out")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    arguments = parser.parse_args()
    if not arguments.quick and not arguments.old_server and "rolling" in (arguments.proofs or PROOFS):
        parser.error("rolling: name the binary that the update begins with: --old-server PATH")
    if unknown := set(arguments.proofs) - set(PROOFS):
        parser.error(f"no such proof: {', '.join(sorted(unknown))}; there are {', '.join(PROOFS)}")
    return arguments


def write(name, title, rows):
    path = ROOT / "docs" / "results" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = [f"# {title}", "", f"`script/prove {name}`, {datetime.date.today()}", ""]
    head += [f"- {line}" for line in report.machine()]
    head += [f"- revision: {report.revision()}", ""]
    path.write_text("\n".join(head) + "\n" + report.table(rows) + "\n")


def main():
    arguments = parse()
    failed = False
    for name in arguments.proofs or PROOFS:
        title, measure = PROOFS[name]
        print(title, file=sys.stderr)
        with tempfile.TemporaryDirectory() as scratch:
            rows = measure(ProofSetup(arguments.build.resolve(), ROOT / "bundled", pathlib.Path(scratch), sys.executable,
                                      arguments.quick, arguments.old_server))
        print(report.table(rows), flush=True)
        failed |= any(row.judgement() == "MISSED" for row in rows)
        if not arguments.quick:
            write(name, title, rows)
    sys.exit(1 if failed else 0)


main()
