# SPDX-License-Identifier: Apache-2.0
"""Rows of figures, with the information that a reader needs to judge them."""
import dataclasses
import os
import pathlib
import platform
import re
import subprocess

from driver.setup import ROOT


@dataclasses.dataclass
class Row:
    """A figure: the median, lowest and highest value over the rounds, or a note that says why there are no values."""
    what: str
    unit: str = ""
    values: tuple | None = None
    goal: float | None = None
    at_least: bool = True  # True: the goal is a lower bound; False: an upper bound
    note: str = ""
    judged: float | None = None  # the value that is compared with the goal; None: the median
    share: tuple | None = None  # (reached, goal) as a share of the core's peak, an alternative goal

    def judgement(self):
        if self.goal is None:
            return ""
        value = self.values[0] if self.judged is None else self.judged
        met = value >= self.goal if self.at_least else value <= self.goal
        if self.share is None:
            return "met" if met else "MISSED"
        # A share above 1 means that the measurement of the peak rate was disturbed. Such a share does not meet the
        # goal.
        by = [way for way, reached in (("ratio", met), ("share", self.share[1] <= self.share[0] <= 1)) if reached]
        return f"met by {' and '.join(by)}" if by else "MISSED"

    def goal_text(self):
        if self.goal is None:
            return ""
        text = f"{'at least' if self.at_least else 'at most'} {figure(self.goal)}"
        return text + (f", or {self.share[1]:.0%} of the peak" if self.share else "")

    def cells(self):
        median, low, high = map(figure, self.values) if self.values else ("",) * 3
        between = "" if low == high else f"{low} .. {high}"
        return [self.what, median, between, self.unit, self.goal_text(), self.judgement(), self.note]


HEAD = ["what", "median", "lowest .. highest", "unit", "goal", "judgement", "beside it"]


def figure(value):
    """Formats a number with three significant digits and commas between thousands."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def table(rows):
    """Returns a Markdown table with aligned columns, so that it is also readable on a terminal."""
    lines = [HEAD] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    text = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def governor():
    path = pathlib.Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return path.read_text().strip() if path.exists() else "not visible"


def of_processor(name):
    found = re.search(rf"^{name}\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found.group(1) if found else "?"


def instruction_sets():
    flags = of_processor("flags").split()
    return [name for name in ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile") if name in flags]


def machine():
    return [
        f"processor: {of_processor('model name')}, family {of_processor('cpu family')} model {of_processor('model')}, "
        f"{len(os.sched_getaffinity(0))} cores, {' '.join(instruction_sets())}; frequency governor {governor()}",
        f"kernel: {platform.release()}",
    ]


def revision():
    """Returns the measured revision. Files of earlier results do not count as local changes."""
    others = (":/", ":(top,exclude)docs/research/results", ":(top,exclude)bench/results")
    dirty = output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no", "--", *others) not in ("", "unknown")
    return f"{output('git', '-C', ROOT, 'rev-parse', '--short=12', 'HEAD')}{', with local changes' if dirty else ''}"


def versions(torch):
    def package(name):
        return output("dpkg-query", "-W", "-f=${Version}", name)

    return [
        f"revision: {revision()}",
        f"LibTorch and PyTorch {torch} (the same library file), gRPC {package('libgrpc++-dev')}, "
        f"libjpeg-turbo {package('libjpeg62-turbo-dev')}, {output('g++', '--version').splitlines()[0]}",
    ]
