# SPDX-License-Identifier: Apache-2.0
"""Tests a real vitrine-server with OpenAI's own Python client. Run by script/test-oip-clients."""

import base64
import hashlib
import unittest

import numpy
import openai

import oip_server
from oip_pictures import CIFAR, MODEL, SURE

FOLDER = oip_server.SOURCE / "models/bundled" / MODEL / "2"


def text_of(name):
    return base64.b64encode((CIFAR / name).read_bytes()).decode()


class OpenAi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = oip_server.Server(models=(MODEL, "kv-pos-mnist"))
        cls.addClassCleanup(cls.server.stop)
        cls.client = openai.OpenAI(base_url=f"http://{cls.server.http}/v1", api_key="none", max_retries=0)
        cls.addClassCleanup(cls.client.close)
        cls.server.wait(lambda: len(cls.client.models.list().data) == 2)

    def create(self, **arguments):
        return self.client.embeddings.create(model=MODEL, **arguments)

    def test_models_are_listed_and_described(self):
        self.assertEqual([each.id for each in self.client.models.list()], [MODEL, "kv-pos-mnist"])
        model = self.client.models.retrieve(MODEL)
        self.assertEqual((model.id, model.object, model.owned_by), (MODEL, "model", "vitrine"))
        self.assertGreater(model.created, 1_700_000_000)

    def test_one_and_several_images_are_embedded(self):
        alone = self.create(input=text_of(SURE[0]))
        self.assertEqual((alone.object, alone.model, len(alone.data)), ("list", MODEL, 1))
        self.assertAlmostEqual(float(numpy.linalg.norm(alone.data[0].embedding)), 1, places=5)
        self.assertGreater(alone.usage.total_tokens, 16)
        several = self.create(input=["data:image/jpeg;base64," + text_of(name) for name in SURE])
        self.assertEqual([each.index for each in several.data], list(range(len(SURE))))
        numpy.testing.assert_allclose(several.data[0].embedding, alone.data[0].embedding, atol=1e-4)
        digest = hashlib.sha256((FOLDER / "weights.safetensors").read_bytes()).hexdigest()
        for each in several.data:
            self.assertEqual((each.object, each.model, each.version, each.weights_sha256), ("embedding", MODEL, 2, digest))

    def test_both_encodings_give_equal_numbers(self):
        numbers = self.create(input=text_of(SURE[0]), encoding_format="float").data[0].embedding
        packed = self.create(input=text_of(SURE[0]), encoding_format="base64").data[0].embedding
        values = numpy.frombuffer(base64.b64decode(packed), "<f4")
        numpy.testing.assert_array_equal(numpy.array(numbers, numpy.float32), values)
        self.assertEqual(self.create(input=text_of(SURE[0])).data[0].embedding, [float(value) for value in values])

    def test_extensions_of_openai_work(self):
        whole = self.create(input=text_of(SURE[0]), extra_body={"normalize": False, "feature": "mean", "version": "stable"})
        plain = numpy.array(whole.data[0].embedding)
        self.assertGreater(abs(numpy.linalg.norm(plain) - 1), 0.1)
        unit = numpy.array(self.create(input=text_of(SURE[0]), extra_body={"feature": "mean"}).data[0].embedding)
        numpy.testing.assert_allclose(unit, plain / numpy.linalg.norm(plain), atol=1e-5)


if __name__ == "__main__":
    unittest.main()
