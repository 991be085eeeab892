# SPDX-License-Identifier: Apache-2.0
"""timm_weights.py ARCHITECTURE FILE [--lively]: writes the initial weights of one of timm's models as safetensors.

With them the picture changes logits by a thousandth, since all weights are small. --lively draws those of convolutions and
linear maps as large as keeps their outputs as large as their inputs, so that answers to different pictures differ.
"""
import sys

import timm
import torch
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(0)
model = timm.create_model(sys.argv[1]).eval()
if "--lively" in sys.argv[3:]:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, sys.argv[2])
