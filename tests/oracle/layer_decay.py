#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""layer_decay.py > tests/golden/layer_decay.txt: the factors by which
param_groups_layer_decay of timm 1.0.31 multiplies the learning rate.

A line has the architecture, timm's name of a parameter, and the factor for a layer_decay of 0.75.
"""
import timm
from timm.optim import param_groups_layer_decay


def main():
    for arch in ("xcit_nano_12_p16_224", "vit_tiny_patch16_224"):
        model = timm.create_model(arch)
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        for group in param_groups_layer_decay(model, layer_decay=0.75):
            for parameter in group["params"]:
                print(arch, names[id(parameter)], repr(group["lr_scale"]))


if __name__ == "__main__":
    main()
