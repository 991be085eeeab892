# SPDX-License-Identifier: Apache-2.0
"""Converts, quantises and compiles PyTorch models for OpenVINO, for all peers.

In int8, NNCF quantises the graph as OpenVINO recommends for transformers. The remaining operators are bf16 if the CPU multiplies
bf16 and ONEDNN_MAX_CPU_ISA is not set. Without VNNI, weights have 7 bits (NNCF's overflow fix). Without VNNI, the error of
XCiT-N12's logits is twice the error of our engine; with 8-bit weights, it would be seven times our error.
"""
import contextlib
import logging
import os
import pathlib
import sys
import warnings

import openvino
import torch

LIMITED = "ONEDNN_MAX_CPU_ISA" in os.environ
HINTS = {"fp32": "f32", "bf16": "bf16", "int8": "f32" if LIMITED else "bf16"}
NAME = f"OpenVINO {openvino.__version__.split('-')[0]}"


def convert(model, example, shape=None):
    """Converts a model for inputs of `shape`, in which -1 means any size; without a shape, uses the shape of the example."""
    warnings.simplefilter("ignore", torch.jit.TracerWarning)  # a trace is used only for the requested shape
    with torch.inference_mode():
        return openvino.convert_model(model, example_input=example, input=list(shape or example.shape))


def sums_overflow():
    """Returns True if the CPU adds pairs of byte products in 16 bits (without VNNI and AMX); weights must then have 7 bits."""
    return not {"avx512_vnni", "avx_vnni", "amx_int8"}.intersection(pathlib.Path("/proc/cpuinfo").read_text().split())


def quantize(graph, batch):
    """Quantises a model and calibrates it on `batch`."""
    import nncf
    nncf.set_log_level(logging.ERROR)
    fix = nncf.AdvancedQuantizationParameters(overflow_fix=nncf.OverflowFix.ENABLE) if sums_overflow() else None
    with contextlib.redirect_stdout(sys.stderr):  # progress output; standard output belongs to the driver
        return nncf.quantize(graph, nncf.Dataset([batch.numpy()]), subset_size=1, model_type=nncf.ModelType.TRANSFORMER,
                             advanced_parameters=fix)


def compile_graph(graph, precision, threads, streams=1):
    """Compiles a graph. One stream is for the lowest latency; several streams run in parallel, with one thread each."""
    return openvino.Core().compile_model(graph, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": streams,
        "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT",
        "INFERENCE_PRECISION_HINT": HINTS[precision], "ENABLE_CPU_PINNING": False})
