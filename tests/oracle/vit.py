# SPDX-License-Identifier: Apache-2.0
"""Vision Transformer in plain PyTorch: blocks with the norm before the branch (pre) or after the residual sum (post)."""
import torch
from torch import nn

from parts import FeedForward, LinearPatches, Positions, SelfAttention, with_class_token


class Block(nn.Module):
    def __init__(self, width, heads, mlp, post, epsilon):
        super().__init__()
        self.post = post
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = SelfAttention(width, heads)
        self.feed_forward = FeedForward(width, mlp, epsilon)

    def forward(self, x):
        """Returns (tokens, attention weights)."""
        if self.post:
            y, weights = self.attention(x)
            x = self.norm(x + y)
            return self.feed_forward.norm(x + self.feed_forward.inner(x)), weights
        y, weights = self.attention(self.norm(x))
        x = x + y
        return x + self.feed_forward(x), weights


class Vit(nn.Module):
    def __init__(self, patch, width, depth, heads, mlp, grid, classes, channels, post=False, epsilon=1e-6):
        super().__init__()
        self.patches = LinearPatches(patch, channels, width)
        self.class_token = nn.Parameter(torch.zeros(1, width))
        self.positions = Positions(grid, width)
        self.blocks = nn.ModuleList(Block(width, heads, mlp, post, epsilon) for _ in range(depth))
        self.norm = nn.Identity() if post else nn.LayerNorm(width, eps=epsilon)
        self.head = nn.Linear(width, classes)

    def forward(self, images, trace=None):
        x = self.patches(images)
        rows, columns = x.shape[2:]
        x = with_class_token(self.class_token, x.flatten(2).transpose(1, 2)) + self.positions(rows, columns)
        for i, block in enumerate(self.blocks):
            x, weights = block(x)
            if trace is not None:
                trace.tokens[i], trace.attention["tokens", i] = x, weights
        x = self.norm(x)
        if trace is not None:
            trace.tokens["final"] = x
        return self.head(x[:, 0])
