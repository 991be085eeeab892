# SPDX-License-Identifier: Apache-2.0
"""timm_weights.py ARCHITECTURE FILE: writes the initial weights of one of timm's models as safetensors."""
import sys

import timm
import torch
from safetensors.torch import save_file

torch.manual_seed(0)
model = timm.create_model(sys.argv[1]).eval()
save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, sys.argv[2])
