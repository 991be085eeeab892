# SPDX-License-Identifier: Apache-2.0
"""Builds oracles (the models in plain PyTorch) from configs, and maps their tensors to the names and
layout of a published weights.safetensors."""
import math
import re

import eit
import kv
import vit
import xcit
import xvit

# Pairs (pattern of the oracle's name, published name) for the names that differ.
EIT = [
    (r"patches\.conv\.(\w+)", r"patches.\1"),
    (r"(branch|parallel)\.convs\.0\.weight", "convolution.weight"),
    (r"branch\.convs\.1\.weight", "convolution.second.weight"),
    (r"branch\.convs\.2\.weight", "convolution.third.weight"),
    (r"branch\.dense\.(\w+)", r"convolution.linear.\1"),
    (r"branch\.bn\.(\w+)", r"convolution.batch_norm.\1"),
]
RENAMED = {"vit": [], "eit": EIT, "eit_baseline": EIT, "kv": [], "xcit": [], "xvit": []}


def family(config):
    return next(name for name in RENAMED if name in config)


def build(config):
    """Returns the oracle of a parsed ModelConfig (textproto.parse), with random weights and in evaluation mode."""
    c = config[family(config)]
    ends = {"classes": config["classes"], "channels": config["preprocessing"]["channels"]}
    return globals()["build_" + family(config)](c, ends).eval()


def grid(c):
    return c.get("grid_rows", 0), c.get("grid_columns", 0)


def build_vit(c, ends):
    return vit.Vit(c["patch"], c["width"], c["depth"], c["heads"], c["mlp_width"], grid(c), **ends,
                   post=c.get("norm") == "POST", epsilon=c.get("norm_epsilon", 1e-6))


def build_eit(c, ends):
    whole = not c.get("conv_channels", True)
    return eit.Eit(c["width"], c["depth"], c["heads"], c["mlp_width"], c["pool"], grid(c), **ends,
                   projection="pool" if c.get("conv_projection", True) else "patches",
                   schedule="all" if whole else c.get("schedule", "DECREASING").lower(),
                   branch=c.get("convolution", "CONV").lower(), parallel=c.get("parallel_convolution", False),
                   positions=c.get("positions", True))


def build_eit_baseline(c, ends):
    projection = {"LINEAR": "patches", "OVERLAPPING": "overlapping", "STEM": "stem"}[c["patches"]]
    return eit.Eit(c["width"], c["depth"], c["heads"], c["mlp_width"], 4, grid(c), **ends, projection=projection,
                   schedule="half" if c["mixer"] == "LSRA" else "all", branch="lsra",
                   conv_attention=c["mixer"] == "CONVOLVED_QKV")


def build_kv(c, ends):
    return kv.Kv(c["patch"], c["width"], c["depth"], c["heads"], c["mlp_width"], c["attention"].lower(),
                 c.get("position_channels", 0), grid(c), **ends, head_scale=c.get("score_scale") == "HEAD_WIDTH")


def embedding(c):
    """Returns a function that makes a block's embedding of q, k and v."""
    width, hidden, own_codes = c["width"], c.get("embedding_width", 0), c.get("codes_per_block", False)
    return {
        "LINEAR": lambda: xcit.LinearEmbedding(width),
        "SNE": lambda: xcit.Sne(width, hidden, c.get("embedding_layers", 2)),
        "P_SNE": lambda: xcit.PSne(width, hidden),
        "F_SNE": lambda: xcit.FSne(width, hidden, c["code_length"], own_codes),
    }[c.get("embedding", "LINEAR")]


def build_xcit(c, ends):
    return xcit.Xcit(c["patch"], c["width"], c["depth"], c["class_depth"], c["heads"], c["mlp_width"],
                     c.get("tokens_norm", False), **ends, qkv=embedding(c),
                     code=0 if c.get("codes_per_block") else c.get("code_length", 0))


def build_xvit(c, ends):
    return xvit.XVit(c["patch"], c["width"], c["depth"], c["class_depth"], c["heads"], c["attention_width"],
                     c["mlp_width"], **ends, last_axis=c.get("norm_axis") == "LAST", mixer=c.get("mixer", "XNORM"),
                     patches=c.get("stem") == "PATCHES", depthwise=c.get("local") == "DEPTHWISE")


def published_name(family_name, name):
    for pattern, target in RENAMED[family_name]:
        name = re.sub(rf"(?:^|(?<=\.)){pattern}$", target, name)
    return name


def channels_last(config, name):
    """Returns True if the kernel is published as [out, rows, columns, in], not as PyTorch's [out, in, rows, columns]."""
    return name == "patches.proj.weight" or family(config) not in ("xcit", "xvit")


def published_shape(config, name, tensor):
    """Returns the published shape: linear patches and positions.projection are matrices, map_pos is a vector."""
    if name.endswith("map_pos.weight"):
        return tuple(tensor.shape[1:])
    if name == "positions.projection.weight":
        return tuple(tensor.shape[:2])
    if tensor.dim() != 4 or not channels_last(config, name):
        return tuple(tensor.shape)
    kernel = tuple(tensor.permute(0, 2, 3, 1).shape)
    return (kernel[0], math.prod(kernel[1:])) if name == "patches.proj.weight" else kernel


def stored(config, model):
    """Returns {published name: (oracle's name, published shape)} of every parameter and floating buffer."""
    names = {}
    for own, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            name = published_name(family(config), own)
            names[name] = own, published_shape(config, name, tensor)
    return names


def load(config, model, tensors):
    """Loads published tensors into the oracle."""
    names = stored(config, model)
    if names.keys() != tensors.keys():
        raise KeyError(f"tensors that only the model or only the file has: {sorted(names.keys() ^ tensors.keys())}")
    state = model.state_dict()
    for name, (own, shape) in names.items():
        tensor = tensors[name].float()
        if tensor.shape != shape:
            raise ValueError(f"{name} has shape {list(tensor.shape)}, expected {list(shape)}")
        if state[own].dim() == 4 and channels_last(config, name):
            out, into, rows, columns = state[own].shape
            tensor = tensor.reshape(out, rows, columns, into).permute(0, 3, 1, 2)
        state[own] = tensor.reshape(state[own].shape)
    model.load_state_dict(state)
    return model


def hash_weights(config, model, key):
    """Loads hashed tensors. Returns (name, shape, centre, half) of each tensor."""
    from hashed import hashed, role

    rows = [(name, shape, *role(name, shape)) for name, (_, shape) in sorted(stored(config, model).items())]
    load(config, model, {name: hashed(f"{key}/{name}", shape, centre, half) for name, shape, centre, half in rows})
    return rows
