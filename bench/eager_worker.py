# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_worker's forward: the same weights and inputs in PyTorch eager. Same protocol.

Eager PyTorch cannot mix sizes in one batch: each group of equal sizes is a batch of its own.
"""
import argparse
import pathlib
import sys
import time

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "oracle"))
import published
import textproto

import eager_forms


def group(images):
    """Neighbours of equal size, stacked."""
    groups = []
    for image in images:
        if groups and groups[-1][0].shape == image.shape:
            groups[-1].append(image)
        else:
            groups.append([image])
    return [torch.stack(same) for same in groups]


def load_stored(arguments):
    config = textproto.parse((arguments.version / "manifest.textproto").read_text())["config"]
    model = published.load(config, published.build(config), load_file(arguments.version / "weights.safetensors")).eval()
    if arguments.form == "fused":
        eager_forms.fuse(model)
    return model


def load_timm(arguments):
    import timm
    model = timm.create_model(arguments.timm)
    model.load_state_dict(load_file(arguments.weights))
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--version", type=pathlib.Path, help="folder of a published version")
    what.add_argument("--timm", help="name of one of timm's models, which takes --weights")
    parser.add_argument("--weights", help="safetensors with timm's names")
    parser.add_argument("--inputs", required=True, help="safetensors with input.000, ...")
    parser.add_argument("--form", choices=["fused", "paper"], default="fused")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = load_timm(arguments) if arguments.timm else load_stored(arguments)
    inputs = load_file(arguments.inputs)
    images = [inputs[name] for name in sorted(inputs)]
    batches = group(images)

    def forward():
        return [model(batch) for batch in batches]

    with torch.inference_mode():
        forward()
        print("ready", len(images), f"PyTorch {torch.__version__} eager, {arguments.form}", flush=True)
        for line in sys.stdin:
            command = line.split()
            if command[0] == "run":
                start = time.perf_counter()
                for _ in range(int(command[1])):
                    forward()
                print(f"{time.perf_counter() - start:.9f}", flush=True)
            else:
                for row in torch.cat(forward()).tolist():
                    print(*(f"{value:.9g}" for value in row))
                print(flush=True)


main()
