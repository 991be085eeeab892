# SPDX-License-Identifier: Apache-2.0
"""The published (naive) form of XCiT in plain PyTorch, with the linear, SNE, P-SNE and F-SNE embeddings of q, k and v."""
import torch
from torch import nn
from torch.nn import functional as F

from parts import FeedForward, fourier_positions, join_heads, on_grid, softmax_attention, split_heads, with_class_token


class Stem(nn.Module):
    """3x3 convolutions of stride 2 without bias, each with BatchNorm, and GELU between them. There are four for patches
    of 16 pixels and three for patches of 8."""

    def __init__(self, patch, channels, width):
        super().__init__()
        steps = {16: 4, 8: 3}[patch]
        widths = [channels] + [width >> (steps - 1 - i) for i in range(steps)]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(a, b, 3, 2, 1, bias=False) for a, b in zip(widths, widths[1:])
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for b in widths[1:])

    def forward(self, x):
        for i, (convolution, norm) in enumerate(zip(self.convolutions, self.norms)):
            x = norm(convolution(F.gelu(x) if i else x))
        return x


class LocalPatchInteraction(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1, groups=width) for _ in range(2))
        self.batch_norm = nn.BatchNorm2d(width)

    def forward(self, x, rows, columns):
        first, second = self.convolutions
        return on_grid(lambda y: second(self.batch_norm(F.gelu(first(y)))), self.norm(x), rows, columns)


class SmallNetwork(nn.ModuleList):
    """Linear layers with ReLU between them, and no ReLU after the last."""

    def __init__(self, *widths):
        super().__init__(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for i, layer in enumerate(self):
            x = layer(x.relu() if i else x)
        return x


class LinearEmbedding(nn.Linear):
    def __init__(self, width):
        super().__init__(width, 3 * width)

    def forward(self, x, codes):
        return super().forward(x).chunk(3, -1)


class Sne(nn.Module):
    def __init__(self, width, hidden, layers):
        super().__init__()
        self.q, self.k, self.v = (SmallNetwork(width, *[hidden] * (layers - 1), width) for _ in range(3))

    def forward(self, x, codes):
        return self.q(x), self.k(x), self.v(x)


class PSne(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, hidden) for _ in range(3))
        self.shared = nn.Linear(hidden, width)

    def forward(self, x, codes):
        return [self.shared(first(x).relu()) for first in (self.q, self.k, self.v)]


class FSne(nn.Module):
    """F-SNE's embedding: one network for [x, code]. Each of q, k and v has a code, the same for every token. A block without its own codes
    uses the model's codes."""

    def __init__(self, width, hidden, code, own_codes):
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(3, code)) if own_codes else None
        self.first = nn.Linear(width + code, hidden)
        self.second = nn.Linear(hidden, width)

    def forward(self, x, codes):
        codes = codes if self.codes is None else self.codes
        return [self.second(self.first(torch.cat([x, code.expand(*x.shape[:2], -1)], -1)).relu()) for code in codes]


class CrossCovarianceAttention(nn.Module):
    def __init__(self, width, heads, qkv):
        super().__init__()
        self.heads = heads
        self.qkv = qkv
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.proj = nn.Linear(width, width)

    def forward(self, x, codes):
        q, k, v = (split_heads(part, self.heads).transpose(-2, -1) for part in self.qkv(x, codes))  # [B, h, d_h, N]
        q, k = F.normalize(q, dim=-1, eps=1e-12), F.normalize(k, dim=-1, eps=1e-12)
        weights = (self.temperature * q @ k.transpose(-2, -1)).softmax(-1)
        return self.proj(join_heads((weights @ v).transpose(-2, -1))), weights


class CrossCovarianceBlock(nn.Module):
    def __init__(self, width, heads, mlp, qkv, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = CrossCovarianceAttention(width, heads, qkv)
        self.local = LocalPatchInteraction(width, epsilon)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.attention_scale, self.local_scale, self.feed_forward_scale = (
            nn.Parameter(torch.ones(width)) for _ in range(3)
        )

    def forward(self, x, codes, rows, columns):
        y, weights = self.attention(self.norm(x), codes)
        x = x + self.attention_scale * y
        x = x + self.local_scale * self.local(x, rows, columns)
        return x + self.feed_forward_scale * self.feed_forward(x), weights


class ClassAttention(nn.Module):
    """Attention with the class token as the only query, and keys and values of all tokens."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.proj = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in (self.q(x[:, :1]), self.k(x), self.v(x)))
        y, weights = softmax_attention(q, k, v, q.shape[-1] ** -0.5)
        return self.proj(y), weights


class ClassBlock(nn.Module):
    """A class-attention block (the table of section 1.3). It changes the patch tokens too."""

    def __init__(self, width, heads, mlp, tokens_norm, epsilon):
        super().__init__()
        self.tokens_norm = tokens_norm
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = ClassAttention(width, heads)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.attention_scale, self.feed_forward_scale = (nn.Parameter(torch.ones(width)) for _ in range(2))

    def forward(self, x):
        u = self.norm(x)
        y, weights = self.attention(u)
        x = x + self.attention_scale * torch.cat([y, u[:, 1:]], 1)
        c, p = x[:, :1], x[:, 1:]
        c = self.feed_forward.norm(c)
        if self.tokens_norm:
            p = self.feed_forward.norm(p)
        return torch.cat([c + self.feed_forward_scale * self.feed_forward.inner(c), p + p], 1), weights


class Positions(nn.Module):
    """Positions of section 1.4: fixed sines and cosines, then a 1x1 convolution."""

    def __init__(self, width):
        super().__init__()
        self.projection = nn.Conv2d(64, width, 1)

    def forward(self, x):
        return self.projection(fourier_positions(*x.shape[2:]).to(x)[None])


class Xcit(nn.Module):
    """qkv() returns a new embedding of q, k and v for a block. `code` is the length of the model's codes, or 0 if it has none."""

    def __init__(self, patch, width, depth, class_depth, heads, mlp, tokens_norm, classes, channels, qkv=None, code=0,
                 epsilon=1e-6):
        super().__init__()
        self.stem = Stem(patch, channels, width)
        self.positions = Positions(width)
        self.codes = nn.Parameter(torch.zeros(3, code)) if code else None
        self.blocks = nn.ModuleList(
            CrossCovarianceBlock(width, heads, mlp, qkv() if qkv else LinearEmbedding(width), epsilon) for _ in range(depth)
        )
        self.class_token = nn.Parameter(torch.zeros(1, width))
        self.class_blocks = nn.ModuleList(
            ClassBlock(width, heads, mlp, tokens_norm, epsilon) for _ in range(class_depth)
        )
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.head = nn.Linear(width, classes)

    def forward(self, images, trace=None):
        x = self.stem(images)
        rows, columns = x.shape[2:]
        x = (x + self.positions(x)).flatten(2).transpose(1, 2)
        for i, block in enumerate(self.blocks):
            x, weights = block(x, self.codes, rows, columns)
            if trace is not None:
                trace.tokens[i], trace.attention["channels", i] = x, weights
        x = with_class_token(self.class_token, x)
        for i, block in enumerate(self.class_blocks):
            x, weights = block(x)
            if trace is not None:
                trace.tokens[len(self.blocks) + i], trace.attention["class", i] = x, weights
        x = self.norm(x)
        if trace is not None:
            trace.tokens["final"] = x
        return self.head(x[:, 0])
