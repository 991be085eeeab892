# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with hashed weights, and the outputs of their blocks, recorded by hooks."""
import torch
import transformers

CLASSES = {
    "deit": (transformers.DeiTConfig, transformers.DeiTForImageClassificationWithTeacher),
    "clip": (transformers.CLIPVisionConfig, transformers.CLIPVisionModelWithProjection),
    "dinov2": (transformers.Dinov2Config, transformers.Dinov2Model),
    "dinov2-with-registers": (transformers.Dinov2WithRegistersConfig, transformers.Dinov2WithRegistersModel),
}


def build(arch, **options):
    config, model = CLASSES[arch]
    return model(config(**options)).eval()


class Watched(torch.nn.Module):
    """A model of transformers with the oracles' method forward(images, trace)."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.trace = None
        if hasattr(model, "vision_model"):  # the norm is applied to the class token alone
            body = model.vision_model
            layers = body.encoder.layers
            self.watch(layers[-1], "final", body.post_layernorm)
        else:
            body = getattr(model, "deit", model)
            layers = body.layers if hasattr(body, "layers") else body.encoder.layer
            self.watch(body.layernorm, "final")
        for i, layer in enumerate(layers):
            self.watch(layer, i)

    def watch(self, module, stage, then=lambda tokens: tokens):
        def put(_module, _inputs, output):
            if self.trace is not None:
                self.trace.tokens[stage] = then(output[0] if isinstance(output, tuple) else output)

        module.register_forward_hook(put)

    def forward(self, images, trace=None):
        self.trace = trace
        has_native_sizes = not hasattr(self.model, "deit") and not hasattr(self.model, "vision_model")
        output = self.model(images, **({} if has_native_sizes else {"interpolate_pos_encoding": True}))
        self.trace = None
        for name in ("logits", "image_embeds"):
            if hasattr(output, name):
                return getattr(output, name)
        return output.last_hidden_state[:, 0]
