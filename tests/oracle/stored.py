"""A published version as a PyTorch module: the oracle of its family with the stored weights."""
import re

from safetensors.torch import load_file

import eit
import kv
from names import rename


def family_block(manifest, family):
    """The text inside `family { ... }`, or None."""
    found = re.search(rf"^  {family} {{\n(.*?)^  }}", manifest, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else None


def number(text, name):
    found = re.search(rf"\b{name}: (\d+)", text)
    return int(found.group(1)) if found else 0


def word(text, name):
    found = re.search(rf"\b{name}: (\w+)", text)
    return found.group(1) if found else ""


def build(manifest):
    """(family, module with fresh weights) of a manifest's text."""
    classes, channels = number(manifest, "classes"), number(manifest, "channels")
    block = family_block(manifest, "eit")
    if block is not None:
        if "false" in (word(block, "conv_projection"), word(block, "conv_channels")):
            raise NotImplementedError("the oracle knows EIT with both of its parts only")
        sizes = [number(block, name) for name in ("width", "depth", "heads", "mlp_width", "pool")]
        return "eit", eit.Eit(*sizes, (number(block, "grid_rows"), number(block, "grid_columns")), classes, channels)
    block = family_block(manifest, "kv")
    if block is not None:
        if word(block, "score_scale") == "HEAD_WIDTH":
            raise NotImplementedError("the oracle scales scores by the full width only")
        sizes = [number(block, name) for name in ("patch", "width", "depth", "heads", "mlp_width")]
        tokens = number(block, "grid_rows") * number(block, "grid_columns")
        return "kv", kv.Kv(*sizes, word(block, "attention").lower(), number(block, "position_channels"), tokens, classes,
                           channels)
    raise NotImplementedError("the oracle knows the families eit and kv")


def load(version):
    """The module of a version's folder, with its weights, in evaluation mode."""
    family, model = build((version / "manifest.textproto").read_text())
    stored = {name: tensor.float() for name, tensor in load_file(version / "weights.safetensors").items()}
    model.load_state_dict(rename(family, stored, model.state_dict()))
    return model.eval()
