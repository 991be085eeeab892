# SPDX-License-Identifier: Apache-2.0
"""Tests that the server's OpenAPI document is valid, and that real answers match it."""
import base64
import http.client
import json
import re
import unittest
import urllib.parse

import jsonschema
import openapi_spec_validator
from oip_server import SOURCE, Server

MODEL = "eit-mini-cifar10"
PICTURE = (SOURCE / "samples" / "cifar" / "horse-bay.jpg").read_bytes()
INPUT = {"name": "image", "datatype": "UINT8", "shape": [1, 8, 8, 3], "data": [7] * (8 * 8 * 3)}


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        cls.server.wait(lambda: cls.ask("GET", f"/v2/models/{MODEL}/ready")[0] == 200)
        cls.document = cls.ask("GET", "/openapi.json")[1]

    @classmethod
    def ask(cls, method, url, body=None, headers=()):
        connection = http.client.HTTPConnection(cls.server.http, timeout=30)
        connection.request(method, url, body, dict(headers))
        response = connection.getresponse()
        read = response.read()
        connection.close()
        return response.status, json.loads(read) if read else None

    def operation(self, method, url):
        """Returns the operation of the path that matches the URL. If several paths match, takes the one with the fewest
        parameters."""
        path = urllib.parse.urlsplit(url).path
        for template in sorted(self.document["paths"], key=lambda each: each.count("{")):
            pattern = "[^/:]+".join(re.escape(part) for part in re.split(r"\{\w+\}", template))
            if re.fullmatch(pattern, path) and method.lower() in self.document["paths"][template]:
                return self.document["paths"][template][method.lower()]
        self.fail(f"{method} {url} is not described")

    def resolve(self, node):
        while "$ref" in node:
            found = self.document
            for name in node["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            node = found
        return node

    def check(self, method, url, status, body=None):
        got, answer = self.ask(method, url, body)
        self.assertEqual(got, status, (url, answer))
        described = self.operation(method, url)["responses"]
        self.assertIn(str(status), described, url)
        schema = self.resolve(described[str(status)])["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator({**schema, "components": self.document["components"]}).validate(answer)
        return answer

    def test_the_document_is_valid_openapi(self):
        openapi_spec_validator.validate(self.document)

    def test_v1_answers_match_the_document(self):
        classify = f"/v1/models/{MODEL}:classify"
        self.check("GET", "/v1/models", 200)
        self.check("POST", classify, 200, PICTURE)
        maps = self.check("POST", classify + "?attention=mean&top_k=2&request_id=x", 200, PICTURE)
        self.assertIn("png", maps["attention"][0])
        numbers = self.check("POST", f"/v1/models/{MODEL}/versions/2:classify?attention=mean:0:all&attention_encoding=float",
                             200, PICTURE)
        self.assertIn("values", numbers["attention"][0])
        self.check("POST", classify, 400, b"no picture")
        self.check("POST", "/v1/models/nobody:classify", 404, PICTURE)
        self.check("POST", classify + "?deadline=1ns", 504, PICTURE)

    def test_embeddings_match_the_document(self):
        picture = base64.b64encode(PICTURE).decode()
        for body in ({"model": MODEL, "input": picture}, {"model": MODEL, "input": [picture] * 2, "encoding_format": "base64",
                                                          "version": 2, "feature": "mean", "normalize": False, "user": None}):
            schema = self.document["components"]["schemas"]["EmbeddingsRequest"]
            jsonschema.Draft202012Validator(schema).validate(body)
            answer = self.check("POST", "/v1/embeddings", 200, json.dumps(body))
            self.assertEqual(len(answer["data"]), len(body["input"]) if isinstance(body["input"], list) else 1)
        self.check("POST", "/v1/embeddings", 400, b"{}")
        self.check("POST", "/v1/embeddings", 404, json.dumps({"model": "nobody", "input": picture}))

    def test_v2_answers_match_the_document(self):
        self.check("GET", "/v2", 200)
        self.check("GET", "/v2/health/live", 200)
        self.check("GET", "/v2/health/ready", 200)
        self.check("POST", "/v2/repository/index", 200, b"{}")
        self.check("GET", "/v2/models/stats", 200)
        self.check("GET", f"/v2/models/{MODEL}/versions/stable/stats", 400)
        for model in (f"/v2/models/{MODEL}", f"/v2/models/{MODEL}/versions/2"):
            for verb in ("", "/ready", "/config", "/stats"):
                self.check("GET", model + verb, 200)
            request = json.dumps({"id": "x", "inputs": [INPUT], "outputs": [{"name": "probabilities"}]})
            self.check("POST", model + "/infer", 200, request)
        self.check("POST", f"/v2/models/{MODEL}/infer", 400, b"{")
        self.check("GET", "/v2/models/nobody", 404)

    def test_models_and_status_match_the_document(self):
        self.check("GET", "/v1/models", 200)
        self.check("GET", f"/v1/models/{MODEL}", 200)
        self.check("GET", f"/v1/models/{MODEL}/versions/2", 200)
        self.check("GET", "/v1/models/nobody", 404)
        self.check("GET", "/v1/status", 200)

    def test_documented_parameters_are_those_accepted(self):
        refusal = self.check("POST", f"/v1/models/{MODEL}:classify?nothing=1", 400, PICTURE)["error"]
        taken = re.split(r",? and |, ", refusal.split("valid parameters are ")[1])
        described = [self.resolve(each) for each in self.operation("POST", f"/v1/models/{MODEL}:classify")["parameters"]]
        self.assertEqual({each["name"] for each in described if each["in"] == "query"}, set(taken))


if __name__ == "__main__":
    unittest.main()
