# SPDX-License-Identifier: Apache-2.0
"""record.py FOLDER [--check] [--only TEXT]: writes a golden file for each case of cases.py. --check compares instead.

A golden file holds, for every image i:

    logits                 [images, classes]
    tokens.<block>.<i>     the tokens after a block; class-attention blocks are numbered after the others
    final.<i>              the tokens that the head reads
    class_row.<layer>.<i>  the class token's attention, [heads, n]
    map.<layer>.<i>        X-ViT's signed token-to-token map, [heads, N, N]
    channels.<layer>.<i>   XCiT's channel-to-channel attention, [heads, d_h, d_h]

Logits are complete; the other tensors are samples (golden.py). The metadata describes how to make the same model,
weights and images:

    config    a ModelConfig
    key       the key of the hashes
    arch      timm's name, transformers/MODEL, openclip/MODEL, or empty
    tensors   lines of name, shape, centre and half, with timm's or the published names
    pictures  lines of C, H and W
"""
import argparse
import pathlib
import sys

import torch

import golden
import published
import textproto
from cases import CASES
from hashed import picture
from parts import Trace

# Maximum difference from a recorded golden. Goldens are computed in fp64 and rounded once to fp32, so the order of sums
# does not matter. timm's positions are fp32, and their sines may differ in the last bit between CPUs.
TOLERANCE = 1e-5
# Maximum difference of PyTorch's fp32 results from its fp64 results. The tests allow 1e-4, far more than this.
FP32_LIMIT = 2e-5


def make(case):
    """Returns (module with hashed weights, rows of its tensors)."""
    if case.arch.startswith("transformers/"):
        import timm_models
        import transformers_models

        model = transformers_models.build(case.arch.removeprefix("transformers/"), **case.options)
        rows = timm_models.hash_weights(model, case.name)
        return transformers_models.Watched(model).eval(), rows
    if case.arch.startswith("openclip/"):
        import timm_models

        model, rows = timm_models.from_openclip(case.arch.removeprefix("openclip/"), case.name)
        return timm_models.Watched(model).eval(), rows
    if case.arch:
        import timm_models

        model = timm_models.build(case.arch, **case.options)
        rows = timm_models.hash_weights(model, case.name)
        return timm_models.Watched(model).eval(), rows
    model = published.build(case.config)
    return model, published.hash_weights(case.config, model, case.name)


def watched_layers(trace):
    """Returns (blocks, attention layers by source) to record: two blocks, and at most two layers of each source."""
    classes = sorted(layer for source, layer in trace.attention if source == "class")
    blocks = [layer for source, layer in trace.attention if source != "class"]
    if classes:
        return [len(blocks) // 2, len(blocks)], {"class": classes, "channels": [len(blocks) // 2],
                                                 "tokens": [len(blocks) // 2]}
    return [len(blocks) // 3, 2 * len(blocks) // 3], {"tokens": [len(blocks) // 2, len(blocks) - 1]}


def observe(trace, i):
    """Returns samples of the values of image i in a trace."""
    blocks, layers = watched_layers(trace)
    has_class_blocks = any(source == "class" for source, _ in trace.attention)
    kept = {f"tokens.{block}.{i}": trace.tokens[block][0] for block in blocks}
    kept[f"final.{i}"] = trace.tokens["final"][0]
    for (source, layer), weights in trace.attention.items():
        if layer not in layers[source]:
            continue
        if source == "channels":
            kept[f"channels.{layer}.{i}"] = weights[0]
        elif source == "tokens" and has_class_blocks:
            kept[f"map.{layer}.{i}"] = weights[0]
        else:
            kept[f"class_row.{layer}.{i}"] = weights[0, :, 0]
    return {name: golden.sample(tensor) for name, tensor in kept.items()}


def run(case, model, images):
    """Runs the model on each image alone. Returns the tensors to record by name, in the model's dtype."""
    found, logits = {}, []
    for i, image in enumerate(images):
        trace = Trace()
        logits.append(model(image[None], trace))
        found |= observe(trace, i)
    return found | {"logits": torch.cat(logits)}


@torch.no_grad()
def record(case):
    """Returns (tensors, metadata) of a case."""
    model, rows = make(case)
    channels = case.config["preprocessing"]["channels"]
    images = [picture(f"{case.name}/picture.{i}", channels, *size) for i, size in enumerate(case.sizes)]
    single = run(case, model, images)
    tensors = run(case, model.double(), [image.double() for image in images])
    tensors = {name: tensor.float() for name, tensor in tensors.items()}
    centred = tensors["logits"] - tensors["logits"].mean(0)
    off = max(
        float((single[name] - tensors[name]).abs().max() / tensors[name].abs().max().clamp(min=1)) for name in tensors
    )
    print(f"{case.name}: logits {tensors['logits'].abs().max():.2f}, without their mean {centred.abs().max():.2f}, "
          f"fp32 in PyTorch differs by {off:.1e}", flush=True)
    if off > FP32_LIMIT or centred.abs().max() < 0.5:
        raise ValueError(f"{case.name}: these weights do not test the model well")
    metadata = {
        "config": textproto.write(case.config),
        "key": case.name,
        "arch": case.arch,
        "tensors": "\n".join(f"{name} {'x'.join(map(str, shape))} {centre:g} {half:g}" for name, shape, centre, half in rows),
        "pictures": "\n".join(f"{channels} {height} {width}" for height, width in case.sizes),
    }
    return tensors, metadata


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--only", default="")
    options = arguments.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = False
    names = {f"{case.name}.safetensors" for case in CASES}
    for path in sorted(options.folder.glob("*.safetensors")):
        if path.name not in names:
            print(f"{path}: no case has this name")
            failed = True
    for case in CASES:
        if options.only not in case.name:
            continue
        path = options.folder / f"{case.name}.safetensors"
        fresh = record(case)
        if not options.check:
            path.write_bytes(golden.to_bytes(*fresh))
            continue
        problems = golden.differences(fresh, golden.from_bytes(path.read_bytes()), TOLERANCE) if path.exists() else ["is missing"]
        for problem in problems:
            print(f"{path}: {problem}")
        failed |= bool(problems)
    sys.exit(failed)


main()
