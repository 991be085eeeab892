# SPDX-License-Identifier: Apache-2.0
"""X-ViT in plain PyTorch: linear attention with two normalised products instead of a softmax (section 3).

Attention, stem and local layer can also come from other papers.
"""
import torch
from torch import nn
from torch.nn import functional as F

from parts import FeedForward, LinearPatches, join_heads, on_grid, softmax_attention, split_heads, with_class_token
from xcit import LocalPatchInteraction, Positions, Stem


def unit(x, axis):
    """Returns x / ||x||, with the norm taken along an axis."""
    return x / (x.square().sum(axis, keepdim=True).sqrt() + 1e-6)


class Affine(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return self.weight * x + self.bias


class XAttention(nn.Module):
    """Attention with the queries of all tokens, or with the query of the first token only. `e` is the width of q, k and v over
    all heads."""

    def __init__(self, width, e, heads, last_axis, class_query=False):
        super().__init__()
        self.heads, self.last_axis, self.class_query = heads, last_axis, class_query
        self.qkv = nn.Linear(width, 3 * e)
        self.proj = nn.Linear(e, width)
        self.query_scale = nn.Parameter(torch.ones(heads))
        self.context_scale = nn.Parameter(torch.ones(heads))

    def forward(self, x):
        """Returns (output, signed token-to-token map of section 3.4 [B, h, queries, n])."""
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        if self.class_query:
            q = q[:, :, :1]
        gq, gs = self.query_scale[:, None, None], self.context_scale[:, None, None]
        q = gq * unit(q, -1)
        context = k.transpose(-2, -1) @ v  # rows are features of k, columns of v
        out = q @ (gs * unit(context, -1 if self.last_axis else -2))
        if self.last_axis:
            map_ = gs * (q / context.square().sum(-1).sqrt()[:, :, None]) @ k.transpose(-2, -1)
        else:
            map_ = q @ k.transpose(-2, -1)
        return self.proj(join_heads(out)), map_


class Softmax(nn.Module):
    def __init__(self, width, e, heads, class_query=False):
        super().__init__()
        self.heads, self.class_query = heads, class_query
        self.qkv = nn.Linear(width, 3 * e)
        self.proj = nn.Linear(e, width)

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        y, weights = softmax_attention(q[:, :, :1] if self.class_query else q, k, v, q.shape[-1] ** -0.5)
        return self.proj(y), weights


class CrossCovariance(Softmax):
    """XCiT's attention, in which the channels of a head attend to each other."""

    def __init__(self, width, e, heads):
        super().__init__(width, e, heads)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads).transpose(-2, -1) for part in self.qkv(x).chunk(3, -1))
        weights = (self.temperature * F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)).softmax(-1)
        return self.proj(join_heads((weights @ v).transpose(-2, -1))), weights


class Unnormalised(XAttention):
    """The linear attention without its norms."""

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        map_ = (self.query_scale * self.context_scale)[:, None, None] * q @ k.transpose(-2, -1)
        map_ = map_[:, :, :1] if self.class_query else map_
        return self.proj(join_heads(map_ @ v)), map_


def attention(mixer, width, e, heads, last_axis, class_query=False):
    if mixer == "XCA" and not class_query:
        return CrossCovariance(width, e, heads)
    if mixer in ("SOFTMAX", "XCA"):
        return Softmax(width, e, heads, class_query)
    return {"XNORM": XAttention, "NONE": Unnormalised}[mixer](width, e, heads, last_axis, class_query)


class Depthwise(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.convolution = nn.Conv2d(width, width, 3, padding=1, groups=width)

    def forward(self, x, rows, columns):
        return on_grid(self.convolution, self.norm(x), rows, columns)


class Block(nn.Module):
    def __init__(self, mixer, local, width, e, heads, mlp, last_axis, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = attention(mixer, width, e, heads, last_axis)
        self.local = local(width, epsilon)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.attention_affine, self.local_affine, self.feed_forward_affine = (Affine(width) for _ in range(3))

    def forward(self, x, rows, columns):
        y, map_ = self.attention(self.norm(x))
        x = x + self.attention_affine(y)
        x = x + self.local_affine(self.local(x, rows, columns))
        return x + self.feed_forward_affine(self.feed_forward(x)), map_


class ClassBlock(nn.Module):
    """A block that changes the class token only."""

    def __init__(self, mixer, width, e, heads, mlp, last_axis, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = attention(mixer, width, e, heads, last_axis, class_query=True)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.attention_affine, self.feed_forward_affine = (Affine(width) for _ in range(2))

    def forward(self, x):
        y, map_ = self.attention(self.norm(x))
        c = x[:, :1] + self.attention_affine(y)
        c = c + self.feed_forward_affine(self.feed_forward(c))
        return torch.cat([c, x[:, 1:]], 1), map_


class XVit(nn.Module):
    def __init__(self, patch, width, depth, class_depth, heads, e, mlp, classes, channels, last_axis=False, epsilon=1e-6,
                 mixer="XNORM", patches=False, depthwise=False):
        super().__init__()
        self.patches = LinearPatches(patch, channels, width) if patches else None
        self.stem = None if patches else Stem(patch, channels, width)
        self.maps = "channels" if mixer == "XCA" else "tokens"
        self.positions = Positions(width)
        local = Depthwise if depthwise else LocalPatchInteraction
        self.blocks = nn.ModuleList(
            Block(mixer, local, width, e, heads, mlp, last_axis, epsilon) for _ in range(depth)
        )
        self.class_token = nn.Parameter(torch.zeros(1, width))
        self.class_blocks = nn.ModuleList(
            ClassBlock(mixer, width, e, heads, mlp, last_axis, epsilon) for _ in range(class_depth)
        )
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.head = nn.Linear(width, classes)

    def forward(self, images, trace=None):
        x = (self.stem or self.patches)(images)
        rows, columns = x.shape[2:]
        x = (x + self.positions(x)).flatten(2).transpose(1, 2)
        for i, block in enumerate(self.blocks):
            x, map_ = block(x, rows, columns)
            if trace is not None:
                trace.tokens[i], trace.attention[self.maps, i] = x, map_
        x = with_class_token(self.class_token, x)
        for i, block in enumerate(self.class_blocks):
            x, map_ = block(x)
            if trace is not None:
                trace.tokens[len(self.blocks) + i], trace.attention["class", i] = x, map_
        x = self.norm(x)
        if trace is not None:
            trace.tokens["final"] = x
        return self.head(x[:, 0])
