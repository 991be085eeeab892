# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as OpenVINO computes them: how all peers convert, quantise and compile.

In int8 the graph is quantised by NNCF as OpenVINO recommends it for transformers; what that leaves wide is bf16 where
the CPU multiplies that.
"""
import contextlib
import logging
import sys
import warnings

import openvino
import torch

HINTS = {"fp32": "f32", "bf16": "bf16", "int8": "bf16"}
NAME = f"OpenVINO {openvino.__version__.split('-')[0]}"


def convert(model, example, shape=None):
    """For inputs of that shape, where -1 is any; without it for the example's alone."""
    warnings.simplefilter("ignore", torch.jit.TracerWarning)  # what is traced holds for the shape that was asked for
    with torch.inference_mode():
        return openvino.convert_model(model, example_input=example, input=list(shape or example.shape))


def quantize(graph, batch):
    """Calibrated on that batch."""
    import nncf
    nncf.set_log_level(logging.ERROR)
    with contextlib.redirect_stdout(sys.stderr):  # its progress; standard output is the driver's
        return nncf.quantize(graph, nncf.Dataset([batch.numpy()]), subset_size=1, model_type=nncf.ModelType.TRANSFORMER)


def compile_graph(graph, precision, threads, streams=1):
    """One stream answers as soon as it can; several work side by side, a thread each."""
    return openvino.Core().compile_model(graph, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": streams,
        "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT",
        "INFERENCE_PRECISION_HINT": HINTS[precision], "ENABLE_CPU_PINNING": False})
