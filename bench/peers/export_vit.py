# SPDX-License-Identifier: Apache-2.0
"""export_vit.py ARCHITECTURE WEIGHTS FILE.xml: writes one of timm's models as an OpenVINO model, which the peers in
bench/peers/*/ serve.

The graph takes any number of images of 224x224 pixels, 8-bit interleaved RGB, and gives logits. It normalises the pixels itself,
which is faster than numpy (docs.openvino.ai, "Preprocessing API").
"""
import sys
import types

import openvino
import torch
from openvino.preprocess import PrePostProcessor

import openvino_graphs
import peer_model

SIDE = 224
HALF = [127.5] * 3  # mean and standard deviation of timm's vit_tiny_patch16_224


def main():
    architecture, weights, file = sys.argv[1:]
    model = peer_model.load_timm(types.SimpleNamespace(timm=architecture, weights=weights))
    graph = openvino_graphs.convert(model, torch.zeros(2, 3, SIDE, SIDE), [-1, 3, SIDE, SIDE])
    steps = PrePostProcessor(graph)
    steps.input().tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC"))
    steps.input().preprocess().convert_element_type(openvino.Type.f32).mean(HALF).scale(HALF)
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    openvino.save_model(steps.build(), file, compress_to_fp16=False)


main()
