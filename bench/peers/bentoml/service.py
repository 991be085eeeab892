# SPDX-License-Identifier: Apache-2.0
"""ViT-Ti in BentoML, following its guides at https://docs.bentoml.com (get-started/adaptive-batching and
build-with-bentoml/parallelize-requests)."""
from __future__ import annotations

import bentoml
from PIL import Image

import image_model


# Guide parallelize-requests: on a CPU, one worker per core. The setting "cpu_count" would ignore the process's CPU
# affinity.
@bentoml.service(workers=image_model.CORES, traffic={"timeout": 60})
class Classifier:
    def __init__(self) -> None:
        self.model = image_model.ImageModel()

    # Guide adaptive-batching: max_latency_ms is the dispatcher's goal; requests that would take longer get status 503.
    @bentoml.api(batchable=True, max_batch_size=image_model.BATCH, max_latency_ms=1000)
    def classify(self, images: list[Image.Image]) -> list[list[dict]]:
        return self.model.predictions([image_model.pixels(image) for image in images])
