# SPDX-License-Identifier: Apache-2.0
"""A real vitrine-server over HTTP with the real tritonclient, and bodies that it never sends. Run by
script/test-oip-clients."""

import base64
import contextlib
import http.client
import json
import unittest

import numpy
import tritonclient.http

from oip_client_case import Either
from oip_pictures import CIFAR, LABELS, MODEL, SURE, encoded, pixels


class Http(Either, unittest.TestCase):
    module = tritonclient.http
    codes = {"INVALID_ARGUMENT": "400", "NOT_FOUND": "404", "DEADLINE_EXCEEDED": "504"}
    gzip = {"request_compression_algorithm": "gzip"}

    def address(self):
        return self.server.http

    def as_dict(self, value):
        return value

    def set_text(self, output, name, text):
        output._parameters[name] = text

    def set_truth(self, output, name, truth):
        output._parameters[name] = truth

    def ask(self, picture, **parameters):
        """The answer to a picture as the text of an element."""
        return self.post(json.dumps({
            "id": None, "parameters": None,
            "inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "data": [picture], "parameters": parameters}],
            "outputs": [{"name": "probabilities", "parameters": {"classification": 1, "binary_data": None}}]}))

    def test_forms_of_base64(self):
        raw = (CIFAR / SURE[1]).read_bytes()
        text = base64.b64encode(raw).decode()
        for form in (text, "data:image/jpeg;base64," + text, base64.encodebytes(raw).decode(),
                     base64.urlsafe_b64encode(raw).decode(), text.rstrip("=")):
            for parameters in ({}, {"content_type": "base64"}):
                status, answer = self.ask(form, **parameters)
                self.assertEqual(status, 200, answer)
                self.assertIn("horse", answer["outputs"][0]["data"][0])
        status, answer = self.ask(text[:8] + "!" + text[8:], content_type="base64")
        self.assertEqual(status, 400)
        self.assertIn("byte 8 is 0x21", answer["error"])

    def test_base64_of_a_large_picture(self):
        """As far as a message goes; beyond, the answer names the limit."""
        padding = b"\xff\xfe\xff\xff" + bytes(65533)  # a comment, which no decoder looks at
        raw = (CIFAR / SURE[1]).read_bytes()
        for size, expected in ((5 << 20, 200), (11 << 20, 200), (13 << 20, 413)):
            large = raw[:2] + padding * (size // len(padding)) + raw[2:]
            status, answer = self.ask(base64.b64encode(large).decode())
            self.assertEqual(status, expected, answer)
        self.assertIn("--max-message-bytes", answer["error"])

    def post(self, body, path=f"/v2/models/{MODEL}/infer", **headers):
        connection = http.client.HTTPConnection(self.server.http, timeout=30)
        self.addCleanup(connection.close)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a body that is refused is not read to its end
            connection.request("POST", path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def test_json_data(self):
        """Values as JSON, nested and flat, and the answer as JSON."""
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

    def test_binary_and_json_answers(self):
        for binary in (True, False):
            result = self.infer(encoded(SURE[:2]), "BYTES", [("logits", {"binary_data": binary})])
            self.assertEqual("data" in result.get_response()["outputs"][0], not binary)
            self.assertEqual(result.as_numpy("logits").shape, (2, 10))
            result = self.infer(encoded(SURE[:2]), "BYTES", [("unsure", {"binary_data": binary})])
            self.assertEqual(result.as_numpy("unsure").tolist(), [False, False])

    def test_malformed_bodies(self):
        tensor = {"name": "image", "datatype": "UINT8", "shape": [1, 2, 2, 3], "data": list(range(12))}

        def with_(**change):
            return json.dumps({"inputs": [{**tensor, **change}]})

        for body, sentence in [
            ("", "not JSON"), ("{", "not JSON"), ("[" * 100000, "nested deeper"), ("[]", "object"), ("{}", "inputs"),
            ('{"inputs": 3}', "array"), ('{"inputs": [3]}', "objects"), (with_(data=[1, 2]), "2 values"),
            (with_(data=[300] * 12), "255"), (with_(data=[-1] * 12), "255"), (with_(data=[1.5] * 12), "255"),
            (with_(data=["a"]), "255"), (with_(shape=[1, -1, 1, 3]), "whole numbers"), (with_(shape=[1e9, 1, 1, 3]), "whole"),
            (with_(shape=[1, 2**31 - 1, 2**31 - 1, 3]), "8192"), (with_(shape=[0, 1, 1, 3]), "1 to 64"),
            (with_(shape=[2**62] * 9), "dimensions"), (with_(datatype="FP32", data=[1e39, 0, 0]), "range"),
            ('{"inputs":[{"name":"image","datatype":"FP32","shape":[1,1,1,3],"data":[1e999,0,0]}]}', "JSON"),
            (with_(parameters={"binary_data_size": 3}), "either"), (with_(parameters={"shared_memory_region": "a"}), "shared"),
            (with_(parameters={"colour": "red"}), "colour"), (with_(parameters={"layout": [1]}), "layout"),
            (json.dumps({"inputs": [tensor], "parameters": {"priority": "high"}}), "whole number"),
            (json.dumps({"inputs": [tensor], "id": 3}), "string"), (json.dumps({"inputs": [tensor] * 2}), "2 inputs"),
            (b'{"id": "\xff\xfe"}', "not JSON"), (with_(shape=[1, 1, 1, 3], data=[1, 2, 3]), "both ways"), (with_(data=[[[[[[[[[[1]]]]]]]]]]), "nested"),
        ]:
            status, answer = self.post(body)
            self.assertIn(status, (400, 501), body[:80])
            self.assertIn(sentence, answer["error"], body[:80])

    def test_malformed_lengths(self):
        head = json.dumps({"inputs": [{"name": "image", "datatype": "UINT8", "shape": [1, 1, 1, 3],
                                       "parameters": {"binary_data_size": 3, "layout": "NHWC"}}]})
        for length, body, sentence in [("-1", head, "no number"), ("x", head, "no number"), ("99999", head, "99999"),
                                       ("99999999999999999999999", head, "no number"),
                                       (str(len(head)), head + "ab", "2 bytes are left"),
                                       (str(len(head)), head + "abcd", "belong to no input"), ("5", head, "not JSON")]:
            status, answer = self.post(body, Inference_Header_Content_Length=length)
            self.assertEqual(status, 400)
            self.assertIn(sentence, answer["error"])
        status, answer = self.post(head + "abc", Inference_Header_Content_Length=str(len(head)))
        self.assertEqual(status, 200, answer)

    def test_bodies_that_are_refused_unread(self):
        self.assertEqual(self.post(b"x", Content_Encoding="gzip")[0], 400)
        connection = http.client.HTTPConnection(self.server.http, timeout=30)
        self.addCleanup(connection.close)
        connection.putrequest("POST", f"/v2/models/{MODEL}/infer")
        connection.putheader("Content-Length", str(1 << 40))
        connection.endheaders()
        answer = connection.getresponse()
        self.assertEqual(answer.status, 413)
        self.assertIn("at most", json.loads(answer.read())["error"])

    def test_large_json_is_refused(self):
        status, answer = self.post("[" + "0," * (3 << 20) + "0]")
        self.assertEqual(status, 400)
        self.assertIn("binary", answer["error"])

    def test_other_paths(self):
        for method, path, status in [("GET", "/", 404), ("GET", "/v1", 404), ("GET", f"/v2/models/{MODEL}/infer", 405),
                                     ("GET", "/etc/passwd", 404), ("POST", f"/v2/models/{MODEL}", 404),
                                     ("DELETE", f"/v2/models/{MODEL}", 404), ("GET", "/v2/models/../../etc/passwd", 404),
                                     ("POST", "/v2/repository/models/x/load", 403)]:
            connection = http.client.HTTPConnection(self.server.http, timeout=30)
            connection.request(method, path)
            answer = connection.getresponse()
            self.assertEqual(answer.status, status, path)
            self.assertIn("error", json.loads(answer.read()))
            connection.close()
