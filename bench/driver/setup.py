# SPDX-License-Identifier: Apache-2.0
"""Setup of every measurement: the folders of programs, models and images, and the cores to use."""
import dataclasses
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Setup:
    build: pathlib.Path  # contains bin/
    repository: pathlib.Path
    scratch: pathlib.Path
    python: str  # interpreter with torch
    quick: bool
    against: pathlib.Path | None = None  # build folder to compare with
    cases: str = ""  # substring of the case names to run in engine, narrow and servers; names of peers

    def __post_init__(self):
        cores = sorted(os.sched_getaffinity(0))
        # Server and workers run on one core, and the load generator on another core if there is one.
        self.core, self.other_core = cores[0], cores[1 % len(cores)]

    def cores(self):
        """Returns the number of cores for measurements with several cores: 2, or 1 if this process may use only one core."""
        return len({self.core, self.other_core})

    def both(self):
        return sorted({self.core, self.other_core})

    def core_list(self):
        return ",".join(map(str, self.both()))

    def program(self, name):
        return str(self.build / "bin" / name)

    def rounds(self, full):
        return 2 if self.quick else full

    def seconds(self, full):
        return full / 4 if self.quick else full

    def models(self):
        """Returns {model: folder of its newest version}."""
        newest = {}
        for manifest in self.repository.glob("*/*/manifest.textproto"):
            version = manifest.parent
            known = newest.get(version.parent.name)
            if known is None or int(version.name) > int(known.name):
                newest[version.parent.name] = version
        return dict(sorted(newest.items()))

    def photographs(self):
        """Returns (folder of JPEG files, description for the report)."""
        data = pathlib.Path(os.environ.get("VITRINE_DATA", "")) / "imagenet-samples"
        if os.environ.get("VITRINE_DATA") and data.is_dir():
            return data, "100 photographs of ImageNet classes, original JPEG files of 110 KB in the mean"
        return ROOT / "samples" / "cifar", "the pictures of samples/cifar, mostly JPEG"


def grid_of(manifest):
    """Returns (rows, columns) of the model's grid. A model with native resolution has no fixed grid; returns a square grid in
    the middle of its range."""
    sides = [re.search(rf"grid_{side}: (\d+)", manifest) for side in ("rows", "columns")]
    if all(sides):
        return tuple(int(side.group(1)) for side in sides)
    fewest, most = (int(re.search(rf"{bound}_tokens: (\d+)", manifest).group(1)) for bound in ("min", "max"))
    return (round((fewest * most) ** 0.25),) * 2


def sizes_of(version):
    """Returns the sizes of the cases of a model: {case: ["HEIGHTxWIDTH", ...]}."""
    manifest = (version / "manifest.textproto").read_text()
    fixed = re.search(r"fixed {\s*height: (\d+)\s*width: (\d+)", manifest)
    if fixed:
        own = f"{fixed.group(1)}x{fixed.group(2)}"
        return {"batch 1": [own], "batch 16": [own] * 16}
    cell = int(re.search(r"native {\s*cell: (\d+)", manifest).group(1))
    rows, columns = grid_of(manifest)

    def size(row_part, column_part):
        return f"{round(rows * row_part) * cell}x{round(columns * column_part) * cell}"

    own = size(1, 1)
    # Sorted by grid, as the server sorts a batch.
    mixed = ([size(0.75, 0.75)] * 3 + [size(0.75, 1)] * 2 + [own] * 6 + [size(1, 1.5)] * 2 + [size(1.25, 1.25)] * 2
             + [size(1.5, 1.5)])
    return {"batch 1": [own], "batch 16": [own] * 16, "16 of 6 grids": mixed}
