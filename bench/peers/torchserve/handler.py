# SPDX-License-Identifier: Apache-2.0
"""ViT-Ti in TorchServe, following its guides at https://pytorch.org/serve (custom_service, batch_inference_with_ts and
performance_guide)."""
import image_model

service = None


def handle(data, context):  # guide custom_service: an entry point of the module
    global service
    if service is None:
        service = image_model.ImageModel()
    if data is None:
        return None
    batch = [image_model.pixels(image_model.open_jpeg(bytes(row.get("data") or row.get("body")))) for row in data]
    return [{"predictions": predictions} for predictions in service.predictions(batch)]
