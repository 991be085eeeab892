# SPDX-License-Identifier: Apache-2.0
"""timm's models with hashed weights, and the outputs of their blocks, recorded by hooks."""
import timm
import torch
from timm.layers import set_fused_attn

from hashed import hashed, role
from parts import Trace


def build(arch, **options):
    """Builds a model in evaluation mode with explicit attention, so that attention weights can be recorded."""
    set_fused_attn(False)
    return timm.create_model(arch, pretrained=False, **options).eval()


def hash_weights(model, key):
    """Sets every floating tensor to hashed values. Returns (name, shape, centre, half) of each tensor."""
    rows, state = [], model.state_dict()
    for name, tensor in state.items():
        if tensor.is_floating_point():
            shape = tuple(tensor.shape)
            rows.append((name, shape, *role(name, shape)))
            state[name] = hashed(f"{key}/{name}", *rows[-1][1:])
    model.load_state_dict(state)
    return sorted(rows)


def openclip_shapes(width, depth, patch, tokens, outputs):
    """Returns {name: shape} of OpenCLIP's image tower."""
    norm = lambda name: {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    shapes = {"class_embedding": (width,), "positional_embedding": (tokens, width), "proj": (width, outputs),
              "conv1.weight": (width, 3, patch, patch)} | norm("ln_pre") | norm("ln_post")
    for i in range(depth):
        block = f"transformer.resblocks.{i}"
        shapes |= norm(f"{block}.ln_1") | norm(f"{block}.ln_2")
        for name, rows, columns in (("attn.in_proj_", 3 * width, width), ("attn.out_proj.", width, width),
                                    ("mlp.c_fc.", 4 * width, width), ("mlp.c_proj.", width, 4 * width)):
            shapes |= {f"{block}.{name}weight": (rows, columns), f"{block}.{name}bias": (rows,)}
    return {f"visual.{name}": shape for name, shape in shapes.items()}


def from_openclip(arch, key):
    """Returns (model, rows). The model has hashed weights with OpenCLIP's names, which timm converts. The rows have the
    format of hash_weights()."""
    model = build(arch, num_classes=512, dynamic_img_size=True)
    embed = model.patch_embed
    shapes = openclip_shapes(model.embed_dim, len(model.blocks), embed.patch_size[0], embed.num_patches + 1, 512)
    rows = sorted((name, shape, *role(name, shape)) for name, shape in shapes.items())
    state = {name: hashed(f"{key}/{name}", *row) for name, *row in rows}
    model.load_state_dict(timm.models.vision_transformer.checkpoint_filter_fn(state, model))
    return model, rows


class Watched(torch.nn.Module):
    """A timm model with the oracles' method forward(images, trace)."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.trace = None
        self.xcit = hasattr(model, "cls_attn_blocks")
        for i, block in enumerate(model.blocks):
            self.watch(block, i, "channels" if self.xcit else "tokens", i)
        for i, block in enumerate(model.cls_attn_blocks if self.xcit else []):
            self.watch(block, len(model.blocks) + i, "class", i)
        model.norm.register_forward_hook(lambda module, inputs, output: self.put(lambda t: t.tokens.update(final=output)))

    def watch(self, block, stage, source, layer):
        block.register_forward_hook(lambda module, inputs, output: self.put(lambda t: t.tokens.update({stage: output})))
        block.attn.attn_drop.register_forward_hook(
            lambda module, inputs, output: self.put(lambda t: t.attention.update({(source, layer): output}))
        )

    def put(self, action):
        if self.trace is not None:
            action(self.trace)

    def forward(self, images, trace=None):
        self.trace = trace
        logits = self.model(images)
        self.trace = None
        return logits
