"""XCiT with the linear, SNE, P-SNE and F-SNE embeddings of q, k and v in plain PyTorch, in the published (naive) form."""
import torch
from torch import nn
from torch.nn import functional as F

from parts import FeedForward, fourier_positions, join_heads, on_grid, softmax_attention, split_heads, with_class_token


class Stem(nn.Module):
    """Convolutions 3x3 of stride 2 without bias, each with BatchNorm, GELU between: four for a patch of 16, three for 8."""

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
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.bn = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, groups=width)

    def forward(self, x, rows, columns):
        return on_grid(lambda y: self.conv2(self.bn(F.gelu(self.conv1(y)))), self.norm(x), rows, columns)


class SmallNetwork(nn.Module):
    """Linear layers with ReLU between, none after the last."""

    def __init__(self, *widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x.relu() if i else x)
        return x


class LinearEmbedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, codes):
        return self.qkv(x).chunk(3, -1)


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
        self.out = nn.Linear(hidden, width)

    def forward(self, x, codes):
        return [self.out(first(x).relu()) for first in (self.q, self.k, self.v)]


class FSne(nn.Module):
    """One network for [x, code]; the code is the same for every token."""

    def __init__(self, width, hidden, code):
        super().__init__()
        self.network = SmallNetwork(width + code, hidden, width)

    def forward(self, x, codes):
        return [self.network(torch.cat([x, code.expand(*x.shape[:2], -1)], -1)) for code in codes]


class CrossCovarianceAttention(nn.Module):
    def __init__(self, width, heads, embedding):
        super().__init__()
        self.heads = heads
        self.embedding = embedding
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.proj = nn.Linear(width, width)

    def forward(self, x, codes):
        q, k, v = (split_heads(part, self.heads).transpose(-2, -1) for part in self.embedding(x, codes))  # [B, h, d_h, N]
        q, k = F.normalize(q, dim=-1, eps=1e-12), F.normalize(k, dim=-1, eps=1e-12)
        weights = (self.temperature * q @ k.transpose(-2, -1)).softmax(-1)
        return self.proj(join_heads((weights @ v).transpose(-2, -1))), weights


class CrossCovarianceBlock(nn.Module):
    def __init__(self, width, heads, mlp, embedding, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = CrossCovarianceAttention(width, heads, embedding)
        self.local = LocalPatchInteraction(width, epsilon)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.gamma1, self.gamma2, self.gamma3 = (nn.Parameter(torch.ones(width)) for _ in range(3))

    def forward(self, x, codes, rows, columns):
        y, weights = self.attention(self.norm(x), codes)
        x = x + self.gamma1 * y
        x = x + self.gamma3 * self.local(x, rows, columns)
        return x + self.gamma2 * self.feed_forward(x), weights


class ClassAttention(nn.Module):
    """One query, the class token's; keys and values of all tokens."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        y, weights = softmax_attention(q[:, :, :1], k, v, q.shape[-1] ** -0.5)
        return self.proj(y), weights


class ClassBlock(nn.Module):
    """The table of section 1.3: patch tokens change too."""

    def __init__(self, width, heads, mlp, tokens_norm, epsilon):
        super().__init__()
        self.tokens_norm = tokens_norm
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = ClassAttention(width, heads)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.gamma1, self.gamma2 = (nn.Parameter(torch.ones(width)) for _ in range(2))

    def forward(self, x):
        u = self.norm(x)
        y, weights = self.attention(u)
        x = x + self.gamma1 * torch.cat([y, u[:, 1:]], 1)
        c, p = x[:, :1], x[:, 1:]
        c = self.feed_forward.norm(c)
        if self.tokens_norm:
            p = self.feed_forward.norm(p)
        return torch.cat([c + self.gamma2 * self.feed_forward.inner(c), p + p], 1), weights


class Xcit(nn.Module):
    """embedding(): a fresh embedding of q, k and v for a block. code > 0: codes [3, code], one set or one per block."""

    def __init__(self, patch, width, depth, class_depth, heads, mlp, tokens_norm, classes, channels, embedding=None, code=0,
                 codes_per_block=False, epsilon=1e-6):
        super().__init__()
        self.stem = Stem(patch, channels, width)
        self.positions = nn.Conv2d(64, width, 1)
        self.blocks = nn.ModuleList(
            CrossCovarianceBlock(width, heads, mlp, embedding() if embedding else LinearEmbedding(width), epsilon)
            for _ in range(depth)
        )
        sets = depth if codes_per_block else 1
        self.codes = nn.ParameterList(torch.zeros(3, code) for _ in range(sets)) if code else None
        self.class_token = nn.Parameter(torch.zeros(1, width))
        self.class_blocks = nn.ModuleList(
            ClassBlock(width, heads, mlp, tokens_norm, epsilon) for _ in range(class_depth)
        )
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.head = nn.Linear(width, classes)

    def forward(self, images, trace=None):
        x = self.stem(images)
        rows, columns = x.shape[2:]
        x = x + self.positions(fourier_positions(rows, columns).to(x)[None])
        x = x.flatten(2).transpose(1, 2)
        for i, block in enumerate(self.blocks):
            codes = self.codes[i % len(self.codes)] if self.codes else None
            x, weights = block(x, codes, rows, columns)
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
