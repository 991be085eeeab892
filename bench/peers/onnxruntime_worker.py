# SPDX-License-Identifier: Apache-2.0
"""A peer of `bench_worker forward`: runs the model with the same weights and inputs in ONNX Runtime on the CPU.

It follows the same protocol. In int8, linear layers are quantised as ONNX Runtime recommends for transformers; activations
are quantised dynamically. ONNX Runtime has no bf16 on a CPU.
"""
import argparse
import pathlib
import tempfile
import warnings

import onnxruntime
import torch

import peer_model
import peer_protocol

OPSET = 20  # the first opset with GELU


def export(model, batch, path):
    warnings.simplefilter("ignore")  # warnings about other shapes: a trace is used only for the requested shape
    with torch.inference_mode():
        torch.onnx.export(model, (batch,), path, opset_version=OPSET, dynamo=False, input_names=["images"])


def quantize(path, to):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    vnni = any(name.endswith("_vnni") for name in pathlib.Path("/proc/cpuinfo").read_text().split())
    # Without VNNI, weights have 7 bits, because sums of two products would saturate with 8 bits.
    quantize_dynamic(path, to, op_types_to_quantize=["MatMul", "Gemm"], weight_type=QuantType.QInt8, per_channel=True,
                     reduce_range=not vnni)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    peer_model.add_arguments(parser)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["fp32", "int8"], default="fp32")
    arguments = parser.parse_args()
    batch, = peer_model.batches(arguments)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = arguments.threads, 3
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/fp32.onnx"
        export(peer_model.load(arguments), batch, path)
        if arguments.precision == "int8":
            quantize(path, path := f"{scratch}/int8.onnx")
        session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    inputs, answer = {"images": batch.numpy()}, []

    def forward():
        answer[:] = session.run(None, inputs)

    forward()
    peer_protocol.serve(len(batch), f"ONNX Runtime {onnxruntime.__version__}", forward, lambda: answer[0].tolist())


main()
