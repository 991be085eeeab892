# SPDX-License-Identifier: Apache-2.0
"""Attention for the models of tests/oracle as a careful PyTorch user would write it: with scaled_dot_product_attention.

The models of tests/oracle themselves use the papers' formulas, which are too slow for a fair comparison.
"""
import torch
from torch import nn
from torch.nn import functional as F

import eit
import kv
import xcit
import xvit


class FusedAttention(nn.Module):
    """parts.SelfAttention without attention weights in its result."""

    def __init__(self, plain):
        super().__init__()
        self.heads, self.qkv, self.proj = plain.heads, plain.qkv, plain.proj

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)), None


class FusedClassAttention(nn.Module):
    """xcit.ClassAttention without attention weights in its result."""

    def __init__(self, plain):
        super().__init__()
        self.heads, self.q, self.k, self.v, self.proj = plain.heads, plain.q, plain.k, plain.v, plain.proj

    def forward(self, x):
        b, n, c = x.shape

        def heads(part):
            return part.reshape(b, -1, self.heads, c // self.heads).transpose(1, 2)

        mixed = F.scaled_dot_product_attention(heads(self.q(x[:, :1])), heads(self.k(x)), heads(self.v(x)))
        return self.proj(mixed.transpose(1, 2).reshape(b, 1, c)), None


class FusedKvAttention(nn.Module):
    """kv.KvAttention with fewer operations. map_pos is linear, so map_pos(score + P) equals the score times the sum of map_pos's
    weights, plus map_pos(P), which is computed once."""

    def __init__(self, plain, tokens):
        super().__init__()
        self.heads, self.kind, self.projection, self.output = plain.heads, plain.kind, plain.projection, plain.output
        self.scale, self.table = plain.scale, None
        if plain.map_pos is not None:
            self.scale *= float(plain.map_pos.weight.detach().sum())
            with torch.no_grad():
                tensor = kv.positional_tensor(tokens, plain.map_pos.in_features).float()
                self.table = plain.map_pos(tensor).squeeze(-1)

    def forward(self, x):
        b, n, d = x.shape
        parts = self.projection(x).reshape(b, n, -1, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        k, v = parts[-2], parts[-1]
        q = parts[0] if self.kind == "qkv" else k
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=self.table, scale=self.scale)
        return self.output(mixed.transpose(1, 2).reshape(b, n, d)), None


def fuse(model):
    """Replaces the attention of a model in place. PyTorch has no fused form of XCiT's attention over channels or X-ViT's attention."""
    if isinstance(model, xvit.XVit):
        return model
    for block in model.class_blocks if isinstance(model, xcit.Xcit) else model.blocks:
        if isinstance(model, eit.Eit):
            block.attention = FusedAttention(block.attention)
        elif isinstance(model, xcit.Xcit):
            block.attention = FusedClassAttention(block.attention)
        else:
            block.attention = FusedKvAttention(block.attention, model.positions["table"].shape[0])
    return model
