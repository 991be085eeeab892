# SPDX-License-Identifier: Apache-2.0
"""A peer of `bench_worker forward`: runs the model with the same weights, inputs and protocol in OpenVINO on the CPU.

In int8 the graph is calibrated on the inputs themselves. The environment variable ONEDNN_MAX_CPU_ISA limits the
instructions of oneDNN and of OpenVINO's snippets (code compiled at run time).
"""
import argparse
import collections

import openvino

import openvino_graphs
import peer_model
import peer_protocol


def kernels(compiled):
    """Returns {primitive: number of nodes that run it}, for example "gemm_mlas" or "jit_avx512"."""
    names = (str(node.get_rt_info()["primitiveType"].astype(str)) for node in compiled.get_runtime_model().get_ops())
    return collections.Counter(name.rsplit("_", 1)[0] for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    peer_model.add_arguments(parser)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=list(openvino_graphs.HINTS), default="fp32")
    arguments = parser.parse_args()
    batch, = peer_model.batches(arguments)
    graph = openvino_graphs.convert(peer_model.load(arguments), batch)
    if arguments.precision == "int8":
        graph = openvino_graphs.quantize(graph, batch)
    compiled = openvino_graphs.compile_graph(graph, arguments.precision, arguments.threads)
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(batch.numpy()))
    request.infer()
    wide = sum(count for name, count in kernels(compiled).items() if "avx512" in name or "mlas" in name)
    peer_protocol.serve(len(batch), f"{openvino_graphs.NAME}, {wide} nodes on AVX-512 or MLAS",
                        request.infer, lambda: request.get_output_tensor(0).data.tolist())


main()
