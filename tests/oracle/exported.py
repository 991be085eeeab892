# SPDX-License-Identifier: Apache-2.0
"""exported.py VITRINE_REPO: checks that timm and transformers load exported models.

timm's initial weights of a ViT, a DeiT and an XCiT are imported and exported. The model that timm loads must have the
same weights, bit for bit, and Vitrine's golden logits. The models that transformers loads, ViT and DeiT, must have these
logits too.
"""
import io
import pathlib
import subprocess
import sys
import tempfile

import PIL.Image
import safetensors.torch
import timm
import torch
import transformers

from against_timm import ARCHS, write_weights

TOLERANCE = 1e-5  # maximum difference of logits, relative to max(1, largest |logit|)


def run(repo, *arguments):
    subprocess.run([repo, *arguments], check=True, stdout=subprocess.DEVNULL)


def worst(model, arch, version):
    """Returns the largest relative difference between a model's logits and the golden logits of a version's folder.

    timm preprocesses the golden images.
    """
    golden = safetensors.torch.load_file(version / "golden.safetensors")
    names = sorted(name for name in golden if name.startswith("picture."))
    assert names, f"{version} has no golden images"
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(timm.create_model(arch)))
    found = 0.0
    with torch.inference_mode():
        for name in names:
            expected = golden["logits." + name.removeprefix("picture.")]
            picture = PIL.Image.open(io.BytesIO(golden[name].numpy().tobytes())).convert("RGB")
            off = (model(transform(picture)[None])[0] - expected).abs().max() / expected.abs().max().clamp(min=1)
            found = max(found, float(off))
    return found


def plain(config):
    """Returns a configuration with tuples, as timm uses them, in place of the lists of JSON."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in config.items()}


def told(what, ok):
    print(f"{'ok' if ok else 'FAILED'}: {what}")
    return ok


def check_timm(repo, folder, arch, version):
    out = folder / f"{arch}-timm"
    run(repo, "export", folder / "models", arch, "--to", "timm", "--out", out)
    model = timm.create_model(f"local-dir:{out}", pretrained=True).eval()
    weights = safetensors.torch.load_file(folder / "weights.safetensors")
    same = all(torch.equal(value, weights[name]) for name, value in model.state_dict().items() if "num_batches_tracked" not in name)
    config, published = timm.data.resolve_model_data_config(model), timm.data.resolve_model_data_config(timm.create_model(arch))
    off = worst(model, arch, version)
    return all((told(f"{arch} in timm: logits off by {off:.2g}", off <= TOLERANCE), told(f"{arch} in timm: weights are the same", same),
                told(f"{arch} in timm: preprocessing is the published one", plain(config) == plain(published))))


def check_transformers(repo, folder, arch, version):
    out = folder / f"{arch}-transformers"
    run(repo, "export", folder / "models", arch, "--to", "huggingface", "--out", out)
    model = transformers.AutoModelForImageClassification.from_pretrained(out).eval()
    transformers.AutoImageProcessor.from_pretrained(out)
    off = worst(lambda images: model(images).logits, arch, version)
    return all((told(f"{arch} in transformers: logits off by {off:.2g}", off <= TOLERANCE),
                told(f"{arch} in transformers: labels", model.config.id2label[9] == "thing 9")))


def main():
    repo = pathlib.Path(sys.argv[1]).resolve()
    ok = True
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "labels.txt").write_text("".join(f"thing {i}\n" for i in range(10)))
        for arch in ARCHS:
            write_weights(arch, folder / "weights.safetensors")
            run(repo, "import", folder / "models", arch, folder / "weights.safetensors", "--from", "timm", "--arch", arch, "--labels",
                folder / "labels.txt")
            version = folder / "models" / arch / "1"
            ok &= check_timm(repo, folder, arch, version)
            if not arch.startswith("xcit"):
                ok &= check_transformers(repo, folder, arch, version)
    sys.exit(not ok)


if __name__ == "__main__":
    main()
