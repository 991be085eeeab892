# SPDX-License-Identifier: Apache-2.0
"""The KV transformer's vision classifier in plain PyTorch: the naive form of section 5 of the specification, as in the
paper's code."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from parts import FeedForward, join_heads, split_heads, with_class_token


def positional_tensor(n, m):
    """Returns P [n, n, m]: the first m values of [E(i), E(j)]. E has q = 2 * ceil(m / 4) values: sine, cosine, ..."""
    q = 2 * math.ceil(m / 4)
    frequency = 10000.0 ** (-torch.arange(0, q, 2, dtype=torch.float64) / q)
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequency
    e = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
    rows, columns = e[:, None].expand(n, n, q), e[None].expand(n, n, q)
    return torch.cat([rows, columns], -1)[..., :m]


class KvAttention(nn.Module):
    """`kind` is qkv, kv or kv_pos. The scale is (width / heads)^-1/2 with `head_scale`, else width^-1/2."""

    def __init__(self, width, heads, kind, m, head_scale):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.scale = (width / heads if head_scale else width) ** -0.5
        self.projection = nn.Linear(width, (3 if kind == "qkv" else 2) * width, bias=False)
        self.map_pos = nn.Linear(m, 1) if kind == "kv_pos" else None
        self.output = nn.Linear(width, width)

    def forward(self, x):
        """Returns (output, weights)."""
        parts = [split_heads(part, self.heads) for part in self.projection(x).split(x.shape[-1], -1)]
        k, v = parts[-2:]
        scores = self.scale * parts[0] @ k.transpose(-2, -1)  # parts[0] is q; without q, it is k
        if self.map_pos is not None:
            tensor = positional_tensor(x.shape[1], self.map_pos.in_features).to(x)
            scores = self.map_pos(scores[..., None] + tensor).squeeze(-1)
        weights = scores.softmax(-1)
        return self.output(join_heads(weights @ v)), weights


class Block(nn.Module):
    def __init__(self, width, heads, mlp, kind, m, head_scale):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-5)
        self.attention = KvAttention(width, heads, kind, m, head_scale)
        self.feed_forward = FeedForward(width, mlp, 1e-5)

    def forward(self, x):
        y, weights = self.attention(self.norm(x))
        x = x + y
        return x + self.feed_forward(x), weights


class Patches(nn.Module):
    """A linear layer over squares of pixels in the order (row, column, channel)."""

    def __init__(self, patch, channels, width):
        super().__init__()
        self.patch = patch
        self.proj = nn.Linear(channels * patch * patch, width)

    def forward(self, images):
        b, c, height, width = images.shape
        p = self.patch
        x = images.reshape(b, c, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return self.proj(x.reshape(b, -1, p * p * c))


class Kv(nn.Module):
    def __init__(self, patch, width, depth, heads, mlp, kind, m, grid, classes, channels, head_scale=False):
        super().__init__()
        self.patches = Patches(patch, channels, width)
        self.class_token = nn.Parameter(torch.zeros(1, width))
        self.positions = nn.ParameterDict({"table": torch.zeros(1 + grid[0] * grid[1], width)})
        self.blocks = nn.ModuleList(Block(width, heads, mlp, kind, m, head_scale) for _ in range(depth))
        self.head_in = nn.Linear(width, mlp)
        self.head_out = nn.Linear(mlp, classes)

    def forward(self, images, trace=None):
        x = with_class_token(self.class_token, self.patches(images)) + self.positions["table"]
        for i, block in enumerate(self.blocks):
            x, weights = block(x)
            if trace is not None:
                trace.tokens[i], trace.attention["tokens", i] = x, weights
        if trace is not None:
            trace.tokens["final"] = x
        return self.head_out(F.gelu(self.head_in(x[:, 0])))
