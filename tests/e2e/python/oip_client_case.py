# SPDX-License-Identifier: Apache-2.0
"""Tests shared by tritonclient's clients for gRPC and HTTP."""

import numpy
import tritonclient.grpc
from tritonclient.utils import InferenceServerException

import oip_server
from oip_pictures import ATTENTIVE, LABELS, MODEL, SURE, TEMPERATURE, UNSURE_BELOW, class_of, encoded, pixels, words


class OipClientCase:
    """Tests that run with each client. Every subclass starts its own server and defines `module`, `codes`, `gzip`,
    `address`, `as_dict` and `set_text`."""

    @classmethod
    def setUpClass(cls):
        cls.server = oip_server.Server(models=(MODEL, ATTENTIVE))
        client = tritonclient.grpc.InferenceServerClient(cls.server.grpc)
        cls.server.wait(
            lambda: client.is_server_ready() and client.is_model_ready(MODEL) and client.is_model_ready(ATTENTIVE))
        client.close()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        assert code == 0, f"vitrine-server ended with {code}"

    def setUp(self):
        self.client = self.module.InferenceServerClient(self.address())
        self.addCleanup(self.client.close)

    def infer(self, data, datatype, outputs=None, model=MODEL, **arguments):
        image = self.module.InferInput("image", list(data.shape), datatype)
        image.set_data_from_numpy(data)
        if outputs is not None:
            outputs = [self.module.InferRequestedOutput(name, **options) for name, options in outputs]
        return self.client.infer(model, [image], outputs=outputs, **arguments)

    def refused(self, code, sentence, *arguments, **options):
        with self.assertRaises(InferenceServerException) as caught:
            self.infer(*arguments, **options)
        self.assertIn(code, str(caught.exception.status()))
        self.assertIn(sentence, caught.exception.message())

    def test_compression_does_not_change_values(self):
        """Requests and answers compressed by tritonclient give the same values."""
        black = numpy.zeros((1, 32, 32, 3), dtype=numpy.uint8)
        plain = self.infer(black, "UINT8").as_numpy("probabilities")
        packed = self.infer(black, "UINT8", **self.gzip).as_numpy("probabilities")
        numpy.testing.assert_array_equal(packed, plain)

    def test_health_of_server_and_models(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready(MODEL))
        self.assertTrue(self.client.is_model_ready(MODEL, "2"))
        self.assertFalse(self.client.is_model_ready(MODEL, "7"))
        self.assertFalse(self.client.is_model_ready("nobody"))

    def test_metadata_of_server_and_model(self):
        about = self.as_dict(self.client.get_server_metadata())
        self.assertEqual(about["name"], "vitrine")
        self.assertIn("classification", about["extensions"])
        self.assertNotIn("model_repository", about["extensions"], "loads belong to the admin listener")
        model = self.as_dict(self.client.get_model_metadata(MODEL))
        self.assertEqual(model["versions"], ["2"])
        self.assertEqual([each["name"] for each in model["inputs"]], ["image"])
        shapes = {each["name"]: [int(n) for n in each["shape"]] for each in model["outputs"]}
        self.assertEqual(shapes, {"probabilities": [-1, 10], "logits": [-1, 10]})
        config = self.as_dict(self.client.get_model_config(MODEL))
        config = config.get("config", config)
        self.assertEqual(config["max_batch_size"], 64)
        self.assertEqual(config["input"][0]["data_type"], "TYPE_STRING")

    def test_encoded_image_is_classified(self):
        for name in SURE:
            result = self.infer(encoded([name]), "BYTES")
            probabilities = result.as_numpy("probabilities")
            logits = result.as_numpy("logits")
            self.assertEqual((probabilities.shape, probabilities.dtype), ((1, 10), numpy.float32))
            self.assertEqual(LABELS[probabilities[0].argmax()], class_of(name))
            exact = numpy.exp((logits - logits.max()) / TEMPERATURE)
            numpy.testing.assert_allclose(probabilities, exact / exact.sum(), rtol=1e-4)

    def test_batch_equals_single_images(self):
        whole = self.infer(encoded(SURE), "BYTES", [("logits", {})]).as_numpy("logits")
        self.assertEqual(whole.shape, (len(SURE), 10))
        for row, name in zip(whole, SURE):
            alone = self.infer(encoded([name]), "BYTES", [("logits", {})]).as_numpy("logits")[0]
            numpy.testing.assert_allclose(row, alone, rtol=1e-3, atol=1e-3)

    def test_classification_returns_top_classes(self):
        result = self.infer(encoded(SURE), "BYTES", [("probabilities", {"class_count": 3}), ("logits", {})])
        best = result.as_numpy("probabilities")
        self.assertEqual(best.shape, (len(SURE), 3))
        for row, logits, name in zip(best, result.as_numpy("logits"), SURE):
            rows = [words(each) for each in row]
            self.assertEqual(rows[0][2], class_of(name))
            self.assertEqual([index for _, index, _ in rows], list(numpy.argsort(-logits)[:3]))
            self.assertEqual([label for _, _, label in rows], [LABELS[index] for _, index, _ in rows])
            self.assertEqual(rows, sorted(rows, reverse=True))

    def test_unsure_is_returned_on_request(self):
        """If a client requests the output "unsure", it gets one bool for each image."""
        names = ["cat-chelsea.jpg", *SURE]
        result = self.infer(encoded(names), "BYTES", [("probabilities", {}), ("unsure", {})])
        unsure = result.as_numpy("unsure")
        self.assertEqual((unsure.shape, unsure.dtype), ((len(names),), numpy.bool_))
        self.assertEqual(list(unsure), list(result.as_numpy("probabilities").max(1) < UNSURE_BELOW))
        self.assertEqual(set(unsure), {True, False})
        alone = self.infer(encoded(names), "BYTES", [("unsure", {})])
        self.assertEqual(list(alone.as_numpy("unsure")), list(unsure))
        self.assertIsNone(alone.as_numpy("probabilities"))
        self.assertIsNone(self.infer(encoded(names), "BYTES").as_numpy("unsure"))

    def test_pixel_formats_give_equal_logits(self):
        for name in SURE:
            image = pixels(name)
            bytes_, floats = image, (image / 255).astype(numpy.float32)
            answers = [
                self.infer(data, datatype, [("logits", {})]).as_numpy("logits")
                for data, datatype in [(bytes_, "UINT8"), (floats, "FP32"),
                                       (bytes_.transpose(0, 3, 1, 2).copy(), "UINT8"),
                                       (floats.transpose(0, 3, 1, 2).copy(), "FP32")]
            ]
            self.assertEqual(LABELS[answers[0][0].argmax()], class_of(name))
            for other in answers[1:]:
                numpy.testing.assert_allclose(other, answers[0], rtol=1e-3, atol=1e-3)

    def test_request_id_and_version_are_returned(self):
        answer = self.as_dict(self.infer(encoded(SURE[:1]), "BYTES", request_id="frame 7",
                                         model_version="2").get_response())
        self.assertEqual((answer["id"], answer["model_name"], answer["model_version"]), ("frame 7", MODEL, "2"))

    def test_attention_maps_are_returned(self):
        image = self.module.InferInput("image", [1, 1], "BYTES")
        image.set_data_from_numpy(encoded(SURE[:1]))
        requested = self.module.InferRequestedOutput("attention")
        self.set_text(requested, "kind", "CLASS_ATTENTION")
        values = self.client.infer(ATTENTIVE, [image], outputs=[requested]).as_numpy("attention")
        self.assertEqual((values.ndim, values.shape[0], values.dtype), (3, 1, numpy.float32))
        self.assertGreater(values.sum(), 0)
        self.set_text(requested, "kind", "class-attention")
        same = self.client.infer(ATTENTIVE, [image], outputs=[requested]).as_numpy("attention")
        numpy.testing.assert_array_equal(same, values)
        self.set_text(requested, "kind", "SPELL")
        with self.assertRaisesRegex(InferenceServerException, "SPELL"):
            self.client.infer(ATTENTIVE, [image], outputs=[requested])

    def test_embedding_can_be_normalized(self):
        image = self.module.InferInput("image", [len(SURE), 1], "BYTES")
        image.set_data_from_numpy(encoded(SURE))
        requested = self.module.InferRequestedOutput("embedding")
        plain = self.client.infer(MODEL, [image], outputs=[requested]).as_numpy("embedding")
        self.set_text(requested, "kind", "class")
        numpy.testing.assert_array_equal(self.client.infer(MODEL, [image], outputs=[requested]).as_numpy("embedding"), plain)
        self.set_truth(requested, "normalize", True)
        unit = self.client.infer(MODEL, [image], outputs=[requested]).as_numpy("embedding")
        lengths = numpy.linalg.norm(plain, axis=1, keepdims=True)
        self.assertGreater(abs(lengths - 1).max(), 0.1)
        numpy.testing.assert_allclose(unit, plain / lengths, rtol=1e-5, atol=1e-7)

    def test_errors_have_the_right_code(self):
        picture = encoded(SURE[:1])
        invalid, missing = self.codes["INVALID_ARGUMENT"], self.codes["NOT_FOUND"]
        self.refused(missing, "nobody", picture, "BYTES", model="nobody")
        self.refused(missing, "", picture, "BYTES", model_version="7")
        self.refused(invalid, "JPEG", numpy.array([[b"no picture"]], dtype=numpy.object_), "BYTES")
        # If one image is invalid, the server rejects the whole batch.
        batch = encoded(SURE)
        batch[2, 0] = batch[2, 0][:200]
        self.refused(invalid, "", batch, "BYTES")

    def test_repository_index_lists_models(self):
        index = self.as_dict(self.client.get_model_repository_index())
        rows = index if isinstance(index, list) else index["models"]
        states = {row["name"]: (row["version"], row["state"]) for row in rows}
        self.assertEqual(states[MODEL], ("2", "READY"))
