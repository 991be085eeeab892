# SPDX-License-Identifier: Apache-2.0
"""Code shared by the services of bench/peers/*/: finds a photograph's five most probable classes with OpenVINO in fp32.

$VITRINE_PEER_MODEL names the file that export_vit.py wrote.
"""
import io
import os

import numpy
import openvino
from PIL import Image

SIDE, RESIZED = 224, 248  # timm's vit_tiny_patch16_224: crop_pct 0.9
CORES = len(os.sched_getaffinity(0))
BATCH = 8  # maximum images per batch, the same for every peer


def open_jpeg(jpeg):
    """Decodes with OpenCV, which is a little faster than Pillow, or with Pillow if OpenCV is not installed (for BentoML)."""
    try:
        import cv2
    except ImportError:
        return Image.open(io.BytesIO(jpeg))
    return Image.fromarray(cv2.imdecode(numpy.frombuffer(jpeg, numpy.uint8), cv2.IMREAD_COLOR_RGB))


def pixels(image):
    """Applies timm's evaluation transform without the normalisation, which the graph does. Resizes only the crop, which takes
    two thirds of the time that the whole image would take."""
    scaled = [int(RESIZED * length / min(image.size)) for length in image.size]
    scale = [length / to for length, to in zip(image.size, scaled)]
    corner = [round((to - SIDE) / 2) for to in scaled]
    box = [(c + end) * s for end in (0, SIDE) for c, s in zip(corner, scale)]
    return numpy.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC, box))


class ImageModel:
    """A model with one inference request, for one thread at a time. `threads`: threads that compute a batch."""

    def __init__(self, threads=1):
        compiled = openvino.Core().compile_model(os.environ["VITRINE_PEER_MODEL"], "CPU", {
            "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False})
        self.request = compiled.create_infer_request()

    def top5(self, batch):
        """Returns (indices, probabilities), each with five columns and a row per image."""
        self.request.infer([numpy.stack(batch)])
        logits = self.request.get_output_tensor(0).data
        best = numpy.argsort(-logits, axis=1)[:, :5]
        powers = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        return best, numpy.take_along_axis(powers / powers.sum(axis=1, keepdims=True), best, axis=1)

    def predictions(self, batch):
        """Returns the result of top5 as lists of objects, for JSON."""
        return [[{"index": int(index), "probability": float(share)} for index, share in zip(*row)]
                for row in zip(*self.top5(batch))]
