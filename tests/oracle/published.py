"""Oracles by config, and their tensors under the names and in the layout of a published weights.safetensors."""
import re

import torch

import eit
import kv
import vit
import xcit
import xvit

# (pattern of the oracle's name, published name), where they differ.
RENAMED = {
    "vit": [],
    "eit": [(r"patches\.conv\.(\w+)", r"patches.\1"), (r"branch\.convs\.0\.weight", "convolution.weight")],
    "eit_baseline": [],
    "kv": [],
    "xcit": [],
    "xvit": [],
}


def family(config):
    return next(name for name in RENAMED if name in config)


def build(config):
    """The oracle of a ModelConfig (textproto.parse) with fresh weights, in evaluation mode."""
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
    """A factory of a block's embedding of q, k and v."""
    width, hidden = c["width"], c.get("embedding_width", 0)
    return {
        "LINEAR": lambda: xcit.LinearEmbedding(width),
        "SNE": lambda: xcit.Sne(width, hidden, c.get("embedding_layers", 2)),
        "P_SNE": lambda: xcit.PSne(width, hidden),
        "F_SNE": lambda: xcit.FSne(width, hidden, c["code_length"]),
    }[c.get("embedding", "LINEAR")]


def build_xcit(c, ends):
    return xcit.Xcit(c["patch"], c["width"], c["depth"], c["class_depth"], c["heads"], c["mlp_width"],
                     c.get("tokens_norm", False), **ends, embedding=embedding(c), code=c.get("code_length", 0),
                     codes_per_block=c.get("codes_per_block", False))


def build_xvit(c, ends):
    return xvit.XVit(c["patch"], c["width"], c["depth"], c["class_depth"], c["heads"], c["attention_width"],
                     c["mlp_width"], **ends, last_axis=c.get("norm_axis") == "LAST")


def published_name(family_name, name):
    for pattern, target in RENAMED[family_name]:
        name = re.sub(rf"(?:^|(?<=\.)){pattern}$", target, name)
    return name


def stored(config, model):
    """{published name: (oracle's name, published shape)} of every parameter and floating buffer."""
    names = {}
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            shape = tuple(tensor.permute(0, 2, 3, 1).shape) if tensor.dim() == 4 else tuple(tensor.shape)
            names[published_name(family(config), name)] = name, shape
    return names


def load(config, model, tensors):
    """Gives the oracle published tensors. Kernels are stored [out, rows, columns, in]."""
    names = stored(config, model)
    if names.keys() != tensors.keys():
        raise KeyError(f"tensors that only one side knows: {sorted(names.keys() ^ tensors.keys())}")
    state = model.state_dict()
    for name, (own, shape) in names.items():
        tensor = tensors[name].float().reshape(shape)
        state[own] = tensor.permute(0, 3, 1, 2) if tensor.dim() == 4 else tensor
    model.load_state_dict(state)
    return model


def hash_weights(config, model, key):
    """Loads hashed tensors; returns (name, shape, centre, half) of each."""
    from hashed import hashed, role

    rows = [(name, shape, *role(name, shape)) for name, (_, shape) in sorted(stored(config, model).items())]
    load(config, model, {name: hashed(f"{key}/{name}", shape, centre, half) for name, shape, centre, half in rows})
    return rows
