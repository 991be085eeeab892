# SPDX-License-Identifier: Apache-2.0
"""timm_weights.py ARCHITECTURE FILE... [--lively]: writes the initial weights of one of timm's models as safetensors.

These weights are small, so different images change the logits by no more than a thousandth. With --lively, the weights of
convolutions and linear layers are so large that outputs are as large as inputs. The answers to different images then differ.
Each FILE gets weights from its own seed: 0, 1, ...
"""
import sys

import timm
import torch
from safetensors.torch import save_file
from torch import nn

files = [argument for argument in sys.argv[2:] if argument != "--lively"]
for seed, file in enumerate(files):
    torch.manual_seed(seed)
    model = timm.create_model(sys.argv[1]).eval()
    for module in model.modules() if "--lively" in sys.argv else ():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, file)
