# SPDX-License-Identifier: Apache-2.0
"""EIT, its ablations and the models to which the paper compares EIT, in plain PyTorch (sections 2.2 to 2.6 of the
specification).

The class token is treated as in EIT^T unless the specification says otherwise. Convolutions and the operators between
them process patch tokens only. A convolution branch returns the class token (LayerNorm values) unchanged.
"""
import torch
from torch import nn
from torch.nn import functional as F

from parts import FeedForward, LinearPatches, Positions, SelfAttention, on_grid, softmax_attention, split_heads, with_class_token


def attention_channels(width, heads, depth, schedule="decreasing"):
    """Returns, for every block i, the number a_i of channels that take part in attention. The other width - a_i channels are convolved.
    `schedule` says how the number of convolved channels changes from block to block. With "half" or "all", half of the channels or all
    channels take part in attention in every block."""
    growing = [(width // heads) * i // depth * heads for i in range(1, depth)]
    half = width // heads // 2 * heads
    return {
        "decreasing": growing + [width],
        "increasing": growing[::-1] + [width],
        "invariant": [half] * (depth - 1) + [width],
        "half": [half] * depth,
        "all": [width] * depth,
    }[schedule]


class PoolStem(nn.Module):
    """EIT^P: a 3x3 convolution, then a max pool that ignores incomplete windows."""

    def __init__(self, channels, width, pool):
        super().__init__()
        self.pool = pool
        self.conv = nn.Conv2d(channels, width, 3, padding=1)

    def forward(self, x):
        return F.max_pool2d(self.conv(x), self.pool)


class ConvolutionalStem(nn.Module):
    """ViT_C: two 4x4 convolutions of stride 2 and one 1x1 convolution, with ReLU between them."""

    def __init__(self, channels, width):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 4, 2, 1)
        self.conv2 = nn.Conv2d(width, width, 4, 2, 1)
        self.conv3 = nn.Conv2d(width, width, 1)

    def forward(self, x):
        return self.conv3(self.conv2(self.conv1(x).relu()).relu())


def stem(kind, channels, width, pitch):
    if kind == "pool":
        return PoolStem(channels, width, pitch)
    if kind == "patches":
        return LinearPatches(pitch, channels, width)
    if kind == "overlapping":  # CvT^P
        return nn.Conv2d(channels, width, 4, 2, 1)
    return ConvolutionalStem(channels, width)


class Branch(nn.Module):
    """The part of a block for the c channels that take no part in attention. Values of `kind`:

    conv       3x3 convolution without bias
    conv_conv  three 3x3 convolutions without bias
    gelu_conv  dense layer, GELU, convolution
    bn_relu    convolution, BatchNorm, ReLU
    lsra       GELU, convolution, dense layer
    """

    def __init__(self, width, kind):
        super().__init__()
        self.kind = kind
        self.convs = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(3 if kind == "conv_conv" else 1)
        )
        self.dense = nn.Linear(width, width) if kind in ("gelu_conv", "lsra") else None
        self.bn = nn.BatchNorm2d(width) if kind == "bn_relu" else None

    def patches(self, x, rows, columns):
        if self.kind == "gelu_conv":
            x = F.gelu(self.dense(x))
        if self.kind == "lsra":
            x = F.gelu(x)
        for conv in self.convs:
            x = on_grid(conv, x, rows, columns)
        if self.kind == "bn_relu":
            x = on_grid(lambda y: self.bn(y).relu(), x, rows, columns)
        return self.dense(x) if self.kind == "lsra" else x

    def forward(self, x, rows, columns):
        return torch.cat([x[:, :1], self.patches(x[:, 1:], rows, columns)], 1)


class ConvolutionalAttention(nn.Module):
    """CvT^T: q, k and v have a 3x3 convolution each, without bias. One dense layer over all three follows."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.conv_q, self.conv_k, self.conv_v = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(3))
        self.qkv = nn.Linear(3 * width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x, rows, columns):
        parts = [
            torch.cat([x[:, :1], on_grid(conv, x[:, 1:], rows, columns)], 1)
            for conv in (self.conv_q, self.conv_k, self.conv_v)
        ]
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(torch.cat(parts, -1)).chunk(3, -1))
        y, weights = softmax_attention(q, k, v, q.shape[-1] ** -0.5)
        return self.proj(y), weights


class Block(nn.Module):
    def __init__(self, width, heads, mlp, attended, branch, conv_attention, parallel):
        super().__init__()
        self.convolved = width - attended
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.conv_attention = conv_attention
        self.attention = (ConvolutionalAttention if conv_attention else SelfAttention)(attended, heads)
        self.branch = Branch(self.convolved, branch) if self.convolved else None
        self.parallel = Branch(width, "conv") if parallel else None
        self.feed_forward = FeedForward(width, mlp, 1e-6)

    def forward(self, x, rows, columns):
        u = self.norm(x)
        attended = u[..., self.convolved :]
        y, weights = self.attention(attended, rows, columns) if self.conv_attention else self.attention(attended)
        if self.branch is not None:
            y = torch.cat([self.branch(u[..., : self.convolved], rows, columns), y], -1)
        if self.parallel is not None:
            y = y + self.parallel(u, rows, columns)
        x = x + y
        return x + self.feed_forward(x), weights


class Eit(nn.Module):
    def __init__(self, width, depth, heads, mlp, pitch, grid, classes, channels, projection="pool", schedule="decreasing",
                 branch="conv", conv_attention=False, parallel=False, positions=True):
        super().__init__()
        self.patches = stem(projection, channels, width, pitch)
        self.class_token = nn.Parameter(torch.zeros(1, width))
        self.positions = Positions(grid, width) if positions else None
        self.blocks = nn.ModuleList(
            Block(width, heads, mlp, attended, branch, conv_attention, parallel)
            for attended in attention_channels(width, heads, depth, schedule)
        )
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, images, trace=None):
        x = self.patches(images)
        rows, columns = x.shape[2:]
        x = with_class_token(self.class_token, x.flatten(2).transpose(1, 2))
        if self.positions is not None:
            x = x + self.positions(rows, columns)
        for i, block in enumerate(self.blocks):
            x, weights = block(x, rows, columns)
            if trace is not None:
                trace.tokens[i], trace.attention["tokens", i] = x, weights
        x = self.norm(x)
        if trace is not None:
            trace.tokens["final"] = x
        return self.head(x[:, 0])
