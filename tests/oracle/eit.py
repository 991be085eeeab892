"""EIT in plain PyTorch, one picture size at a time, written from the paper's arithmetic alone (docs/models.md).

Tensor names are those of a published weights.safetensors.
"""
import torch
from torch import nn
from torch.nn import functional as F


def attention_channels(width, heads, depth):
    """a_i = floor((C // h) * i / L) * h, a_L = C."""
    return [(width // heads) * i // depth * heads if i < depth else width for i in range(1, depth + 1)]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, width, heads, mlp, attended):
        super().__init__()
        self.convolved = width - attended
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attention = Attention(attended, heads)
        self.conv = nn.Conv2d(self.convolved, self.convolved, 3, padding=1, bias=False) if self.convolved else None
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.fc1 = nn.Linear(width, mlp)
        self.fc2 = nn.Linear(mlp, width)

    def forward(self, x, rows, columns):
        u = self.norm1(x)
        parts = []
        if self.conv is not None:
            left = u[..., : self.convolved]
            grid = left[:, 1:].transpose(1, 2).reshape(len(x), self.convolved, rows, columns)
            # The class token bypasses the convolution.
            parts.append(torch.cat([left[:, :1], self.conv(grid).flatten(2).transpose(1, 2)], 1))
        parts.append(self.attention(u[..., self.convolved :]))
        x = x + torch.cat(parts, -1)
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Eit(nn.Module):
    def __init__(self, width=250, depth=5, heads=10, mlp=1000, pool=4, grid=(8, 8), classes=10, channels=3):
        super().__init__()
        self.pool, self.grid = pool, grid
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, 1 + grid[0] * grid[1], width))
        self.blocks = nn.ModuleList(Block(width, heads, mlp, a) for a in attention_channels(width, heads, depth))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def positions(self, rows, columns):
        if (rows, columns) == self.grid:
            return self.position
        table = self.position[:, 1:].reshape(1, *self.grid, -1).permute(0, 3, 1, 2)
        table = F.interpolate(table, size=(rows, columns), mode="bicubic", antialias=True, align_corners=False)
        return torch.cat([self.position[:, :1], table.flatten(2).transpose(1, 2)], 1)

    def forward(self, images):
        x = F.max_pool2d(self.stem(images), self.pool)
        rows, columns = x.shape[2:]
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x.flatten(2).transpose(1, 2)], 1)
        x = x + self.positions(rows, columns)
        for block in self.blocks:
            x = block(x, rows, columns)
        return self.head(self.norm(x)[:, 0])
