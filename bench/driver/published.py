# SPDX-License-Identifier: Apache-2.0
"""Models with timm's initial weights, imported by `vitrine-repo import`, so that our engine and a peer compute the same logits."""
import subprocess

from driver import setup as setups

PEERS = {
    "xcit-n12": "xcit_nano_12_p16_224",
    "xcit-t12": "xcit_tiny_12_p16_224",
    "vit-ti16": "vit_tiny_patch16_224",
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def import_from_timm(setup, repository, name, architecture, drawn=(), flags=()):
    """Publishes timm's initial weights and returns their file. `flags` are arguments of the import, `drawn` are arguments of
    timm_weights.py."""
    weights = setup.scratch / f"{architecture}.safetensors"
    labels = setup.scratch / "labels.txt"
    labels.write_text("".join(f"class {i}\n" for i in range(1000)))
    run(setup.python, setups.ROOT / "bench/peers/timm_weights.py", architecture, weights, *drawn)
    has_classes = "dinov2" not in architecture and "clip" not in architecture
    run(setup.program("vitrine-repo"), "import", repository, name, weights, "--from", "timm", "--arch", architecture,
        *(["--labels", labels] if has_classes else []), *flags)
    return weights
