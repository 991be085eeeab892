# SPDX-License-Identifier: Apache-2.0
"""Tests `vitrine-repo survey` with folders and a fake hub (hub.py).

Usage: survey_test.py BUILD [-v]
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cache_test  # noqa: E402
from pull_test import ARCH, NAME, WEIGHTS, halves, vit_tiny  # noqa: E402


class Survey(cache_test.Test):
    def survey(self, *models, code=0):
        done = subprocess.run([cache_test.BIN / "vitrine-repo", "survey", "--json", *models], env=self.environment, text=True, timeout=60,
                              capture_output=True)
        self.assertEqual((done.returncode, "there is no model" in done.stderr), (code, code == 1), done.stderr)
        return [(pathlib.Path(model["model"]).name, model["served"], model["reason"]) for model in json.loads(done.stdout)]

    def test_folders_and_lists_are_assessed_by_their_headers(self):
        self.model("good")
        self.model("small", {"architecture": "vit_small_patch16_224"})
        self.model("other", {"architecture": "convnext_tiny"})
        self.model("deep", {"model_type": "vit", "hidden_size": 192, "num_hidden_layers": 13})
        for name, weights in (("truncated", WEIGHTS[:100_000]), ("double", WEIGHTS.replace(b'"F32"', b'"F64"'))):
            (self.model(name) / "model.safetensors").write_bytes(weights)
        self.model("mislabelled", {"architecture": ARCH, "label_names": ["plant"] * 999 + [None]})
        self.model("unlabelled", {"architecture": ARCH})
        (self.folder / "unlabelled/model.safetensors").write_bytes(vit_tiny(classes=5))
        self.model("nameless", {"architecture": ARCH, "label_names": ["plant"] * 999 + [""]})
        (self.model("headless") / "model.safetensors").write_bytes(WEIGHTS.replace(b'"head.', b'"heap.'))
        narrow = self.model("narrow", {"architecture": ARCH, "label_names": list("abcde")}) / "model.safetensors"
        narrow.write_bytes(vit_tiny(classes=5).replace(b"[5, 192]", b"[192, 5]"))
        (self.folder / "list").write_text(f"# ours\n{self.folder}/good\n\nabsent\n{self.folder}/list\n")
        judged = {name: (served, reason) for name, served, reason in self.survey(self.folder, self.folder / "list")}
        self.assertEqual(judged["good"], (True, ""))
        self.assertIn("it may be truncated", judged["truncated"][1])
        self.assertIn("is stored as F64", judged["double"][1])
        self.assertTrue(judged["headless"][1].startswith(f'{self.folder}/headless: tensor "head.weight" is missing; '), judged["headless"])
        self.assertIn("class 999 that is not text", judged["mislabelled"][1])
        self.assertIn("or vit_tiny_patch16_224", judged["small"][1])
        self.assertIn("convnext_tiny", judged["other"][1])
        self.assertLess(len(judged["other"][1]), 200)
        self.assertIn("similar are vit-tiny-patch16-224; ", judged["deep"][1])
        self.assertIn("has 5 classes", judged["unlabelled"][1])
        self.assertIn('"head.weight" has shape [192, 5]', judged["narrow"][1])
        self.assertIn('the label "" is empty', judged["nameless"][1])
        self.assertEqual(judged["absent"], (False, "it does not exist"))

    def test_a_hub_model_is_assessed_without_its_weights(self):
        pieces = []
        self.hub.pause = lambda: pieces.append(time.sleep(0.02))
        self.assertEqual(self.survey(f"hf:{NAME}")[0], (NAME.split("/")[1], True, ""))
        self.assertLess(len(pieces), 20)  # the whole file has 349 pieces
        self.assertFalse((self.folder / "xdg").exists())
        self.assertFalse(self.survey("hf:someone/absent")[0][1])
        self.environment["HF_HUB_OFFLINE"] = "1"
        asked = len(self.hub.asked)
        self.assertIn("HF_HUB_OFFLINE", self.survey(f"hf:{NAME}")[0][2])
        self.assertEqual(len(self.hub.asked), asked)

    def test_hub_shards_are_assessed_by_their_headers(self):
        self.hub.shards = dict(zip(("a.safetensors", "b.safetensors"), halves(WEIGHTS)))
        index = {"weight_map": {"cls_token": "a.safetensors", "norm.bias": "b.safetensors"}}
        self.hub.files["model.safetensors.index.json"] = json.dumps(index).encode()
        pieces = []
        self.hub.pause = lambda: pieces.append(time.sleep(0.02))
        self.assertEqual(self.survey(f"hf:{NAME}")[0][1:], (True, ""))
        self.assertLess(len(pieces), 40)
        self.hub.shards["b.safetensors"] = self.hub.shards["b.safetensors"][:-1]
        self.assertIn("it may be truncated", self.survey(f"hf:{NAME}")[0][2])

    def test_names_without_a_model_are_reported(self):
        (self.folder / "empty").mkdir()
        file = self.model("good") / "model.safetensors"
        self.model("hub/models--timm--vit/snapshots/abc")
        judged = {name: (served, reason) for name, served, reason in self.survey(self.folder / "empty", file, self.folder / "hub")}
        self.assertIn("no folder in it", judged["empty"][1])
        self.assertIn("give its folder", judged["model.safetensors"][1])
        self.assertTrue(judged["abc"][0])
        [[name, served, reason]] = self.survey(file.parent / "config.json", code=1)
        self.assertEqual((name, served), ("config.json", False))
        self.assertIn("give its folder", reason)
        self.assertEqual(self.survey(self.folder / "absent", code=1), [("absent", False, "it does not exist")])
        file.unlink()
        os.mkfifo(file)
        self.assertIn("not a regular file", self.survey(file.parent)[0][2])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
