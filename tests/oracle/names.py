"""From the tensor names of a published weights.safetensors to those of the oracles."""
import re

COMMON = [
    (r"blocks\.(\d+)\.norm\.(\w+)", r"blocks.\1.norm1.\2"),
    (r"blocks\.(\d+)\.feed_forward\.norm\.(\w+)", r"blocks.\1.norm2.\2"),
    (r"blocks\.(\d+)\.feed_forward\.(fc\d)\.(\w+)", r"blocks.\1.\2.\3"),
    (r"positions\.table", "position"),
]
EIT = COMMON + [
    (r"patches\.(weight|bias)", r"stem.\1"),
    (r"blocks\.(\d+)\.convolution\.(\w+)", r"blocks.\1.conv.\2"),
]
KV = COMMON + [
    (r"patches\.proj\.(\w+)", r"embed.\1"),
    (r"blocks\.(\d+)\.attention\.projection\.(\w+)", r"blocks.\1.attention.project.\2"),
    (r"blocks\.(\d+)\.attention\.output\.(\w+)", r"blocks.\1.attention.out.\2"),
    (r"head_in\.(\w+)", r"head1.\1"),
    (r"head_out\.(\w+)", r"head2.\1"),
]


def rename(family, stored, wanted):
    """Tensors of `stored` under the oracle's names and shapes; convolutions are stored [out, kh, kw, in]."""
    rules = {"eit": EIT, "kv": KV}[family]
    renamed = {}
    for name, tensor in stored.items():
        for pattern, target in rules:
            new = re.sub(f"^{pattern}$", target, name)
            if new != name:
                name = new
                break
        if name not in wanted:
            raise KeyError(f"no tensor {name} in the oracle")
        if tensor.dim() == 4:
            tensor = tensor.permute(0, 3, 1, 2)
        renamed[name] = tensor.reshape(wanted[name].shape)
    return renamed
