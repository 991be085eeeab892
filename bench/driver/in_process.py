#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""in_process.py ADDRESS REPOSITORY [CALLS]: median time of one image by vitrine.load and by a server over gRPC, in milliseconds, for
each model of the repository. Calls alternate, so that the machine's other load meets both. Needs the packages vitrine and
vitrine_engine, and a server of the same models."""
import pathlib
import statistics
import sys
import time

import vitrine

IMAGES = {"kv-pos-mnist": "samples/digits/digit-7.png"}  # others: the photograph
PHOTOGRAPH = "samples/cifar/cat-chelsea.jpg"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def seconds(classify, image: bytes) -> float:
    begin = time.perf_counter()
    classify(image)
    return time.perf_counter() - begin


def main() -> int:
    address, repository = sys.argv[1:3]
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    print("| model | in process, p50 ms | gRPC, p50 ms | ratio |\n|---|---|---|---|")
    with vitrine.Client(address) as client:
        for model in sorted(path.name for path in pathlib.Path(repository).iterdir()):
            image = (ROOT / IMAGES.get(model, PHOTOGRAPH)).read_bytes()
            with vitrine.load(model, repository) as local:
                times = [(seconds(local.classify, image), seconds(lambda one: client.classify(one, model), image))
                         for _ in range(calls + 20)][20:]
            ours, theirs = (1000 * statistics.median(column) for column in zip(*times))
            print(f"| `{model}` | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
