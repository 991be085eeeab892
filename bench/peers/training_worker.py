# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_training_worker: trains the same model with the same weights and batch in PyTorch. Same protocol.

--form is eager or compile (TorchInductor), each with or without --autocast (bf16). Attention is
scaled_dot_product_attention, images and kernels are stored channels last, and AdamW is fused.
"""
import argparse
import contextlib
import pathlib
import sys
import time

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"))
import published
import textproto

import eager_forms

# The values of bench/training_worker.cc.
LEARNING_RATE = 1e-5


def load(folder):
    config = textproto.parse((folder / "config.textproto").read_text())
    model = published.load(config, published.build(config), load_file(folder / "weights.safetensors"))
    eager_forms.fuse(model)
    model.train().to(memory_format=torch.channels_last)
    tensors = load_file(folder / "batch.safetensors")
    images = torch.stack([tensors[name] for name in sorted(tensors) if name.startswith("image.")])
    return model, images.contiguous(memory_format=torch.channels_last), tensors["labels"]


def groups_of(model):
    """Returns the parameter groups: no weight decay on vectors, tokens, positions and temperatures."""
    spared = ("token", "position", "temperature", "codes")
    groups = {True: [], False: []}
    for name, parameter in model.named_parameters():
        groups[parameter.dim() >= 2 and not any(word in name for word in spared)].append(parameter)
    return [{"params": groups[True], "weight_decay": 0.05}, {"params": groups[False], "weight_decay": 0.0}]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="what bench_training_worker --save wrote")
    parser.add_argument("--form", choices=["eager", "compile"], default="eager")
    parser.add_argument("--autocast", action="store_true", help="bf16")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model, images, labels = load(arguments.folder)
    optimizer = torch.optim.AdamW(groups_of(model), lr=LEARNING_RATE, fused=True)
    forward = torch.compile(model) if arguments.form == "compile" else model

    def step():
        context = torch.autocast("cpu", torch.bfloat16) if arguments.autocast else contextlib.nullcontext()
        with context:
            logits = forward(images)
        loss = F.cross_entropy(logits.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    first_loss = step()
    print("ready", len(images), f"PyTorch {torch.__version__} {arguments.form}", flush=True)
    for line in sys.stdin:
        command = line.split()
        if command[0] == "run":
            start = time.perf_counter()
            for _ in range(int(command[1])):
                step()
            print(f"{time.perf_counter() - start:.9f}", flush=True)
        else:
            print(f"{first_loss:.9g}\n", flush=True)


main()
