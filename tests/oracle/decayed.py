#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decayed.py > tests/golden/decayed.txt: the parameters to which the programs of XCiT and DeiT apply weight decay.

Names are timm's. Both programs pass the model's no_weight_decay() to add_weight_decay of timm 0.4.9. That function exempts
biases, vectors and the names that no_weight_decay() returns. For XCiT, these are pos_embed, cls_token and dist_token (xcit.py
at 82f5291f412604970c39a912586e008ec009cdca). For DeiT, the names are the same. An attention's temperature is decayed,
although the attention's module exempts it: timm calls no_weight_decay() only on the whole model.
"""
import timm

SPARED = {"pos_embed", "cls_token", "dist_token"}


def main():
    for arch in ("xcit_nano_12_p16_224", "vit_tiny_patch16_224"):
        for name, parameter in timm.create_model(arch).named_parameters():
            if not (len(parameter.shape) == 1 or name.endswith(".bias") or name in SPARED):
                print(arch, name)


if __name__ == "__main__":
    main()
