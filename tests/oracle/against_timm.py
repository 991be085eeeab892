# SPDX-License-Identifier: Apache-2.0
"""against_timm.py VITRINE_REPO: checks imported models against timm on losslessly stored images.

timm saves random weights of three architectures. `import` reads them, and `verify --against timm` compares the models
with timm in this interpreter. Both must preprocess an image to the same bits. `verify` must fail for the same weights
with another crop. Finally, `export` writes one model for transformers, and `import` reads it with another preprocessing. In this
case, timm must also use this preprocessing.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import safetensors.torch
import timm
import torch
from PIL import Image

ARCHS = ("vit_tiny_patch16_224", "deit_tiny_patch16_224", "xcit_nano_12_p16_224")
# Image sizes (width, height): smaller than the crop, equal, larger, long and narrow, and with a scale that is
# not a whole number.
SIZES = ((32, 32), (224, 224), (248, 248), (249, 249), (500, 375), (375, 500), (301, 997), (1601, 1203), (224, 1), (3, 700))


def write_pictures(folder):
    random = numpy.random.default_rng(1)
    for width, height in SIZES:
        coarse = random.integers(0, 256, (height // 9 + 1, width // 9 + 1, 3), numpy.uint8)
        fine = coarse.repeat(9, 0).repeat(9, 1)[:height, :width]
        noise = random.integers(0, 2, fine.shape, numpy.uint8) * 255
        picture = numpy.where(random.random((height, width, 1)) < 0.2, noise, fine)
        Image.fromarray(picture).save(folder / f"{width}x{height}.png")


def write_weights(arch, path):
    """Saves timm's initial weights with random numbers of both signs added, so that no LayerNorm is the identity.

    Numbers of one sign would add up to large sums, and the rounding of large sums would hide a difference.
    """
    torch.manual_seed(0)
    weights = timm.create_model(arch, num_classes=10).state_dict()
    moved = {name: value + 0.05 * (torch.rand_like(value) - 0.5) if value.is_floating_point() else value for name, value in weights.items()}
    safetensors.torch.save_file(moved, path)


def verify(repo, folder, arch, *more):
    write_weights(arch, folder / "weights.safetensors")
    subprocess.run([repo, "import", folder / "models", arch, folder / "weights.safetensors", "--from", "timm", "--arch", arch, "--labels",
                    folder / "labels.txt", *more], check=True)
    return compare(repo, folder, arch)


def compare(repo, folder, model, *more):
    done = subprocess.run([repo, "verify", folder / "models", model, "--against", "timm", "--images", folder / "pictures", "--python",
                           sys.executable, "--format", "json", *more], stdout=subprocess.PIPE)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def main():
    repo = pathlib.Path(sys.argv[1]).resolve()
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "labels.txt").write_text("".join(f"thing {i}\n" for i in range(10)))
        (folder / "pictures").mkdir()
        write_pictures(folder / "pictures")
        for arch in ARCHS:
            code, lines = verify(repo, folder, arch)
            ok = code == 0 and len(lines) == len(SIZES) and all(line["input_grey_levels"] == 0 for line in lines)
            print(f"{'ok' if ok else 'FAILED'}: {arch}: logits off by {max(line['logits'] for line in lines):.2g}")
            failed |= not ok
        code, _ = verify(repo, folder, ARCHS[0], "--crop", "0.8")
        print(f"{'ok' if code == 1 else 'FAILED'}: verify rejects another crop")
        failed |= code != 1
        subprocess.run([repo, "export", folder / "models", ARCHS[0], "--to", "huggingface", "--out", folder / "hf"], check=True)
        subprocess.run([repo, "import", folder / "models", "hf", folder / "hf", "--fit", "stretch", "--interpolation", "bilinear"],
                       check=True)
        code, lines = compare(repo, folder, "hf", "--arch", ARCHS[0])
        ok = code == 0 and all(line["input_grey_levels"] == 0 for line in lines)
        print(f"{'ok' if ok else 'FAILED'}: transformers' weights with their own preprocessing")
        failed |= not ok
    sys.exit(failed)


if __name__ == "__main__":
    main()
