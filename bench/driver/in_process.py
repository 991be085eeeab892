#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""in_process.py ADDRESS REPOSITORY [CALLS]: compares an image's median time by vitrine.load and by a server over gRPC.
Each model gets a photograph, and the photograph reduced to the size of the model's data set. Calls alternate, so that
other load affects both. Needs the packages vitrine and vitrine_engine, and a server with the same models."""
import io
import pathlib
import statistics
import sys
import time

from PIL import Image

import vitrine

SIDES = {"kv-pos-mnist": 28, "eit-mini-cifar10": 32}  # others: 64
ROOT = pathlib.Path(__file__).resolve().parents[2]


def seconds(classify, image: bytes) -> float:
    begin = time.perf_counter()
    classify(image)
    return time.perf_counter() - begin


def images(side: int) -> "dict[str, bytes]":
    """Returns the photograph, and a PNG of it with `side` x `side` pixels."""
    path = ROOT / "samples/cifar/cat-chelsea.jpg"
    small = io.BytesIO()
    with Image.open(path) as image:
        name = "%dx%d" % image.size
        image.resize((side, side)).save(small, "PNG")
    return {name: path.read_bytes(), "%dx%d" % (side, side): small.getvalue()}


def main() -> int:
    address, repository = sys.argv[1:3]
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    print("| model | image | in process, p50 ms | gRPC, p50 ms | ratio |\n|---|---|---|---|---|")
    with vitrine.Client(address) as client:
        for model in sorted(path.name for path in pathlib.Path(repository).iterdir()):
            for name, image in images(SIDES.get(model, 64)).items():
                with vitrine.load(model, repository) as local:
                    times = [(seconds(local.classify, image), seconds(lambda one: client.classify(one, model), image))
                             for _ in range(calls + 20)][20:]
                ours, theirs = (1000 * statistics.median(column) for column in zip(*times))
                print(f"| `{model}` | {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
