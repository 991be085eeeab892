# SPDX-License-Identifier: Apache-2.0
"""hub_models.py VITRINE_REPO [PART]...: tries models of the Hugging Face hub and prints rows of docs/reference/hub-models.md. Each model
gets random weights in its published architecture, is saved by its own library, and is imported in the same way as by `vitrine-server
--model`. The library then preprocesses the version's golden images, and the model's outputs for these images must equal Vitrine's outputs.
Times and errors go to stderr. With PART, tries only models whose name contains one of the given texts.
"""
import io
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import PIL.Image
import safetensors.torch
import timm
import torch
import transformers
from timm.models._hub import save_config_for_hf

from hub_names import NEEDS, SERVED, TRANSFORMERS

LIMIT = 400e6  # parameters; for larger models, only the configuration is tried
TOLERANCE = 1e-4  # maximum difference of outputs, relative to max(1, largest |output|)
NO_WEIGHTS = "is empty; download"  # in the message about missing weights of a model whose configuration is accepted


def moves(model, name, value):
    """Returns True if move() may change the tensor. Returns False for integers, and for a bias that timm adds to a projection."""
    return value.is_floating_point() and not (name == "head.bias" and not model.head.bias.requires_grad)


def move(model):
    """Adds random numbers of both signs to every weight. Otherwise small weights, such as a LayerScale, could hide a fault."""
    state = {name: value + 0.05 * (torch.rand_like(value) - 0.5) if moves(model, name, value) else value
             for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    return model.eval()


class Timm:
    def __init__(self, name):
        self.name = name

    def projects(self):
        """Returns True for CLIP's towers, whose head is a projection without bias."""
        return "_clip_" in self.name and "_ft_" not in self.name

    def make(self):
        model = timm.create_model(self.name)
        if self.projects():
            model.head.register_parameter("bias", torch.nn.Parameter(torch.zeros_like(model.head.bias), requires_grad=False))
        return model

    def classes(self, model):
        return 0 if self.projects() else model.num_classes

    def save(self, model, folder, weights):
        save_config_for_hf(model, folder / "config.json")
        if weights:
            safetensors.torch.save_file(model.state_dict(), folder / "model.safetensors")

    def output(self, model, image):
        return model(timm.data.create_transform(**timm.data.resolve_model_data_config(model))(image)[None])[0]


class Transformers:
    def __init__(self, name):
        self.kind, self.options, self.processor = TRANSFORMERS[name]

    def make(self):
        kind = getattr(transformers, self.kind)
        return kind(kind.config_class(**self.options))

    def classes(self, model):
        return model.config.num_labels if "Classification" in self.kind else 0

    def save(self, model, folder, weights):
        model.config.architectures = [self.kind]
        (model if weights else model.config).save_pretrained(folder)
        self.processor.save_pretrained(folder)

    def output(self, model, image):
        pixels = self.processor(image, return_tensors="pt")
        if self.kind == "CLIPModel":
            vectors = model.get_image_features(**pixels)
            return getattr(vectors, "pooler_output", vectors)[0]
        output = model(**pixels)
        return (output.logits if "logits" in output else output.last_hidden_state[:, 0])[0]


def refusal(repo, folder, classes):
    """Imports the model in folder/hub; the repository is then folder/repository. Returns "", or the last line of the error if the import
    fails."""
    command = [repo, "cache", folder / "cache", f"model={folder}/hub"]
    if classes not in (0, 1000):  # ImageNet's labels do not fit
        (folder / "labels.txt").write_text("".join(f"thing {i}\n" for i in range(classes)))
        command = [repo, "import", folder / "cache", "model", folder / "hub", "--labels", folder / "labels.txt"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    (folder / "repository").symlink_to(done.stdout.strip() if command[1] == "cache" else folder / "cache")
    return ""


def difference(case, model, repository):
    golden, worst = safetensors.torch.load_file(repository / "model/1/golden.safetensors"), 0.0
    for name in (name for name in golden if name.startswith("picture.")):
        with torch.inference_mode():
            theirs = case.output(model, PIL.Image.open(io.BytesIO(golden[name].numpy().tobytes())).convert("RGB"))
        ours = golden["logits." + name.removeprefix("picture.")]
        if ours.shape != theirs.shape:
            return math.inf
        worst = max(worst, float((theirs - ours).abs().max() / theirs.abs().max().clamp(min=1)))
    return worst


def verdict(case, repo, folder):
    """Returns (number of parameters, verdict, message). The verdict is "" if the import fails; the message then has the
    reason."""
    with torch.device("meta"):
        model = case.make()
    size, classes = sum(weight.numel() for weight in model.parameters()), case.classes(model)
    (folder / "hub").mkdir()
    case.save(model, folder / "hub", weights=False)
    (folder / "hub/model.safetensors").touch()
    why = refusal(repo, folder, classes)
    if NO_WEIGHTS not in why:
        return size, "", why
    if size > LIMIT:
        return size, "not measured: too large", ""
    torch.manual_seed(0)
    model = move(case.make())
    case.save(model, folder / "hub", weights=True)
    why = refusal(repo, folder, classes)
    if why:
        return size, "", why
    worst = difference(case, model, folder / "repository")
    if worst <= TOLERANCE:
        return size, f"**served**, {worst:.1e}", ""
    return size, "DIFFERS: another number of outputs" if worst == math.inf else f"DIFFERS: {worst:.1e}", ""


def main():
    repo, parts = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    torch.set_num_threads(1)
    for need, names in {"refused": SERVED, **NEEDS}.items():
        for name in names.split():
            if parts and not any(part in name for part in parts):
                continue
            start = time.monotonic()
            with tempfile.TemporaryDirectory() as scratch:
                size, found, why = verdict((Transformers if "/" in name else Timm)(name), repo, pathlib.Path(scratch))
            state = found if found.startswith("**") else "; ".join(filter(None, (found, need)))
            print(f"| {name} | {size / 1e6:.1f} | {state} |", flush=True)
            print(f"{name}: {time.monotonic() - start:.0f} s: {found or why}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
