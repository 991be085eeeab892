# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with hashed weights, and the outputs of their blocks, recorded by hooks."""
import torch
import transformers

CLASSES = {
    "deit": (transformers.DeiTConfig, transformers.DeiTForImageClassificationWithTeacher),
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
        body = getattr(model, "deit", model)
        layers = body.layers if hasattr(body, "layers") else body.encoder.layer
        for i, layer in enumerate(layers):
            self.watch(layer, i)
        self.watch(body.layernorm, "final")

    def watch(self, module, stage):
        def put(_module, _inputs, output):
            if self.trace is not None:
                self.trace.tokens[stage] = output[0] if isinstance(output, tuple) else output

        module.register_forward_hook(put)

    def forward(self, images, trace=None):
        self.trace = trace
        known = {"interpolate_pos_encoding": True} if hasattr(self.model, "deit") else {}
        output = self.model(images, **known)
        self.trace = None
        return output.logits if known else output.last_hidden_state[:, 0]
