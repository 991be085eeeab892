# SPDX-License-Identifier: Apache-2.0
"""service.py PORT: ViT-Ti in Ray Serve, following its guides at https://docs.ray.io/en/latest/serve
(advanced-guides/dyn-req-batch, advanced-guides/performance, resource-allocation)."""
import signal
import sys

import ray
from ray import serve
from starlette.requests import Request

import image_model


# Guide resource-allocation: each replica reserves a core. Guide dyn-req-batch: max_ongoing_requests must not be less than a
# batch.
@serve.deployment(num_replicas=image_model.CORES, ray_actor_options={"num_cpus": 1}, max_ongoing_requests=2 * image_model.BATCH)
class Classifier:
    def __init__(self):
        self.model = image_model.ImageModel()

    # Guide dyn-req-batch: batch_wait_timeout_s is well below the latency bound, here a tenth of it.
    @serve.batch(max_batch_size=image_model.BATCH, batch_wait_timeout_s=0.005)
    async def classify(self, photographs: list[bytes]):
        return self.model.predictions([image_model.pixels(image_model.open_jpeg(jpeg)) for jpeg in photographs])

    async def __call__(self, request: Request):
        return {"predictions": await self.classify(await request.body())}


if __name__ == "__main__":
    ray.init(num_cpus=image_model.CORES, include_dashboard=False)
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
    serve.run(Classifier.bind())
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    serve.shutdown()
    ray.shutdown()
