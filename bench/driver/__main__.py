# SPDX-License-Identifier: Apache-2.0
import datetime
import os
import pathlib
import shlex
import sys

from driver import against, against_service, command, decode, engine, footprint, maps, mix, peers, ratio_plot, report, servers
from driver.setup import ROOT, Setup

PARTS = {
    "engine": ("The CPU engine against OpenVINO and ONNX Runtime, fp32", engine.measure),
    "narrow": ("The CPU engine against OpenVINO and ONNX Runtime, bf16 and int8", engine.measure_narrow),
    "imported": ("Distilled DeiT, DINOv2 and CLIP against OpenVINO and ONNX Runtime", engine.measure_imported),
    "mix": ("Pictures of four sizes through one engine, fp32 and bf16", mix.measure),
    "servers": ("Our server against one of grpc.aio with OpenVINO", servers.measure),
    "peers": ("Our server beside others, over HTTP", peers.measure),
    "maps": ("One caller in eight asks for attention maps", maps.measure),
    "footprint": ("Start and memory", footprint.measure),
    "decode": ("From a JPEG to a 224x224 input", decode.measure),
}
PLOTTED = {"engine", "narrow", "imported", "mix", "decode"}
# Names of the cases of each part, for --cases.
CASES = {part: [case.what() for case in cases] for part, cases in engine.PARTS.items()} | {
    part: [servers.what(precision) for precision in servers.GOALS] for part in ("servers", "service")}
AGAINST = {
    "against": ("The CPU engine against another build", against.measure),
    "training": ("Training against another build", against.measure_training),
    "service": ("JPEG service against another build", against_service.measure),
}


def check_cases(parser, arguments):
    """Ends the program if --cases matches no row of a measured part."""
    if not arguments.cases:
        return
    if others := [part for part in arguments.parts if part not in CASES]:
        parser.error(f"--cases chooses rows of {', '.join(CASES)}, not of {', '.join(others)}")
    for part in arguments.parts:
        if not any(arguments.cases in name for name in CASES[part]):
            parser.error(f"no row of {part} has {arguments.cases!r} in its name; the rows are:\n  " + "\n  ".join(CASES[part]))


def parse():
    parser = command.parser("script/bench", "Measures Vitrine and writes bench/results/.",
                            "two short rounds, to see that everything runs; the figures mean nothing")
    parser.add_argument("--against", type=pathlib.Path, metavar="BUILD",
                        help=f"build folder of another commit: compares both builds, interleaved; the parts are {', '.join(AGAINST)}")
    parser.add_argument("parts", nargs="*", metavar="PART", help="one of " + ", ".join(PARTS) + "; default: all except "
                        f"peers. After peers: one of {', '.join(peers.PEERS)}; default: all")
    parser.add_argument("--cases", default="", metavar="TEXT",
                        help="measures only the rows of engine, narrow, imported, servers and service whose name contains TEXT, such as "
                        "'xcit-t12, 224x224' or 'int8'")
    parser.add_argument("--name", help="last part of the result's file name (default bench, or peers)")
    parser.add_argument("--output", type=pathlib.Path, help="file for the result, instead of bench/results/DATE-NAME.md")
    parser.add_argument("--repository", type=pathlib.Path, default=ROOT / "models/bundled", help="models to measure")
    parser.add_argument("--python", default=sys.executable, help="Python with torch")
    arguments = parser.parse_args()
    arguments.table = AGAINST if arguments.against else PARTS
    if arguments.parts[:1] == ["peers"] and not arguments.against:
        command.check_names(parser, "peer", arguments.parts[1:], peers.PEERS)
        arguments.cases, arguments.parts, arguments.name = " ".join(arguments.parts[1:]), ["peers"], arguments.name or "peers"
        return arguments
    arguments.parts = arguments.parts or [part for part in arguments.table if part != "peers"]
    command.check_names(parser, "part", arguments.parts, arguments.table)
    check_cases(parser, arguments)
    return arguments


def load_average():
    return ", ".join(f"{value:.2f}" for value in os.getloadavg())


def main():
    arguments = parse()
    torch = report.output(arguments.python, "-c", "import torch; print(torch.__version__)")
    before, started = load_average(), datetime.date.today()

    def setup(scratch):
        return Setup(arguments.build.resolve(), arguments.repository.resolve(), scratch, arguments.python, arguments.quick,
                     arguments.against and arguments.against.resolve(), arguments.cases)

    output = arguments.output or (arguments.build / "bench.md" if arguments.quick else
                                  ROOT / "bench" / "results" / f"{started}-{arguments.name or 'bench'}.md")
    used = setup(pathlib.Path())
    other = ([f"other build: revision {report.output('git', '-C', used.against, 'rev-parse', '--short=12', 'HEAD')}"]
             if used.against else [])
    origin = f"`{shlex.join(['script/bench', *sys.argv[1:]])}`" + (" - quick: the figures mean nothing" if arguments.quick else "")
    versions = report.versions(torch)  # read before the measurements, because later commits are not measured
    sections = []
    for i, part in enumerate(arguments.parts, 1):
        rows = command.measure(arguments.table[part], setup)
        sections.append(command.section(arguments.table[part], rows))
        if part in PLOTTED:
            plot = output.with_name(f"{output.stem}-{part}.svg")
            plot.write_text(ratio_plot.svg(arguments.table[part][0] + ": times as fast", rows))
            sections.append(f"![{arguments.table[part][0]}]({plot.name})\n")
        facts = report.machine() + versions + other + [
            f"load average before {before}, after {load_average()} (1, 5, 15 minutes)",
            f"pictures: {used.photographs()[1]}",
            f"workers and server pinned to core {used.core}, load generator to core {used.other_core}, where no row says "
            "two cores; docs/research/benchmarks.md says how each figure is taken"]
        if left := arguments.parts[i:]:
            facts.append(f"UNFINISHED: {', '.join(left)} not measured yet")
        # Writes the results after every part, so that finished parts survive an interruption.
        command.write(output, f"{started}: {arguments.name or 'bench'}", origin, facts, "\n".join(sections))


if __name__ == "__main__":
    main()
