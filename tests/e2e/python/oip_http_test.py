# SPDX-License-Identifier: Apache-2.0
"""Tests a real vitrine-server over HTTP with the real tritonclient, and with bodies that tritonclient never sends. Run by
script/test-oip-clients."""

import base64
import contextlib
import http.client
import json
import unittest

import numpy
import tritonclient.http

from oip_client_case import OipClientCase
from oip_pictures import CIFAR, LABELS, MODEL, SURE, encoded, pixels


class Http(OipClientCase, unittest.TestCase):
    module = tritonclient.http
    codes = {"INVALID_ARGUMENT": "400", "NOT_FOUND": "404"}
    gzip = {"request_compression_algorithm": "gzip"}

    def address(self):
        return self.server.http

    def as_dict(self, value):
        return value

    def set_text(self, output, name, text):
        output._parameters[name] = text

    def set_truth(self, output, name, truth):
        output._parameters[name] = truth

    def post(self, body, **headers):
        connection = http.client.HTTPConnection(self.server.http, timeout=30)
        self.addCleanup(connection.close)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server does not read a refused body to its end
            connection.request("POST", f"/v2/models/{MODEL}/infer", body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def test_json_data_is_accepted_and_returned(self):
        """Sends values as nested and flat JSON, and reads the answer as JSON."""
        image = pixels(SURE[1])
        for data in (image.tolist(), image.ravel().tolist()):
            status, answer = self.post(json.dumps({
                "inputs": [{"name": "image", "datatype": "UINT8", "shape": [1, 32, 32, 3], "data": data}],
                "outputs": [{"name": "probabilities", "parameters": {"classification": 1}}]}))
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["outputs"][0]["data"][0].split(":")[2], "horse")
        text = base64.b64encode((CIFAR / SURE[1]).read_bytes()).decode()
        status, answer = self.post(json.dumps({
            "id": "a", "inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "data": [text],
                                   "parameters": {"content_type": "base64"}}]}))
        self.assertEqual((status, answer["id"]), (200, "a"))
        self.assertEqual(LABELS[numpy.argmax(answer["outputs"][0]["data"])], "horse")

    def test_answers_can_be_binary_or_json(self):
        for binary in (True, False):
            result = self.infer(encoded(SURE[:2]), "BYTES", [("logits", {"binary_data": binary})])
            self.assertEqual("data" in result.get_response()["outputs"][0], not binary)
            self.assertEqual(result.as_numpy("logits").shape, (2, 10))
            result = self.infer(encoded(SURE[:2]), "BYTES", [("unsure", {"binary_data": binary})])
            self.assertEqual(result.as_numpy("unsure").tolist(), [False, False])
