# SPDX-License-Identifier: Apache-2.0
"""Tests the tensor views of every bundled model with the calls of Triton's image clients: reads metadata and configuration, sends a
tensor scaled as these clients scale it, and gets classes as texts. Run by script/test-oip-clients."""

import functools
import queue
import unittest

import numpy
import PIL.Image
import tritonclient.grpc
import tritonclient.http

import oip_server

SAMPLES = oip_server.SOURCE / "samples"
# MODELS: images that each model classifies with certainty, in the order of the classes. VIEWS: the scaling of each tensor view.
MODELS = {
    "eit-mini-cifar10": ["airplane-747.jpg", "horse-bay.jpg", "ship-junk.png", "truck-garbage.jpg"],
    "xcit-n12-f-sne-cifar10": ["airplane-747.jpg", "horse-bay.jpg", "ship-junk.png", "truck-garbage.jpg"],
    "kv-pos-mnist": [f"digit-{digit}.png" for digit in range(10)],
}
VIEWS = {
    "tensor": lambda pixels: pixels,
    "tensor-inception": lambda pixels: pixels / 127.5 - 1,
    "tensor-vgg": lambda pixels: pixels - numpy.array([123, 117, 104] if pixels.shape[-1] == 3 else [128]),
}


def file_of(model, name):
    return SAMPLES / ("digits" if model == "kv-pos-mnist" else "cifar") / name


def class_of(name):
    stem = name.split(".")[0]
    return stem.split("-")[1 if stem.startswith("digit") else 0]


class ImageClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = oip_server.Server(models=tuple(MODELS))
        cls.addClassCleanup(cls.server.stop)
        cls.clients = {"grpc": tritonclient.grpc.InferenceServerClient(cls.server.grpc),
                       "http": tritonclient.http.InferenceServerClient(cls.server.http, concurrency=4)}
        for client in cls.clients.values():
            cls.addClassCleanup(client.close)
        cls.server.wait(lambda: all(cls.clients["grpc"].is_model_ready(name + ":tensor") for name in MODELS))

    def form(self, protocol, name):
        """Checks that the metadata and the configuration agree. Returns the names of the input and the output, and the number of
        channels, height and width."""
        client = self.clients[protocol]
        if protocol == "grpc":
            metadata, config = client.get_model_metadata(name), client.get_model_config(name).config
            self.assertEqual((len(metadata.inputs), len(metadata.outputs), len(config.input)), (1, 1, 1))
            inputs, outputs, shape = metadata.inputs[0], metadata.outputs[0], list(metadata.inputs[0].shape)
            self.assertEqual(config.input[0].format, 2, "FORMAT_NCHW")
            self.assertEqual(list(config.input[0].dims), shape[1:])
            names = (inputs.name, inputs.datatype, outputs.name, outputs.datatype, len(outputs.shape))
            most = config.max_batch_size
        else:
            metadata, config = client.get_model_metadata(name), client.get_model_config(name)
            self.assertEqual((len(metadata["inputs"]), len(metadata["outputs"]), len(config["input"])), (1, 1, 1))
            inputs, outputs, shape = metadata["inputs"][0], metadata["outputs"][0], metadata["inputs"][0]["shape"]
            self.assertEqual(config["input"][0]["format"], "FORMAT_NCHW")
            self.assertEqual(config["input"][0]["dims"], shape[1:])
            names = (inputs["name"], inputs["datatype"], outputs["name"], outputs["datatype"], len(outputs["shape"]))
            most = config["max_batch_size"]
        self.assertEqual((names[1], names[3], names[4], len(shape), shape[0]), ("FP32", "FP32", 2, 4, -1))
        self.assertGreater(most, 1)
        return names[0], names[2], *shape[1:]

    def request(self, protocol, model, view, names):
        """Returns the inputs and the requested outputs for a batch of these images, and the output's name."""
        put, get, channels, height, width = self.form(protocol, f"{model}:{view}")
        planes = []
        for name in names:
            picture = PIL.Image.open(file_of(model, name)).convert("L" if channels == 1 else "RGB")
            pixels = numpy.array(picture.resize((width, height), PIL.Image.BILINEAR)).reshape(height, width, channels)
            planes.append(VIEWS[view](pixels.astype(numpy.float32)).astype(numpy.float32).transpose(2, 0, 1))
        module = getattr(tritonclient, protocol)
        batch = numpy.stack(planes)
        image = module.InferInput(put, batch.shape, "FP32")
        image.set_data_from_numpy(batch)
        return [image], [module.InferRequestedOutput(get, class_count=3)], get

    def check(self, result, output, name, names):
        rows = result.as_numpy(output)
        self.assertEqual(rows.shape, (len(names), 3))
        for row, picture in zip(rows, names):
            value, index, label = row[0].decode().split(":")
            self.assertEqual(label, class_of(picture), (name, value, index))
        response = result.get_response()
        self.assertEqual(response["model_name"] if isinstance(response, dict) else response.model_name, name)

    def each(self):
        for model, names in MODELS.items():
            for view in VIEWS:
                for batch in (names[:1], names[:3], names * 2):
                    yield model, view, batch

    def test_asynchronous_requests_are_answered(self):
        for protocol, client in self.clients.items():
            asked, done = [], queue.Queue()
            for model, view, names in self.each():
                inputs, outputs, output = self.request(protocol, model, view, names)
                arguments = {"request_id": str(len(asked)), "model_version": "", "outputs": outputs}
                if protocol == "grpc":
                    client.async_infer(f"{model}:{view}", inputs,
                                       functools.partial(lambda place, result, error: done.put((place, result, error)), len(asked)),
                                       **arguments)
                    asked.append((output, f"{model}:{view}", names))
                else:
                    asked.append((client.async_infer(f"{model}:{view}", inputs, **arguments), output, f"{model}:{view}", names))
            for each in asked:
                if protocol == "grpc":
                    place, result, error = done.get(timeout=60)
                    self.assertIsNone(error)
                    self.check(result, *asked[place])
                else:
                    self.check(each[0].get_result(), *each[1:])

    def test_stream_requests_are_answered(self):
        client, asked, done = self.clients["grpc"], [], queue.Queue()
        client.start_stream(lambda result, error: done.put((result, error)))
        for model, view, names in self.each():
            inputs, outputs, output = self.request("grpc", model, view, names)
            client.async_stream_infer(f"{model}:{view}", inputs, request_id=str(len(asked)), outputs=outputs)
            asked.append((output, f"{model}:{view}", names))
        client.stop_stream()
        for each in asked:
            result, error = done.get(timeout=60)
            self.assertIsNone(error)
            self.check(result, *each)


if __name__ == "__main__":
    unittest.main()
