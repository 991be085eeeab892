# SPDX-License-Identifier: Apache-2.0
"""Loads the PyTorch model and the inputs of a peer of bench_worker. All peers share the options that select them."""
import pathlib
import sys

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"))
import published
import textproto

import eager_forms


def add_arguments(parser):
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--version", type=pathlib.Path, help="folder of a published version")
    what.add_argument("--timm", help="name of one of timm's models, which takes --weights")
    parser.add_argument("--weights", help="safetensors with timm's names")
    parser.add_argument("--inputs", required=True, help="safetensors with input.000, ...")


def load(arguments):
    """Returns the model in evaluation mode, with scaled_dot_product_attention instead of the paper's formula."""
    return load_timm(arguments) if arguments.timm else load_stored(arguments)


def load_stored(arguments):
    config = textproto.parse((arguments.version / "manifest.textproto").read_text())["config"]
    model = published.load(config, published.build(config), load_file(arguments.version / "weights.safetensors")).eval()
    return eager_forms.fuse(model)


def load_timm(arguments):
    import timm
    from timm.layers import set_fused_attn
    set_fused_attn(True)
    from timm.models.vision_transformer import VisionTransformer, checkpoint_filter_fn
    sized = {"img_size": 224} if "dinov2" in arguments.timm else {}  # DINOv2's position table is for 518 pixels
    model, weights = timm.create_model(arguments.timm, **sized), load_file(arguments.weights)
    model.load_state_dict(checkpoint_filter_fn(weights, model) if isinstance(model, VisionTransformer) else weights)
    return model.eval()


def images(arguments):
    inputs = load_file(arguments.inputs)
    return [inputs[name] for name in sorted(inputs)]


def batches(arguments):
    """Stacks consecutive inputs of equal size."""
    groups = []
    for image in images(arguments):
        if groups and groups[-1][0].shape == image.shape:
            groups[-1].append(image)
        else:
            groups.append([image])
    return [torch.stack(same) for same in groups]
