import argparse
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile

from driver import footprint, forward, generator, published, report, service, stages, stalls, training
from driver.setup import ROOT, Setup

PARTS = {
    "forward": ("Forward pass against PyTorch eager, fp32", forward.measure),
    "service": ("Service", service.measure),
    "null": ("Transport alone", service.measure_null),
    "generator": ("The load generator itself, against a server that does nothing", generator.measure),
    "stalls": ("A server that stands still for 10 ms of every second", stalls.measure),
    "footprint": ("Start and memory", footprint.measure),
    "published": ("Published models: timm, mixed batches, memory", published.measure),
    "training": ("Training against PyTorch, packed batches against padded ones", training.measure),
    "stages": ("Stages, without a goal", stages.measure),
}


def parse():
    parser = argparse.ArgumentParser(prog="script/bench", description="Measures Vitrine and writes bench/results/.")
    parser.add_argument("--quick", action="store_true",
                        help="two short rounds, to see that everything runs; the figures mean nothing")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas: " + ", ".join(PARTS))
    parser.add_argument("--name", default="bench", help="last part of the result's file name")
    parser.add_argument("--output", type=pathlib.Path, help="file for the result, instead of bench/results/DATE-NAME.md")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--repository", type=pathlib.Path, default=ROOT / "bundled", help="models to measure")
    parser.add_argument("--python", default=sys.executable, help="Python with torch")
    return parser.parse_args()


def load_average():
    return ", ".join(f"{value:.2f}" for value in os.getloadavg())


def main():
    arguments = parse()
    parts = arguments.only.split(",")
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"script/bench: no such part: {', '.join(sorted(unknown))}")
    command = "script/bench " + " ".join(sys.argv[1:])
    torch = report.output(arguments.python, "-c", "import torch; print(torch.__version__)")
    before = load_average()
    sections = []
    with tempfile.TemporaryDirectory() as scratch:
        setup = Setup(arguments.build.resolve(), arguments.repository.resolve(), pathlib.Path(scratch), arguments.python,
                      arguments.quick)
        for part in parts:
            title, measure = PARTS[part]
            print(title, file=sys.stderr)
            rows = measure(setup)
            sections.append(f"## {title}\n\n{report.table(rows)}\n")
            print(sections[-1], flush=True)
        head = [f"# {datetime.date.today()}: {arguments.name}", "",
                f"`{command.strip()}`" + (" - quick: the figures mean nothing" if arguments.quick else ""), ""]
        head += [f"- {line}" for line in report.machine() + report.versions(torch)]
        head += [f"- load average before {before}, after {load_average()} (1, 5, 15 minutes)",
                 f"- pictures: {setup.photographs()[1]}",
                 f"- workers and server pinned to core {setup.core}, load generator to core {setup.other_core}; "
                 "docs/benchmarks.md says how each figure is taken", ""]
    output = arguments.output or (arguments.build / "bench.md" if arguments.quick else
                                  ROOT / "bench" / "results" / f"{datetime.date.today()}-{arguments.name}.md")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(head) + "\n" + "\n".join(sections))
    print(f"written to {output}", file=sys.stderr)


main()
