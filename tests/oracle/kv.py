"""The KV transformer's vision classifier in plain PyTorch, in its naive form, written from the paper's code (docs/models.md)."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def positional_tensor(n, m):
    """P [n, n, m]: E(i) then E(j), each of length q = 2 * ceil(m / 4), interleaved sines and cosines, cut to m."""
    q = 2 * math.ceil(m / 4)
    frequency = 10000.0 ** (-torch.arange(0, q, 2, dtype=torch.float64) / q)
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequency
    e = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
    rows, columns = e[:, None].expand(n, n, q), e[None].expand(n, n, q)
    return torch.cat([rows, columns], -1)[..., :m].float()


class KvAttention(nn.Module):
    """kind: qkv, kv or kv_pos. Scale d^-1/2 with the full width, as the vision scripts."""

    def __init__(self, width, heads, kind, m):
        super().__init__()
        self.heads, self.kind = heads, kind
        parts = 3 if kind == "qkv" else 2
        self.project = nn.Linear(width, parts * width, bias=False)
        self.map_pos = nn.Linear(m, 1) if kind == "kv_pos" else None
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, n, d = x.shape
        parts = self.project(x).reshape(b, n, -1, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        k, v = parts[-2], parts[-1]
        q = parts[0] if self.kind == "qkv" else k
        scores = q @ k.transpose(-2, -1) * d**-0.5
        if self.map_pos is not None:
            tensor = positional_tensor(n, self.map_pos.in_features).to(x)
            scores = self.map_pos(scores[..., None] + tensor).squeeze(-1)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, width, heads, mlp, kind, m):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-5)
        self.attention = KvAttention(width, heads, kind, m)
        self.norm2 = nn.LayerNorm(width, eps=1e-5)
        self.fc1 = nn.Linear(width, mlp)
        self.fc2 = nn.Linear(mlp, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Kv(nn.Module):
    def __init__(self, patch, width, depth, heads, mlp, kind, m, tokens, classes, channels):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(channels * patch * patch, width)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, 1 + tokens, width))
        self.blocks = nn.ModuleList(Block(width, heads, mlp, kind, m) for _ in range(depth))
        self.head1 = nn.Linear(width, mlp)
        self.head2 = nn.Linear(mlp, classes)

    def forward(self, images):
        b, c, height, width = images.shape
        p = self.patch
        # (row, column, channel) within a patch.
        x = images.reshape(b, c, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1).reshape(b, -1, p * p * c)
        x = self.embed(x)
        x = torch.cat([self.class_token.expand(b, -1, -1), x], 1) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head2(F.gelu(self.head1(x[:, 0])))
