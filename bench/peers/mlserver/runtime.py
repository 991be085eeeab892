# SPDX-License-Identifier: Apache-2.0
"""ViT-Ti in MLServer, following its guides at https://docs.seldon.ai/mlserver/user-guide (custom, adaptive-batching and
parallel-inference).

From adaptive-batching: max_batch_size and max_batch_time (s) in model-settings.json; max_batch_time is a tenth of the latency
bound. From parallel-inference: parallel_workers, which `run` sets to the number of cores.
"""
from mlserver import MLModel
from mlserver.codecs import Base64Codec, NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse

import image_model


class Classifier(MLModel):
    async def load(self) -> bool:
        self._model = image_model.ImageModel()
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        files = Base64Codec.decode_input(payload.inputs[0])
        best, shares = self._model.top5([image_model.pixels(image_model.open_jpeg(jpeg)) for jpeg in files])
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("index", best),
                                                                NumpyCodec.encode_output("probability", shares)])
