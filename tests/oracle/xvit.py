"""X-ViT in plain PyTorch: linear attention whose two products are normalised in place of a softmax (section 3)."""
import torch
from torch import nn

from parts import FeedForward, fourier_positions, join_heads, split_heads, with_class_token
from xcit import LocalPatchInteraction, Stem


def unit(x, axis):
    """x / ||x|| along an axis."""
    return x / (x.square().sum(axis, keepdim=True).sqrt() + 1e-6)


class Affine(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return self.scale * x + self.shift


class XAttention(nn.Module):
    """Of all tokens, or of the first token's query alone. e: width of q, k and v over all heads."""

    def __init__(self, width, e, heads, last_axis, class_query=False):
        super().__init__()
        self.heads, self.last_axis, self.class_query = heads, last_axis, class_query
        self.qkv = nn.Linear(width, 3 * e)
        self.proj = nn.Linear(e, width)
        self.gamma_q = nn.Parameter(torch.ones(heads))
        self.gamma_s = nn.Parameter(torch.ones(heads))

    def forward(self, x):
        """(output, signed token-to-token map of section 3.4 [B, h, queries, n])"""
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        if self.class_query:
            q = q[:, :, :1]
        gq, gs = self.gamma_q[:, None, None], self.gamma_s[:, None, None]
        q = gq * unit(q, -1)
        context = k.transpose(-2, -1) @ v  # rows are features of k, columns of v
        out = q @ (gs * unit(context, -1 if self.last_axis else -2))
        if self.last_axis:
            map_ = gs * (q / context.square().sum(-1).sqrt()[:, :, None]) @ k.transpose(-2, -1)
        else:
            map_ = q @ k.transpose(-2, -1)
        return self.proj(join_heads(out)), map_


class Block(nn.Module):
    def __init__(self, width, e, heads, mlp, last_axis, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = XAttention(width, e, heads, last_axis)
        self.local = LocalPatchInteraction(width, epsilon)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.affine1, self.affine2, self.affine3 = (Affine(width) for _ in range(3))

    def forward(self, x, rows, columns):
        y, map_ = self.attention(self.norm(x))
        x = x + self.affine1(y)
        x = x + self.affine3(self.local(x, rows, columns))
        return x + self.affine2(self.feed_forward(x)), map_


class ClassBlock(nn.Module):
    """Only the class token changes."""

    def __init__(self, width, e, heads, mlp, last_axis, epsilon):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.attention = XAttention(width, e, heads, last_axis, class_query=True)
        self.feed_forward = FeedForward(width, mlp, epsilon)
        self.affine1, self.affine2 = (Affine(width) for _ in range(2))

    def forward(self, x):
        y, map_ = self.attention(self.norm(x))
        c = x[:, :1] + self.affine1(y)
        c = c + self.affine2(self.feed_forward(c))
        return torch.cat([c, x[:, 1:]], 1), map_


class XVit(nn.Module):
    def __init__(self, patch, width, depth, class_depth, heads, e, mlp, classes, channels, last_axis=False, epsilon=1e-6):
        super().__init__()
        self.stem = Stem(patch, channels, width)
        self.positions = nn.Conv2d(64, width, 1)
        self.blocks = nn.ModuleList(Block(width, e, heads, mlp, last_axis, epsilon) for _ in range(depth))
        self.class_token = nn.Parameter(torch.zeros(1, width))
        self.class_blocks = nn.ModuleList(
            ClassBlock(width, e, heads, mlp, last_axis, epsilon) for _ in range(class_depth)
        )
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.head = nn.Linear(width, classes)

    def forward(self, images, trace=None):
        x = self.stem(images)
        rows, columns = x.shape[2:]
        x = x + self.positions(fourier_positions(rows, columns).to(x)[None])
        x = x.flatten(2).transpose(1, 2)
        for i, block in enumerate(self.blocks):
            x, map_ = block(x, rows, columns)
            if trace is not None:
                trace.tokens[i], trace.attention["tokens", i] = x, map_
        x = with_class_token(self.class_token, x)
        for i, block in enumerate(self.class_blocks):
            x, map_ = block(x)
            if trace is not None:
                trace.tokens[len(self.blocks) + i], trace.attention["class", i] = x, map_
        x = self.norm(x)
        if trace is not None:
            trace.tokens["final"] = x
        return self.head(x[:, 0])
