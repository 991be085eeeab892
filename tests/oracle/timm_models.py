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
