# SPDX-License-Identifier: Apache-2.0
"""server.py PORT: ViT-Ti in LitServe, following its guides at https://lightning.ai/docs/litserve (features/batching and
speed-up-serving-by-200x)."""
import base64
import sys

import litserve
import numpy

import image_model


class Classifier(litserve.LitAPI):
    def setup(self, device):
        self.model = image_model.ImageModel()

    def decode_request(self, request):  # base64 in JSON, as in speed-up-serving-by-200x
        return image_model.pixels(image_model.open_jpeg(base64.b64decode(request["image_data"])))

    def batch(self, inputs):
        return numpy.stack(inputs)

    def predict(self, batch):
        return self.model.predictions(batch)

    def unbatch(self, output):
        return output

    def encode_response(self, output):
        return {"predictions": output}


if __name__ == "__main__":
    # Guide features/batching: set max_batch_size and batch_timeout. Here, the timeout is a tenth of the latency bound.
    api = Classifier(max_batch_size=image_model.BATCH, batch_timeout=0.005)
    # Guide speed-up-serving-by-200x: on a CPU, one worker per core. By default, run() starts as many HTTP servers as
    # workers.
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=image_model.CORES)
    server.run(host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", generate_client_file=False)
