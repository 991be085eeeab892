# SPDX-License-Identifier: Apache-2.0
"""Makes versions of models for a proof: trained, with random weights, or a copy with its classes in another order."""
import gzip
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
from PIL import Image

from driver.setup import ROOT

SHIFT = 3  # number of places by which classes are rotated
DIGITS = 1000  # images of MNIST's test split to send
TRAINED, MEASURED, SENT = 150, 20, 100  # images per class of CIFAR-10's test split: to train on, to measure, to send


def train(setup, recipe, data, name, *flags):
    """Trains a version with vitrine-train and returns its folder."""
    print(f"  {name}: training", file=sys.stderr)
    made = setup.scratch / "made" / name
    command = [setup.program("vitrine-train"), "run", recipe, "--data", data, "--work", made / "run", "--publish", made / "to",
               "--name", name, "--threads", setup.cores(), "--no-report", *flags]
    log = setup.scratch / f"{name}.log"
    with open(log, "w") as opened:
        ended = subprocess.run(["taskset", "-c", setup.core_list(), *map(str, command)], stdout=opened, stderr=opened)
    if ended.returncode != 0:
        raise RuntimeError(f"{name} could not be trained:\n{log.read_text()[-2000:]}")
    return made / "to" / name / "1"


def create(setup, variant, name):
    """Creates a version with random weights and returns its folder."""
    made = setup.scratch / "made" / name
    subprocess.run([setup.program("vitrine-repo"), "create", made, name, "--variant", variant, "--seed", "7"], check=True,
                   stdout=subprocess.DEVNULL)
    return made / name / "1"


def place(source, repository, model, version, change=None):
    """Copies a version under another name and number. `change` may change the copy's files; their digests are then recomputed."""
    folder = repository / model / f".tmp-{version}"  # servers ignore folders with such names
    shutil.copytree(source, folder)
    if change:
        change(folder)
    path = folder / "manifest.textproto"
    manifest = re.sub(r'^model: .*$', f'model: "{model}"', path.read_text(), count=1, flags=re.MULTILINE)
    manifest = re.sub(r'^version: .*$', f'version: {version}', manifest, count=1, flags=re.MULTILINE)

    def digest(match):
        content = (folder / match.group(1)).read_bytes()
        return f'name: "{match.group(1)}"\n  sha256: "{hashlib.sha256(content).hexdigest()}"\n  bytes: {len(content)}'

    path.write_text(re.sub(r'name: "([^"]+)"\n  sha256: "[0-9a-f]+"\n  bytes: \d+', digest, manifest))
    folder.rename(repository / model / str(version))


def moved(items):
    return [*items[SHIFT:], *items[:SHIFT]]


def move_labels(folder):
    """Gives each class another class's label."""
    labels = folder / "labels.txt"
    labels.write_text("\n".join(moved(labels.read_text().splitlines())) + "\n")


def with_labels_of(source):
    def change(folder):
        shutil.copy(source / "labels.txt", folder / "labels.txt")

    return change


def move_classes(folder):
    """Changes the order of a model's classes but not of its labels, as a wrong export could do. Moves the rows of the last layer
    and the values of the recorded logits."""
    _change_tensors(folder / "weights.safetensors", r"head(_out)?\.(weight|bias)")
    _change_tensors(folder / "golden.safetensors", r"(\w+\.)?logits\.\d+")


def _change_tensors(path, names):
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    for name, tensor in json.loads(content[8:start]).items():
        if re.fullmatch(names, name):
            begin, end = (start + offset for offset in tensor["data_offsets"])
            rows = numpy.frombuffer(bytes(content[begin:end]), numpy.uint8).reshape(tensor["shape"][0], -1)
            content[begin:end] = numpy.roll(rows, -SHIFT, axis=0).tobytes()
    path.write_bytes(content)


def digit_pictures(data, folder):
    """Writes PNG files of MNIST's test split into a folder and returns it."""
    folder.mkdir()
    with gzip.open(data / "t10k-images-idx3-ubyte.gz") as opened:
        pixels = numpy.frombuffer(opened.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)
    for number, image in enumerate(pixels[:DIGITS]):
        Image.fromarray(image).save(folder / f"{number}.png")
    return folder


def divide_cifar(folder):
    """Returns (data set for further training, folder of other images to send), both taken from CIFAR-10's test split."""
    split = subprocess.run([ROOT / "script/dev/cifar10-test-split"], check=True, stdout=subprocess.PIPE, text=True).stdout
    data, sent = folder / "data", folder / "sent"
    sent.mkdir(parents=True)
    for of_class in pathlib.Path(split.strip()).iterdir():
        for number, picture in enumerate(sorted(of_class.glob("*.jpg"))[:TRAINED + MEASURED + SENT]):
            if number < TRAINED + MEASURED:
                target = data / ("train" if number < TRAINED else "test") / of_class.name
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(picture, target)
            else:
                shutil.copy(picture, sent / f"{of_class.name}-{picture.name}")
    return data, sent
