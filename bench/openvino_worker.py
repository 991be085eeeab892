# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_worker's compiled forward: the same weights and inputs in OpenVINO on the CPU. Same protocol.

In int8 the graph is quantised by NNCF as OpenVINO recommends it for transformers, calibrated on the inputs themselves; what it
leaves wide is bf16 where the CPU multiplies that.

ONEDNN_MAX_CPU_ISA in the environment limits what oneDNN and the snippets are generated for.
"""
import argparse
import collections
import contextlib
import logging
import sys
import warnings

import openvino
import torch

import peer_model


HINTS = {"fp32": "f32", "bf16": "bf16", "int8": "bf16"}


def quantized(graph, batch):
    import nncf
    nncf.set_log_level(logging.ERROR)
    with contextlib.redirect_stdout(sys.stderr):  # its progress; standard output is the driver's
        return nncf.quantize(graph, nncf.Dataset([batch.numpy()]), subset_size=1, model_type=nncf.ModelType.TRANSFORMER)


def kernels(compiled):
    """{primitive: how many nodes run it}, as "gemm_mlas", "jit_avx512"."""
    names = (str(node.get_rt_info()["primitiveType"].astype(str)) for node in compiled.get_runtime_model().get_ops())
    return collections.Counter(name.rsplit("_", 1)[0] for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    peer_model.add_arguments(parser)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=list(HINTS), default="fp32")
    arguments = parser.parse_args()
    batch, = peer_model.batches(arguments)
    warnings.simplefilter("ignore", torch.jit.TracerWarning)  # the graph is of this batch alone, as it should be
    with torch.inference_mode():
        graph = openvino.convert_model(peer_model.load(arguments), example_input=batch, input=list(batch.shape))
    if arguments.precision == "int8":
        graph = quantized(graph, batch)
    compiled = openvino.Core().compile_model(graph, "CPU", {
        "INFERENCE_NUM_THREADS": arguments.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": HINTS[arguments.precision], "ENABLE_CPU_PINNING": False})
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(batch.numpy()))
    request.infer()
    wide = sum(count for name, count in kernels(compiled).items() if "avx512" in name or "mlas" in name)
    peer_model.serve(len(batch), f"OpenVINO {openvino.__version__.split('-')[0]}, {wide} nodes on AVX-512 or MLAS",
                     request.infer, lambda: request.get_output_tensor(0).data.tolist())


main()
