# SPDX-License-Identifier: Apache-2.0
"""Parts that several oracles share, in plain PyTorch. Modules have the names of the published tensors."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Trace:
    """Intermediate results of a forward pass, recorded for comparison.

    tokens[block] [B, n, d] are the tokens after a block. Class-attention blocks are numbered after the other blocks. tokens["final"]
    are the tokens that the head reads. attention[source, layer] are attention weights; `source` is "tokens"
    [B, h, n, n], "class" [B, h, 1, n] or "channels" [B, h, d_h, d_h]. Layers are numbered separately for each source.
    """

    def __init__(self):
        self.tokens = {}
        self.attention = {}


class FeedForward(nn.Module):
    """Computes fc2(GELU(fc1(LN(x)))). The caller adds the residual. Post-norm blocks call inner(), which has no LN."""

    def __init__(self, width, hidden, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def inner(self, x):
        return self.fc2(F.gelu(self.fc1(x)))

    def forward(self, x):
        return self.inner(self.norm(x))


def split_heads(x, heads):
    """Reshapes [B, n, width] to [B, heads, n, width / heads]."""
    b, n, width = x.shape
    return x.reshape(b, n, heads, width // heads).transpose(1, 2)


def join_heads(x):
    b, heads, n, width = x.shape
    return x.transpose(1, 2).reshape(b, n, heads * width)


def softmax_attention(q, k, v, scale):
    """Returns (output with joined heads, weights) for q, k and v [B, h, n, d_h]."""
    weights = (scale * q @ k.transpose(-2, -1)).softmax(-1)
    return join_heads(weights @ v), weights


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        """Returns (output, weights)."""
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        y, weights = softmax_attention(q, k, v, q.shape[-1] ** -0.5)
        return self.proj(y), weights


class LinearPatches(nn.Module):
    """A linear layer over squares of pixels, computed as a convolution. Its published form is a matrix with one column
    for each (row, column, channel), in this order."""

    def __init__(self, patch, channels, width):
        super().__init__()
        self.proj = nn.Conv2d(channels, width, patch, patch)

    def forward(self, images):
        return self.proj(images)


class Positions(nn.Module):
    """A learned table with the class token's row first. For other grids, it is interpolated like in timm's
    resample_abs_pos_embed: bicubic, with antialiasing."""

    def __init__(self, grid, width):
        super().__init__()
        self.grid = grid
        self.table = nn.Parameter(torch.zeros(1 + grid[0] * grid[1], width))

    def forward(self, rows, columns):
        if (rows, columns) == tuple(self.grid):
            return self.table
        cells = self.table[1:].reshape(1, *self.grid, -1).permute(0, 3, 1, 2)
        cells = F.interpolate(cells, size=(rows, columns), mode="bicubic", antialias=True, align_corners=False)
        return torch.cat([self.table[:1], cells[0].flatten(1).T])


def on_grid(function, x, rows, columns):
    """Applies a function of images [B, C, rows, columns] to tokens [B, N, C]."""
    return function(x.transpose(1, 2).unflatten(2, (rows, columns))).flatten(2).transpose(1, 2)


def with_class_token(token, x):
    return torch.cat([token.expand(len(x), 1, -1), x], 1)


def fourier_positions(rows, columns):
    """Returns [64, rows, columns]: 32 channels of y, then 32 of x (section 1.4 of the specification)."""
    t = 10000.0 ** (2 * (torch.arange(32, dtype=torch.float64) // 2) / 32)
    y = 2 * math.pi * torch.arange(1, rows + 1, dtype=torch.float64) / (rows + 1e-6)
    x = 2 * math.pi * torch.arange(1, columns + 1, dtype=torch.float64) / (columns + 1e-6)

    def waves(v):
        angle = v[:, None] / t
        return torch.where(torch.arange(32) % 2 == 0, angle.sin(), angle.cos()).T

    return torch.cat([waves(y)[:, :, None].expand(-1, -1, columns), waves(x)[:, None].expand(-1, rows, -1)])
