# SPDX-License-Identifier: Apache-2.0
"""Tests a real vitrine-server with KServe's own clients, over gRPC and REST. Run by script/test-oip-clients."""

import importlib.util
import sys
import types
import unittest
import urllib.error
import urllib.request

import numpy

import oip_server
from oip_pictures import LABELS, MODEL, SURE, class_of, encoded, pixels

# `import kserve` would also load its server and its Kubernetes client; the modules below do not.
package = types.ModuleType("kserve")
package.__path__ = importlib.util.find_spec("kserve").submodule_search_locations
sys.modules["kserve"] = package
from kserve.inference_client import InferenceGRPCClient, InferenceRESTClient, RESTConfig
from kserve.protocol.infer_type import InferInput, InferRequest, RequestedOutput


def request(data, datatype, binary=True, outputs=("probabilities",), **options):
    image = InferInput("image", list(data.shape), datatype)
    image.set_data_from_numpy(data, binary_data=binary)
    return InferRequest(MODEL, [image], request_outputs=[RequestedOutput(name) for name in outputs], **options)


def labels(answer):
    return [LABELS[row.argmax()] for row in answer.get_output_by_name("probabilities").as_numpy()]


def forms(name):
    """Returns the image once for each datatype, as a pair of the array and the datatype's name."""
    picture = pixels(name)
    return [(encoded([name]), "BYTES"), (picture, "UINT8"), ((picture / 255).astype(numpy.float32), "FP32")]


class KServe(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = oip_server.Server()
        cls.server.wait(cls.is_ready)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        assert code == 0, f"vitrine-server ended with {code}"

    @classmethod
    def is_ready(cls):
        try:
            return urllib.request.urlopen(f"http://{cls.server.http}/v2/models/{MODEL}/ready").status == 200
        except urllib.error.HTTPError:
            return False

    async def asyncSetUp(self):
        self.client = await self.enterAsyncContext(InferenceGRPCClient(self.server.grpc))
        self.rest = await self.enterAsyncContext(InferenceRESTClient(RESTConfig(protocol="v2")))

    async def test_grpc_accepts_raw_values(self):
        for name in SURE:
            for data, datatype in forms(name):
                with self.subTest(name=name, datatype=datatype):
                    self.assertEqual(labels(await self.client.infer(request(data, datatype))), [class_of(name)])

    async def test_grpc_accepts_typed_values(self):
        """This client converts BYTES to text, so it cannot send image files."""
        for data, datatype in forms(SURE[1])[1:]:
            with self.subTest(datatype=datatype):
                answer = await self.client.infer(request(data, datatype, binary=False))
                self.assertEqual(labels(answer), [class_of(SURE[1])])

    async def test_rest_accepts_packed_values(self):
        for name in SURE:
            for data, datatype in forms(name):
                with self.subTest(name=name, datatype=datatype):
                    answer = await self.rest.infer(f"http://{self.server.http}", request(data, datatype), model_name=MODEL)
                    self.assertEqual(labels(answer), [class_of(name)])

    async def test_batch_returns_its_id(self):
        answer = await self.client.infer(request(encoded(SURE), "BYTES", request_id="frame 7", outputs=("logits", "probabilities")))
        self.assertEqual((answer.id, answer.model_name, answer.model_version), ("frame 7", MODEL, "2"))
        self.assertEqual(labels(answer), [class_of(name) for name in SURE])
        self.assertEqual(answer.get_output_by_name("logits").as_numpy().shape, (len(SURE), len(LABELS)))
