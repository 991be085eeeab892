# SPDX-License-Identifier: Apache-2.0
"""A peer of `bench_worker forward` with several batches: runs the model in OpenVINO, with the same protocol.

A batch of OpenVINO must have images of one size. The peer computes either each image alone, by one model that accepts any size,
or batches of equal size, each by a model that was compiled for that batch. Nothing is padded, and everything that depends on
the size is computed in advance.
"""
import argparse

import numpy
import openvino
import torch

import openvino_graphs
import peer_model
import peer_protocol


def request_for(compiled, batch):
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(batch.numpy()))
    return request


def by_shape(graph, stacked, precision):
    """Returns an inference request of OpenVINO for each batch. Batches of equal shape share a compiled model."""
    compiled = {}
    for batch in stacked:
        shape = tuple(batch.shape)
        if shape not in compiled:
            own = graph.clone()
            own.reshape(list(shape))
            compiled[shape] = openvino_graphs.compile_graph(own, precision, threads=1)
    return [request_for(compiled[tuple(batch.shape)], batch) for batch in stacked]


def of_any_size(graph, stacked, precision):
    graph.reshape([1, 3, -1, -1])
    compiled = openvino_graphs.compile_graph(graph, precision, threads=1)
    return [request_for(compiled, batch) for batch in stacked]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    peer_model.add_arguments(parser)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--batches", nargs="*", help="0,3,5 ...: inputs that go together; without it each alone")
    arguments = parser.parse_args()
    images = peer_model.images(arguments)
    batches = [[int(i) for i in batch.split(",")] for batch in arguments.batches or map(str, range(len(images)))]
    stacked = [torch.stack([images[i] for i in batch]) for batch in batches]
    graph = openvino_graphs.convert(peer_model.load(arguments), images[0][None], [-1, 3, -1, -1])
    requests = (by_shape if arguments.batches else of_any_size)(graph, stacked, arguments.precision)

    def forward():
        for request in requests:
            request.infer()

    def logits():
        rows = numpy.concatenate([request.get_output_tensor(0).data for request in requests])
        return rows[numpy.argsort([i for batch in batches for i in batch])].tolist()

    forward()
    peer_protocol.serve(len(images), f"{openvino_graphs.NAME}, {len(batches)} batches", forward, logits)


main()
