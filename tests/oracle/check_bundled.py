# SPDX-License-Identifier: Apache-2.0
"""check_bundled.py REPOSITORY: recomputes the golden logits of every version with the oracle of its family.

Skips golden images, because an oracle has no preprocessing. tests/common/imaging compares the preprocessing with other
implementations.
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file

import published
import textproto

# Tolerance relative to the largest logit. fp32 sums in another order differ by less.
TOLERANCE = 1e-4


def check(version):
    """Returns (largest difference, number of golden inputs) of the version in a folder."""
    config = textproto.parse((version / "manifest.textproto").read_text())["config"]
    model = published.load(config, published.build(config), load_file(version / "weights.safetensors"))
    golden = load_file(version / "golden.safetensors")
    names = sorted(name for name in golden if name.startswith("input."))
    worst = 0.0
    with torch.no_grad():
        for name in names:
            expected = golden["logits." + name.removeprefix("input.")]
            difference = (model(golden[name][None])[0] - expected).abs().max()
            worst = max(worst, float(difference / expected.abs().max().clamp(min=1)))
    return worst, len(names)


def main():
    versions = sorted(manifest.parent for manifest in pathlib.Path(sys.argv[1]).glob("*/*/manifest.textproto"))
    failed = not versions
    for version in versions:
        worst, compared = check(version)
        ok = compared > 0 and worst < TOLERANCE
        failed |= not ok
        print(f"{version}: {compared} golden inputs, largest relative difference {worst:.2e}: {'ok' if ok else 'FAILED'}")
    sys.exit(failed)


main()
