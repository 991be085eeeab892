# SPDX-License-Identifier: Apache-2.0
"""Measures how a caller whose images take long (16 megapixels, or eight attention maps) affects the latency of other callers."""
import io
import pathlib
import subprocess

import numpy
from PIL import Image
from vitrine import _descriptors

from driver import workers
from driver.report import Row
from driver.service import Server, bench

MODEL = "eit-mini-cifar10"
GOAL = 1.1
RATE = 25  # quick images per second
SECONDS, ROUNDS = 30, 8  # seconds of a round, and rounds per side; a round has 750 quick images, and its p99 is the eighth worst
PAUSE = 0.5  # seconds between a slow answer and the next slow image
SIDE = 4000  # side of the large image: 16 megapixels
_attention = {}
_descriptors.define("vitrine/v1/attention.proto", _attention)
KIND, OVERLAY, LAYERS = _attention["MEAN_OVER_QUERIES"], _attention["OVERLAY_PNG"], 4


def large_picture():
    """Returns a JPEG of 16 megapixels without uniform areas."""
    x = numpy.arange(SIDE)
    waves = 127 + 60 * numpy.sin(x[:, None] / 37) + 60 * numpy.cos(x[None, :] / 53)
    picture = numpy.stack([waves, waves.T, numpy.roll(waves, SIDE // 3, axis=1)], axis=-1)
    file = io.BytesIO()
    Image.fromarray(picture.astype(numpy.uint8)).save(file, "JPEG", quality=90)
    return file.getvalue()


def with_overlays(request, count):
    """Adds `count` attention maps, which the server draws on the image, to the request, and returns the request."""
    request.max_attention_bytes = 16 << 20
    for layer in range(count):
        request.attention.add(kind=KIND, layers=[-1 - layer % LAYERS], encoding=OVERLAY)
    return request


class SlowCaller:
    """Context manager: repeatedly sends the request in a file, from a process with low priority on both cores."""

    def __init__(self, setup, address, file):
        program = pathlib.Path(__file__).with_name("slow_caller.py")
        self.command = ["nice", "-n", "19", setup.python, str(program), address, str(file), str(PAUSE)]
        self.milliseconds = []  # time in the server, for each image

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            self.process.wait()
            raise RuntimeError("the slow caller did not start")
        return self

    def __exit__(self, *_):
        told, _ = self.process.communicate()
        if self.process.returncode != 0 or not told.strip():
            raise RuntimeError("the slow caller was not answered")
        self.milliseconds = [float(one) for one in told.split()]


def measure(setup):
    pictures, _ = setup.photographs()
    seconds = setup.seconds(SECONDS)
    request = _descriptors.message("vitrine.v1.ClassifyRequest")
    photograph = min(pictures.glob("*.[jJ]*"), key=lambda path: -path.stat().st_size).read_bytes()
    kinds = {"16 megapixels": request(model=MODEL, image=large_picture()),
             "eight overlays": with_overlays(request(model=MODEL, image=photograph), 8)}
    files = {}  # encoded before the measurement
    for kind, message in kinds.items():
        files[kind] = setup.scratch / f"{kind}.request"
        files[kind].write_bytes(message.SerializeToString())
    times = {kind: [] for kind in kinds}

    with Server(setup, setup.repository, setup.both()) as server:

        def p99():
            return bench(setup, server, setup.other_core, pictures, "--model", MODEL, "--rate", RATE, "--warmup",
                         f"{seconds / 5}s", "--duration", f"{seconds}s")["latency_ms"]["p99"]

        def beside(kind):
            with SlowCaller(setup, server.address, files[kind]) as caller:
                figure = p99()
            times[kind] += caller.milliseconds
            return figure

        sides = {"alone": p99, **{kind: lambda kind=kind: beside(kind) for kind in kinds}}
        found = workers.interleave(sides, setup.rounds(ROUNDS))
    alone = workers.spread(found["alone"])[0]
    rows = []
    for kind in kinds:
        ratios = [slow / quick for slow, quick in zip(found[kind], found["alone"])]
        rows.append(Row(f"p99 of quick pictures, one caller with {kind} over none, in turn", "times",
                        workers.spread(ratios), GOAL, at_least=False,
                        note=f"{MODEL}, {RATE} quick a second, {alone:.1f} ms and {workers.spread(found[kind])[0]:.1f} ms; "
                             f"{len(times[kind])} slow ones, each {workers.spread(times[kind])[0]:.0f} ms in the server; "
                             f"{len(ratios)} rounds of {seconds:.0f} s; server on both cores, generator on one of them, slow caller on "
                             "both at nice 19"))
    return rows
