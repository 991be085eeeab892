# SPDX-License-Identifier: Apache-2.0
"""The canaries of the proof: six bad and ten harmless."""
import dataclasses
import os
import pathlib
from collections.abc import Callable

from driver import precisions
from proofs import versions

DIGITS, CIFAR = "kv-pos-mnist", "eit-mini-cifar10"  # bundled models
DIGITS_EPOCHS, SLOW_EPOCHS = 2, 0.3
LARGE = "kv-pos-mnist-p7-d256-l4"  # four times as wide as DIGITS


@dataclasses.dataclass
class Canary:
    """A canary: version 2 of a separate model, whose version 1 is stable. The last three fields are results."""
    name: str  # name of the model
    what: str
    stable: pathlib.Path  # folder of version 1
    canary: pathlib.Path  # folder of version 2
    pictures: pathlib.Path
    harmless: bool = False
    change: Callable | None = None  # function that gets the canary's folder and changes its files
    precision: str = ""  # precision of the canary; empty: the server's
    seconds: float = float("inf")  # from the first request until it was taken out of service
    reason: str = ""
    status: object = None  # the last vitrine.v1.CanaryStatus


class Workshop:
    """Trains the versions from which the canaries are made."""

    def __init__(self, setup):
        self.setup = setup
        data = pathlib.Path(os.environ["VITRINE_DATA"])
        self.mnist = f"mnist:{data / 'mnist'}"
        self.digits = versions.digit_pictures(data / "mnist", setup.scratch / "digits")
        cifar, self.pictures = versions.divide_cifar(setup.scratch / "cifar")
        self.cifar = f"imagefolder:{cifar}"

    def train_digits(self, seed, *settings, epochs=DIGITS_EPOCHS):
        """Trains with the bundled model's recipe, but for far fewer epochs."""
        return self._train("kv-pos-mnist", self.mnist, seed, epochs, "schedule.warmup_epochs=0.1", *settings)

    def continue_cifar(self, seed, *settings):
        """Trains the bundled version for some more seconds."""
        return self._train("eit-mini-cifar10-continued", self.cifar, seed, 1, f"start.version={self.bundled(CIFAR)}",
                           "optimizer.lr=1e-4", "ema_decay=0", *(settings or ["evaluation_sizes=32"]))

    def create(self, variant):
        return versions.create(self.setup, variant, f"random-{variant}")

    def bundled(self, model):
        return self.setup.models()[model]

    def _train(self, recipe, data, seed, epochs, *settings):
        name = f"{recipe}-{seed}"
        flags = [flag for setting in (f"seed={seed}", *settings) for flag in ("--set", setting)]
        return versions.train(self.setup, recipe, data, name, "--epochs", epochs, *flags)


def bad(work, digits, cifar):
    """Returns the bad canaries. `digits`, `cifar`: stable versions that `make` trained."""
    bundled_digits, bundled_cifar = work.bundled(DIGITS), work.bundled(CIFAR)
    return [
        Canary("slow", "canary of digits four times as wide", digits,
               work.train_digits(9, f"model={LARGE}", epochs=SLOW_EPOCHS), work.digits),
        Canary("labels", "canary of digits whose labels.txt is in another order", bundled_digits, bundled_digits, work.digits,
               change=versions.move_labels),
        Canary("classes", "canary of digits whose classes are in another order", bundled_digits, bundled_digits, work.digits,
               change=versions.move_classes),
        Canary("classes-cifar", "canary of CIFAR-10 whose classes are in another order", bundled_cifar, bundled_cifar,
               work.pictures, change=versions.move_classes),
        Canary("random", "canary of digits with random weights", digits, work.create("kv-pos-mnist-p7-d64-l4"), work.digits,
               change=versions.with_labels_of(digits)),
        Canary("random-cifar", "canary of CIFAR-10 with random weights", cifar, work.create("eit34-mini-cifar10"),
               work.pictures, change=versions.with_labels_of(cifar)),
    ]


def harmless(work, digits, cifar):
    def of_digits(name, what, seed, *settings, **more):
        return Canary(name, f"digits, {what}", digits, work.train_digits(seed, *settings, **more), work.digits, harmless=True)

    def of_cifar(name, what, seed, *settings):
        return Canary(name, f"CIFAR-10, {what}", cifar, work.continue_cifar(seed, *settings), work.pictures, harmless=True)

    made = [
        of_digits("seed", "another seed of training", 2),
        of_digits("seed-too", "another seed of training", 3),
        of_digits("longer", "another seed and trained half as long again", 4, epochs=1.5 * DIGITS_EPOCHS),
        of_digits("smoothing", "another seed and no label smoothing", 5, "label_smoothing=0"),
        of_digits("deeper", "another seed and five layers for four: a fifth slower", 6, "model_overrides.kv.depth=5"),
        of_cifar("cifar-seed", "continued with another seed", 2),
        of_cifar("cifar-seed-too", "continued with another seed", 3),
        of_cifar("cifar-larger", "continued with another seed, at 36x36 pixels for 32x32: a fifth slower", 4, "sizes=[]",
                 "start.replace_preprocessing=true", "model_overrides.preprocessing.native.min_tokens=72",
                 "evaluation_sizes=36"),
    ]
    if precisions.multiplied("int8"):
        made += [Canary(f"{model}-int8", f"{model}, int8 for fp32", work.bundled(model), work.bundled(model), pictures,
                        harmless=True, precision="int8") for model, pictures in ((DIGITS, work.digits), (CIFAR, work.pictures))]
    return made


def make(setup):
    """Returns all canaries; their versions are made in the scratch folder."""
    work = Workshop(setup)
    digits, cifar = work.train_digits(1), work.continue_cifar(1)
    return bad(work, digits, cifar) + harmless(work, digits, cifar)
