# SPDX-License-Identifier: Apache-2.0
"""One caller's slow pictures among everybody's quick ones: what they do to the quick ones' latency."""
import io
import threading

import grpc
import numpy
from PIL import Image
from vitrine import _descriptors

from driver import workers
from driver.report import Row
from driver.service import Server, bench

MODEL = "eit-mini-cifar10"
GOAL = 1.1
RATE = 25  # quick pictures a second
PAUSE = 0.5  # seconds between a slow answer and the next slow picture
SIDE = 4000  # of the large picture: 16 megapixels
_attention = {}
_descriptors.define("vitrine/v1/attention.proto", _attention)
KIND, OVERLAY, LAYERS = _attention["MEAN_OVER_QUERIES"], _attention["OVERLAY_PNG"], 4


def large_picture():
    """A JPEG of 16 megapixels with something to see everywhere."""
    x = numpy.arange(SIDE)
    waves = 127 + 60 * numpy.sin(x[:, None] / 37) + 60 * numpy.cos(x[None, :] / 53)
    picture = numpy.stack([waves, waves.T, numpy.roll(waves, SIDE // 3, axis=1)], axis=-1)
    file = io.BytesIO()
    Image.fromarray(picture.astype(numpy.uint8)).save(file, "JPEG", quality=90)
    return file.getvalue()


def with_overlays(request, count):
    """The request, with so many maps drawn on the picture by the server."""
    request.max_attention_bytes = 16 << 20
    for layer in range(count):
        request.attention.add(kind=KIND, layers=[-1 - layer % LAYERS], encoding=OVERLAY)
    return request


class SlowCaller:
    """Sends one slow request after another until the end of the with statement."""

    def __init__(self, address, request):
        self.channel = grpc.insecure_channel(address)
        response = _descriptors.message("vitrine.v1.ClassifyResponse")
        self.classify = self.channel.unary_unary("/vitrine.v1.Classifier/Classify", type(request).SerializeToString,
                                                 response.FromString)
        self.request = request
        self.over = threading.Event()
        self.milliseconds = []  # in the server, of each
        self.failure = None
        self.thread = threading.Thread(target=self.send)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.channel.close()
        if self.failure is not None:
            raise self.failure

    def send(self):
        try:
            while not self.over.is_set():
                self.milliseconds.append(1000 * self.classify(self.request, timeout=10).timings.total)
                self.over.wait(PAUSE)
        except grpc.RpcError as error:
            self.failure = error


def measure(setup):
    pictures, _ = setup.photographs()
    seconds = setup.seconds(15)
    request = _descriptors.message("vitrine.v1.ClassifyRequest")
    photograph = min(pictures.glob("*.[jJ]*"), key=lambda path: -path.stat().st_size).read_bytes()
    kinds = {"16 megapixels": request(model=MODEL, image=large_picture()),
             "eight overlays": with_overlays(request(model=MODEL, image=photograph), 8)}
    times = {kind: [] for kind in kinds}

    with Server(setup, setup.repository, setup.both(), [f"model/{MODEL}"]) as server:

        def p99():
            return bench(setup, server, setup.other_core, pictures, "--model", MODEL, "--rate", RATE, "--warmup",
                         f"{seconds / 5}s", "--duration", f"{seconds}s")["latency_ms"]["p99"]

        def beside(kind):
            with SlowCaller(server.address, kinds[kind]) as caller:
                figure = p99()
            times[kind] += caller.milliseconds
            return figure

        sides = {"alone": p99, **{kind: lambda kind=kind: beside(kind) for kind in kinds}}
        found = workers.interleave(sides, setup.rounds(5))
    alone = workers.spread(found["alone"])[0]
    rows = []
    for kind in kinds:
        ratios = [slow / quick for slow, quick in zip(found[kind], found["alone"])]
        rows.append(Row(f"p99 of quick pictures, one caller with {kind} over none, in turn", "times",
                        workers.spread(ratios), GOAL, at_least=False,
                        note=f"{MODEL}, {RATE} quick a second, {alone:.1f} ms and {workers.spread(found[kind])[0]:.1f} ms; "
                             f"{len(times[kind])} slow ones, each {workers.spread(times[kind])[0]:.0f} ms in the server; "
                             "server on both cores, generator and callers on them too"))
    return rows
