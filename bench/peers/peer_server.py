# SPDX-License-Identifier: Apache-2.0
"""The peer of vitrine-server: Classify over grpc.aio with OpenVINO, as fast as possible in Python.

A lane is a stream of OpenVINO with a compiled model for each batch size; there are as many lanes as cores. Threads decode
images and put them into one queue. An idle lane takes up to eight images from the queue. Pixels are normalised in the graph.
Requests beyond the limit of the queue are rejected. The server supports only `image` and `top_k` of the contract.
"""
import argparse
import asyncio
import collections
import concurrent.futures
import pathlib

import grpc
import numpy
import openvino
import torch
from openvino.preprocess import PrePostProcessor

import openvino_graphs
import peer_messages
import peer_model
import peer_pictures

SIDE = 224
MOST = 8  # images per batch
MEAN, STD = (numpy.array(values) * 255 for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))


def graph_of_bytes(model, precision, pixels):
    """Returns a graph that computes logits for any number of 8-bit RGB images. In int8, the graph is calibrated on `pixels`."""
    batch = torch.from_numpy(((pixels - MEAN) / STD).astype(numpy.float32)).permute(0, 3, 1, 2).contiguous()
    graph = openvino_graphs.convert(model, batch, [-1, 3, SIDE, SIDE])
    if precision == "int8":
        graph = openvino_graphs.quantize(graph, batch)
    steps = PrePostProcessor(graph)
    steps.input().tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC"))
    steps.input().preprocess().convert_element_type(openvino.Type.f32).mean(MEAN.tolist()).scale(STD.tolist())
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    return steps.build()


def compile_batches(graph, precision, threads):
    """Returns [model for one image, for two, ...]."""
    compiled = []
    for count in range(1, MOST + 1):
        own = graph.clone()
        own.reshape([count, SIDE, SIDE, 3])
        compiled.append(openvino_graphs.compile_graph(own, precision, threads, streams=threads))
    return compiled


class Lane:
    """Computes one batch at a time."""

    def __init__(self, compiled):
        self.inputs = [numpy.empty((count, SIDE, SIDE, 3), numpy.uint8) for count in range(1, MOST + 1)]
        self.requests = [model.create_infer_request() for model in compiled]
        for request, array in zip(self.requests, self.inputs):
            request.set_input_tensor(openvino.Tensor(array, shared_memory=True))
            request.infer()

    def start(self, pictures, done):
        """Starts the computation. A thread of OpenVINO calls done() when logits() has the result."""
        at = len(pictures) - 1
        numpy.stack(pictures, out=self.inputs[at])
        self.current = self.requests[at]
        self.current.set_callback(lambda _: done(), None)
        self.current.start_async()

    def logits(self):
        return self.current.get_output_tensor(0).data.copy()


class Queue:
    """Decoded images that wait for a lane. Only the event loop uses it."""

    def __init__(self, lanes):
        self.idle, self.waiting = list(lanes), collections.deque()

    async def compute(self, pixels):
        """Returns (logits, number of images in the batch)."""
        answer = asyncio.get_running_loop().create_future()
        self.waiting.append((pixels, answer))
        self._feed()
        return await answer

    def _feed(self):
        loop = asyncio.get_running_loop()
        while self.idle and self.waiting:
            lane = self.idle.pop()
            batch = [self.waiting.popleft() for _ in range(min(MOST, len(self.waiting)))]
            lane.start([pixels for pixels, _ in batch],
                       lambda lane=lane, batch=batch: loop.call_soon_threadsafe(self._answer, lane, batch))

    def _answer(self, lane, batch):
        logits = lane.logits()
        self.idle.append(lane)
        self._feed()
        for (_, answer), row in zip(batch, logits):
            if not answer.done():  # the client may have cancelled the call
                answer.set_result((row, len(batch)))


class Service:
    def __init__(self, messages, arguments, decode, pool, lanes):
        self.messages, self.arguments, self.decode, self.pool = messages, arguments, decode, pool
        self.queue, self.admitted = Queue(lanes), 0

    async def classify(self, request, context):
        if self.admitted >= self.arguments.most_requests:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full")
        self.admitted += 1
        try:
            pixels = await asyncio.get_running_loop().run_in_executor(self.pool, self.decode, request.image, SIDE)
            logits, pictures = await self.queue.compute(pixels)
        finally:
            self.admitted -= 1
        return self._response(request, logits, pictures)

    def _response(self, request, logits, pictures):
        count = min(request.top_k or 5, len(logits))
        top = numpy.argpartition(-logits, count - 1)[:count]
        top = top[numpy.argsort(-logits[top], kind="stable")]
        powers = numpy.exp(logits - logits.max())
        response = self.messages.Response(request_id=request.request_id)
        for index, probability, logit in zip(top.tolist(), (powers[top] / powers.sum()).tolist(), logits[top].tolist()):
            response.predictions.add(index=index, label=f"class {index}", probability=probability, logit=logit)
        response.served_by.model, response.served_by.version = request.model, 1
        response.served_by.precision, response.served_by.device = self.arguments.precision, "cpu"
        response.batch.images = pictures
        return response

    def handlers(self):
        call = grpc.unary_unary_rpc_method_handler(self.classify, self.messages.Request.FromString,
                                                   self.messages.Response.SerializeToString)
        return grpc.method_handlers_generic_handler(peer_messages.SERVICE, {"Classify": call})


async def serve(service, description):
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 16 << 20)])
    server.add_generic_rpc_handlers([service.handlers()])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"{description}\nlistening on 127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timm", required=True, help="name of one of timm's models that takes 224x224 pixels")
    parser.add_argument("--weights", required=True, help="safetensors with timm's names")
    parser.add_argument("--contract", required=True, help="what protoc --descriptor_set_out wrote")
    parser.add_argument("--pictures", type=pathlib.Path, required=True, help="JPEG files, to choose the decoder")
    parser.add_argument("--precision", choices=list(openvino_graphs.HINTS), default="fp32")
    parser.add_argument("--threads", type=int, default=1, help="that decode, and as many that compute")
    parser.add_argument("--most-requests", type=int, default=64, help="between admission and answer")
    return parser.parse_args()


def main():
    arguments = parse()
    pool = concurrent.futures.ThreadPoolExecutor(arguments.threads)
    files = [path for path in sorted(arguments.pictures.iterdir()) if path.suffix.lower() in (".jpg", ".jpeg")]
    pictures = [path.read_bytes() for path in files]
    name, decode = peer_pictures.fastest(pictures[:64], SIDE, pool)
    pixels = numpy.stack([decode(picture, SIDE) for picture in pictures[:MOST]])
    graph = graph_of_bytes(peer_model.load_timm(arguments), arguments.precision, pixels)
    compiled = compile_batches(graph, arguments.precision, arguments.threads)
    lanes = [Lane(compiled) for _ in range(arguments.threads)]
    service = Service(peer_messages.Messages(arguments.contract), arguments, decode, pool, lanes)
    asyncio.run(serve(service, f"grpc.aio {grpc.__version__}, {openvino_graphs.NAME}, {name}"))


main()
