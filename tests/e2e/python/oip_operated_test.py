# SPDX-License-Identifier: Apache-2.0
"""Tests with the real tritonclient that the admin listener loads and unloads models, and that bearer tokens are
required. Run by script/test-oip-clients."""

import hashlib
import pathlib
import tempfile
import unittest
import urllib.request

import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

import oip_server
from oip_pictures import MODEL, SURE, encoded


class Operated(unittest.TestCase):
    TOKEN = "open-sesame-" * 4

    def start(self, *arguments):
        operated = oip_server.Server(*arguments)
        self.addCleanup(lambda: self.assertEqual(operated.stop(), 0))
        return operated

    def test_load_and_unload_on_the_admin_listener(self):
        operated = self.start("--admin", "unix://{folder}/admin")
        client = tritonclient.grpc.InferenceServerClient(operated.grpc)
        admin = tritonclient.grpc.InferenceServerClient(f"unix://{operated.folder}/admin")
        operated.wait(lambda: client.is_model_ready(MODEL))
        admin.unload_model(MODEL)
        self.assertFalse(client.is_model_ready(MODEL))
        admin.load_model(MODEL)
        self.assertTrue(client.is_model_ready(MODEL))
        with self.assertRaisesRegex(InferenceServerException, "no configuration"):
            admin.load_model(MODEL, config="{}")
        with self.assertRaises(InferenceServerException) as caught:
            admin.load_model("nobody")
        self.assertEqual(caught.exception.status(), "StatusCode.NOT_FOUND")
        self.assertIn("RepositoryModelLoad", operated.log.read_text())

    def test_tokens_are_required(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tokens = pathlib.Path(folder.name) / "tokens"
        tokens.touch(0o600)
        tokens.write_text(f"ci sha256:{hashlib.sha256(self.TOKEN.encode()).hexdigest()}\n")
        operated = self.start("--tokens", str(tokens))
        for module, address, wrong in [(tritonclient.grpc, operated.grpc, "StatusCode.UNAUTHENTICATED"),
                                       (tritonclient.http, operated.http, "401")]:
            client = module.InferenceServerClient(address)
            self.addCleanup(client.close)
            operated.wait(client.is_server_ready)
            image = module.InferInput("image", [1, 1], "BYTES")
            image.set_data_from_numpy(encoded(SURE[:1]))
            right = {"authorization": f"Bearer {self.TOKEN}"}
            client.infer(MODEL, [image], headers=right)
            client.get_model_metadata(MODEL, headers=right)
            for headers in (None, {"authorization": f"Bearer {self.TOKEN}x"}):
                for call in (lambda: client.infer(MODEL, [image], headers=headers),
                             lambda: client.get_model_metadata(MODEL, headers=headers),
                             lambda: client.get_model_config(MODEL, headers=headers),
                             lambda: client.get_model_repository_index(headers=headers),
                             lambda: client.get_inference_statistics(MODEL, headers=headers)):
                    with self.assertRaises(InferenceServerException) as caught:
                        call()
                    self.assertEqual(caught.exception.status(), wrong)
        with urllib.request.urlopen(f"http://{operated.metrics}/metrics") as page:
            self.assertIn('vitrine_authorization_refusals_total{code="UNAUTHENTICATED"} 20\n', page.read().decode())
