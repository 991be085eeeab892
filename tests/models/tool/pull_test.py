# SPDX-License-Identifier: Apache-2.0
"""Tests `vitrine-repo import --pull` as a program, with a fake hub (hub.py).

Usage: pull_test.py BUILD [-v]
"""

import hashlib
import json
import os
import pathlib
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hub import COMMIT, Hub  # noqa: E402

REPO = pathlib.Path(sys.argv[1]).resolve() / "bin/vitrine-repo"
ARCH = "vit_tiny_patch16_224"
NAME = "someone/vit_tiny_patch16_224.augreg_in21k_ft_in1k"


def vit_tiny(classes=1000):
    """Returns a file of timm's vit_tiny_patch16_224 with small random numbers. The scales of norms are 1, as in trained norms."""
    width = 192
    shapes = {"cls_token": [1, 1, width], "pos_embed": [1, 197, width], "patch_embed.proj.weight": [width, 3, 16, 16],
              "patch_embed.proj.bias": [width], "norm.weight": [width], "norm.bias": [width],
              "head.weight": [classes, width], "head.bias": [classes]}
    for block in range(12):
        for name, outputs, inputs in (("attn.qkv", 3 * width, width), ("attn.proj", width, width),
                                      ("mlp.fc1", 4 * width, width), ("mlp.fc2", width, 4 * width)):
            shapes[f"blocks.{block}.{name}.weight"] = [outputs, inputs]
            shapes[f"blocks.{block}.{name}.bias"] = [outputs]
        for norm in ("norm1", "norm2"):
            shapes[f"blocks.{block}.{norm}.weight"] = shapes[f"blocks.{block}.{norm}.bias"] = [width]
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 4
        for side in shape:
            size *= side
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(header).encode()
    chance = random.Random(1)
    numbers = struct.pack("<65521f", *(chance.gauss(0, 0.02) for _ in range(65521)))
    data = bytearray((numbers * (offset // len(numbers) + 1))[:offset])
    for name, entry in header.items():
        if "norm" in name and name.endswith("weight"):
            begin, end = entry["data_offsets"]
            data[begin:end] = struct.pack("<f", 1) * ((end - begin) // 4)
    return struct.pack("<Q", len(head)) + head + bytes(data)


WEIGHTS = vit_tiny()


def halves(file):
    """Yields two safetensors files, each with one half of the tensors of `file`, like the shards that save_pretrained writes."""
    length = struct.unpack("<Q", file[:8])[0]
    header, data = json.loads(file[8 : 8 + length]), file[8 + length :]
    for part in (list(header)[: len(header) // 2], list(header)[len(header) // 2 :]):
        head, body = {}, b""
        for name in part:
            begin, end = header[name]["data_offsets"]
            head[name] = {**header[name], "data_offsets": [len(body), len(body) + end - begin]}
            body += data[begin:end]
        text = json.dumps(head).encode()
        yield struct.pack("<Q", len(text)) + text + body


class Pull(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="vitrine-pull-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.models, self.cache = self.folder / "models", self.folder / "cache/vitrine/pull"
        self.hub = Hub(NAME, WEIGHTS, ARCH)
        self.addCleanup(self.hub.close)

    def command(self, *more, model=f"hf:{NAME}@main", arch=ARCH):
        return [str(REPO), "import", str(self.models), "pulled", "--from", "timm", "--arch", arch, "--pull", model, *more]

    def environment(self):
        return dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), VITRINE_PULL_FROM=self.hub.address)

    def pull(self, *more, **arguments):
        return subprocess.run(self.command(*more, **arguments), env=self.environment(), text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def versions(self):
        model = self.models / "pulled"
        return sorted(path for path in model.iterdir() if path.name.isdigit()) if model.is_dir() else []

    def check_whole(self, version):
        """Checks that every file of the manifest exists and has the digest that the manifest states."""
        manifest = (version / "manifest.textproto").read_text()
        files = re.findall(r'files {\n  name: "([^"]+)"\n  sha256: "(\w+)"', manifest)
        self.assertGreaterEqual(len(files), 3)
        for name, digest in files:
            self.assertEqual(hashlib.sha256((version / name).read_bytes()).hexdigest(), digest, f"{version}/{name}")
        return manifest

    def refused(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stdout)
        for word in words:
            self.assertIn(word, done.stdout)
        self.assertEqual(self.versions(), [])

    def test_one_command_publishes_the_model_of_the_hub(self):
        done = self.pull()
        self.assertEqual(done.returncode, 0, done.stdout)
        manifest = self.check_whole(self.versions()[0])
        url = f"{self.hub.address}/{NAME}/resolve/{COMMIT}/model.safetensors"
        for line in (f'url: "{url}"', f'sha256: "{hashlib.sha256(WEIGHTS).hexdigest()}"', '\n  licence: "apache-2.0"', '\n    licence: "apache-2.0"',
                     "crop: 0.875", "std: 0.25"):
            self.assertIn(line, manifest)
        labels = (self.versions()[0] / "labels.txt").read_text().splitlines()
        self.assertEqual((len(labels), labels[0], labels[281], labels[999]), (1000, "tench", "tabby", "toilet tissue"))
        shown = subprocess.run([REPO, "show", self.models, "pulled"], text=True, capture_output=True, check=True).stdout
        self.assertIn("apache-2.0", shown)
        self.assertIn(url, shown)
        # Importing the file directly gives the same weights.
        (self.folder / "w.safetensors").write_bytes(WEIGHTS)
        subprocess.run([REPO, "import", self.models, "given", self.folder / "w.safetensors", "--from", "timm", "--arch", ARCH,
                        "--labels", self.versions()[0] / "labels.txt"], check=True, capture_output=True)
        self.assertEqual((self.models / "given/1/weights.safetensors").read_bytes(),
                         (self.versions()[0] / "weights.safetensors").read_bytes())

    def test_a_second_pull_uses_the_cache(self):
        self.assertEqual(self.pull().returncode, 0)
        self.assertEqual(self.pull().returncode, 0)
        self.assertEqual(self.hub.ranges_asked(), [None])
        self.assertEqual(len(self.versions()), 2)

    def test_damaged_cache_files_are_fetched_again(self):
        self.assertEqual(self.pull().returncode, 0)
        fetched = next(self.cache.iterdir())
        fetched.write_bytes(WEIGHTS[:-1] + b"x")
        self.assertEqual(self.pull().returncode, 0)
        self.assertEqual(fetched.read_bytes(), WEIGHTS)

    def test_a_broken_download_resumes_at_its_position(self):
        self.hub.breaks_after = [1 << 20, 3 << 20]
        done = self.pull()
        self.assertEqual(done.returncode, 0, done.stdout)
        starts = [0 if asked is None else int(asked.removeprefix("bytes=").rstrip("-")) for asked in self.hub.ranges_asked()]
        self.assertEqual(len(starts), 3, starts)
        self.assertTrue(0 < starts[1] <= 1 << 20 and starts[1] < starts[2] <= 4 << 20, starts)
        self.check_whole(self.versions()[0])

    def test_a_failed_download_is_continued_by_the_next_command(self):
        self.hub.breaks_after = [2 << 20, 0]
        self.refused(self.pull(), "bytes are kept and the same command continues")
        part = next(self.cache.glob("*.part"))
        kept = part.stat().st_size
        self.assertGreater(kept, 0)
        self.assertEqual(self.pull().returncode, 0)
        self.assertEqual(self.hub.ranges_asked()[-1], f"bytes={kept}-")
        self.assertFalse(part.exists())

    def test_without_ranges_the_download_restarts(self):
        self.hub.ranges, self.hub.breaks_after = False, [1 << 20, 0]
        self.refused(self.pull(), "same command continues")
        self.assertEqual(self.pull().returncode, 0)
        self.check_whole(self.versions()[0])

    def test_a_too_long_partial_file_is_discarded(self):
        self.cache.mkdir(parents=True)
        (self.cache / f"{self.hub.told_digest}.safetensors.part").write_bytes(WEIGHTS + b"more")
        self.assertEqual(self.pull().returncode, 0)
        self.assertEqual(self.hub.ranges_asked(), [None])

    def test_other_bytes_are_refused_with_both_digests(self):
        self.hub.sent = WEIGHTS[:-4] + b"evil"
        done = self.pull()
        self.refused(done, self.hub.told_digest, hashlib.sha256(self.hub.sent).hexdigest(), "removed")
        self.assertEqual(list(self.cache.iterdir()), [])
        self.hub.sent = WEIGHTS + b"more"
        self.refused(self.pull(), "sends more than the")

    def test_the_users_digest_has_priority_over_the_hubs(self):
        self.refused(self.pull("--sha256", "a" * 64), "a" * 64, self.hub.told_digest, "nothing was downloaded")
        self.assertEqual(self.hub.ranges_asked(), [])
        self.hub.told_digest = None
        self.refused(self.pull(), "--sha256")
        self.assertEqual(self.pull("--sha256", hashlib.sha256(WEIGHTS).hexdigest()).returncode, 0)

    def test_an_unreachable_hub_is_reported(self):
        with socket.socket() as one:  # bound, but not listening
            one.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{one.getsockname()[1]}"
            self.refused(self.pull("--pull-from", address), address, "HF_ENDPOINT", "model.safetensors")
        self.refused(self.pull("--pull-from", "https://hub.invalid"), "hub.invalid", "give the folder")
        self.assertFalse(self.models.exists())

    def test_a_missing_model_or_revision_is_reported(self):
        self.refused(self.pull(model=f"hf:{NAME}@nowhere"), f"{NAME}@nowhere", "no such revision")
        self.refused(self.pull(model="hf:someone/else@main"), "does not exist")
        self.hub.gated = True
        self.refused(self.pull(), "requires a login")
        self.assertEqual(self.hub.ranges_asked(), [])

    def test_another_architecture_is_refused(self):
        self.refused(self.pull(arch="deit_tiny_patch16_224"), f"is a {ARCH}", f"give --arch {ARCH}")
        self.assertEqual(self.hub.ranges_asked(), [])
        self.refused(self.pull(arch="vit_enormous"), "no architecture", "`vitrine-repo import --help` lists")
        del self.hub.files["config.json"]
        self.refused(self.pull(arch="deit_small_patch16_224"), '"cls_token" has shape [1, 1, 192]')
        self.assertEqual(self.pull(arch="deit_tiny_patch16_224").returncode, 0, "the tensors are the same")

    def test_renamed_models_and_revisions_with_slashes_are_pulled(self):
        self.hub.old_names = ["old/name"]
        done = self.pull(model="hf:old/name@refs/pr/1")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(COMMIT, self.check_whole(self.versions()[0]))

    def test_other_classes_need_labels(self):
        weights = vit_tiny(classes=3)
        self.hub.weights = self.hub.sent = weights
        self.hub.told_digest = hashlib.sha256(weights).hexdigest()
        self.refused(self.pull(), "has 3 classes", "--labels")
        (self.folder / "labels.txt").write_text("a\nb\nc\n")
        self.assertEqual(self.pull("--labels", str(self.folder / "labels.txt")).returncode, 0)

    def head(self, classes):
        """Replaces the hub's model by a model with `classes` classes."""
        self.hub.weights = self.hub.sent = vit_tiny(classes)
        self.hub.told_digest = hashlib.sha256(self.hub.sent).hexdigest()

    def config(self, more=None, **members):
        pictures = {"mean": [0.5] * 3, "std": [0.5] * 3, **(more or {})}
        self.hub.files["config.json"] = json.dumps({"architecture": ARCH, "pretrained_cfg": pictures, **members}).encode()

    def labels(self):
        return (self.versions()[-1] / "labels.txt").read_text().splitlines()

    def test_labels_of_the_config_have_priority_over_imagenet(self):
        parts = [f"part-{i:04d}" for i in range(1000)]
        for config in ({"label_names": parts}, {"more": {"label_names": parts}}, {"labels": parts},
                       {"id2label": {str(i): part for i, part in enumerate(parts)}}, {"label2id": {p: i for i, p in enumerate(parts)}},
                       {"label_names": {str(i): part for i, part in enumerate(parts)}, "id2label": {"0": "LABEL_0"}}):
            self.config(**config)
            done = self.pull()
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(self.labels(), parts, str(config)[:60])
        for nothing in ({}, {"label_names": None}, {"label_names": []}, {"label_names": "imagenet-1k"}):
            self.config(**nothing)
            self.assertEqual(self.pull().returncode, 0)
            self.assertEqual(self.labels()[:2], ["tench", "goldfish"], nothing)

    def test_labels_are_ordered_by_their_numbers(self):
        self.head(11)
        numbers = (0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9)
        self.config(id2label={str(i): f"c{i}" for i in numbers})
        done = self.pull()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.labels(), [f"c{i}" for i in range(11)])
        self.config(label_names=list(range(11)))  # the labels are numbers
        self.assertEqual(self.pull().returncode, 0)
        self.assertEqual(self.labels(), [str(i) for i in range(11)])
        file = self.folder / "config.json"
        file.write_text(json.dumps({"id2label": {str(i): f"d{i}" for i in numbers}}))
        self.assertEqual(self.pull("--labels", str(file)).returncode, 0)
        self.assertEqual(self.labels()[10], "d10")

    def test_wrong_labels_are_refused_unless_replaced(self):
        self.head(3)
        for labels, word in ((["x", "y"], "has 2 labels"), ({"0": "x", "1": "y", "3": "z"}, "not 0 to 2"),
                             ({"0": "x", "00": "y", "1": "z"}, "not 0 to 2"), (["x", None, "z"], "class 1 that is not text"),
                             ({"a": "x", "b": "y", "c": "z"}, "not a class number"), (["x", "", "z"], "is empty")):
            self.config(label_names=labels)
            self.refused(self.pull(), word)
            self.assertFalse(self.versions())
        given = self.folder / "labels.txt"
        given.write_text("a\nb\nc\n")
        self.assertEqual(self.pull("--labels", str(given)).returncode, 0)
        self.assertEqual(self.labels(), ["a", "b", "c"])

    def test_shards_are_fetched_and_imported(self):
        self.assertEqual(self.pull().returncode, 0)
        whole = (self.versions()[0] / "weights.safetensors").read_bytes()
        names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
        self.hub.shards = dict(zip(names, halves(WEIGHTS)))
        self.refused_with_one(self.pull(), "no model.safetensors and no model.safetensors.index.json")
        index = {"weight_map": {"cls_token": names[0], "norm.bias": names[1]}}
        self.hub.files["model.safetensors.index.json"] = json.dumps(index).encode()
        done = self.pull()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual((self.versions()[1] / "weights.safetensors").read_bytes(), whole)
        listed = "".join(f"{hashlib.sha256(self.hub.shards[name]).hexdigest()}  {name}\n" for name in names)
        digest = hashlib.sha256(listed.encode()).hexdigest()
        manifest = self.check_whole(self.versions()[1])
        self.assertIn(f'sha256: "{digest}"', manifest)
        self.assertIn(f"{COMMIT}/model.safetensors.index.json", manifest)
        self.assertEqual(self.pull("--sha256", digest).returncode, 0)
        self.assertEqual(len(self.hub.ranges_asked()), 3, "one whole file, two shards, and then nothing")
        done = self.pull("--sha256", "a" * 64)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing was downloaded", done.stdout)
        index["weight_map"]["norm.bias"] = "model-00003-of-00003.safetensors"
        self.hub.files["model.safetensors.index.json"] = json.dumps(index).encode()
        done = self.pull()
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no model-00003-of-00003.safetensors", done.stdout)

    def refused_with_one(self, done, word):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(word, done.stdout)
        self.assertEqual(len(self.versions()), 1)

    def test_a_card_without_metadata_gives_no_licence(self):
        self.hub.files["README.md"] = b"license: mit\n"
        self.assertEqual(self.pull().returncode, 0)
        self.assertNotIn("licence:", self.check_whole(self.versions()[0]))

    def test_the_licence_can_come_from_the_config(self):
        self.hub.files["README.md"] = b"# no metadata\n"
        config = json.loads(self.hub.files["config.json"])
        config["pretrained_cfg"]["license"] = "cc-by-nc-4.0"
        self.hub.files["config.json"] = json.dumps(config).encode()
        self.assertEqual(self.pull().returncode, 0)
        self.assertIn('  licence: "cc-by-nc-4.0"', self.check_whole(self.versions()[0]))

    def test_an_unknown_certificate_is_refused(self):
        key, pem = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                        "2", "-subj", "/CN=localhost", "-keyout", key, "-out", pem], check=True, capture_output=True)
        secret = Hub(NAME, WEIGHTS, ARCH, certificate=(pem, key))
        self.addCleanup(secret.close)
        self.refused(self.pull("--pull-from", secret.address), "certificate")
        self.assertEqual(secret.asked, [])

    def test_invalid_command_lines_are_refused(self):
        for line in (self.command(model="vit"), self.command(model="hf:one"), self.command(model="hf:a/../b@c"),
                     self.command("--sha256", "short"), self.command("--pull-from", "ftp://x"),
                     [*self.command(), "weights.safetensors"], self.command()[:-2]):
            done = subprocess.run(line, env=self.environment(), text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 2, line)
            self.assertTrue(done.stderr, line)
        self.assertEqual(self.hub.asked, [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
