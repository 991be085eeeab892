# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as OpenVINO computes them: how all peers convert, quantise and compile.

In int8 the graph is quantised by NNCF as OpenVINO recommends it for transformers; what that leaves wide is bf16 where
the CPU multiplies that and is not limited to other instructions. Without VNNI weights are of 7 bits (NNCF's overflow
fix): of 8 bits they put XCiT-N12's logits seven times as far from fp32 as ours are, with it twice as far.
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
    """For inputs of that shape, where -1 is any; without it for the example's alone."""
    warnings.simplefilter("ignore", torch.jit.TracerWarning)  # traces are only used for the requested shape
    with torch.inference_mode():
        return openvino.convert_model(model, example_input=example, input=list(shape or example.shape))


def sums_overflow():
    """Whether pairs of bytes are summed in 16 bits, as by every CPU without VNNI or AMX: weights then have to be of 7 bits."""
    return not {"avx512_vnni", "avx_vnni", "amx_int8"}.intersection(pathlib.Path("/proc/cpuinfo").read_text().split())


def quantize(graph, batch):
    """Calibrated on that batch."""
    import nncf
    nncf.set_log_level(logging.ERROR)
    fix = nncf.AdvancedQuantizationParameters(overflow_fix=nncf.OverflowFix.ENABLE) if sums_overflow() else None
    with contextlib.redirect_stdout(sys.stderr):  # progress output; standard output belongs to the driver
        return nncf.quantize(graph, nncf.Dataset([batch.numpy()]), subset_size=1, model_type=nncf.ModelType.TRANSFORMER,
                             advanced_parameters=fix)


def compile_graph(graph, precision, threads, streams=1):
    """One stream answers as soon as it can; several work side by side, a thread each."""
    return openvino.Core().compile_model(graph, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": streams,
        "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT",
        "INFERENCE_PRECISION_HINT": HINTS[precision], "ENABLE_CPU_PINNING": False})
