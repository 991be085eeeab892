# SPDX-License-Identifier: Apache-2.0
"""Tests a calibration end to end: `vitrine eval --calibrate`, `vitrine-repo calibrate`, and a server that uses it.

Usage: calibrate_test.py BUILD [-v]

The images are the digits of samples/, shifted and noisy, so that the bundled model recognizes only some of them.
"""

import json
import math
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(sys.argv[1]).resolve() / "bin"
MODEL = "kv-pos-mnist"


def read_grey(path):
    """Returns the pixels of an 8-bit grey PNG without interlacing."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour, body[12]) == (8, 0, 0)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, rows, above = zlib.decompress(packed), [], [0] * width
    for y in range(height):
        line = raw[y * (width + 1) : (y + 1) * (width + 1)]
        row = []
        for x in range(width):
            left, up, corner = (row[x - 1] if x else 0), above[x], (above[x - 1] if x else 0)
            paeth = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row.append((line[1 + x] + (0, left, up, (left + up) // 2, paeth)[line[0]]) % 256)
        rows.append(row)
        above = row
    return rows


def write_digits(folder, count):
    """Writes MNIST's files, with `count` images in each split."""
    chance = random.Random(7)
    digits = [read_grey(ROOT / f"samples/digits/digit-{digit}.png") for digit in range(10)]
    pixels, labels = bytearray(), bytearray()
    for i in range(count):
        rows, noise = digits[i % 10], chance.choice((0, 60, 200, 400))
        down, right = chance.randint(-3, 3), chance.randint(-3, 3)
        for y in range(28):
            for x in range(28):
                there = 0 <= y - down < 28 and 0 <= x - right < 28
                value = (rows[y - down][x - right] if there else 0) + chance.uniform(-noise, noise)
                pixels.append(max(0, min(255, round(value))))
        labels.append(i % 10)
    folder.mkdir()
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels)


def softmax(logits, temperature):
    most = max(logits)
    powers = [math.exp((logit - most) / temperature) for logit in logits]
    return [power / sum(powers) for power in powers]


class Calibrate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="vitrine-calibrate-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        write_digits(cls.folder / "digits", 400)
        # Copies the bundled version without its calibration.
        version = cls.folder / "models" / MODEL / "1"
        shutil.copytree(ROOT / "models/bundled" / MODEL / "1", version)
        manifest = (version / "manifest.textproto").read_text()
        begin = manifest.find("calibration {")
        if begin >= 0:
            manifest = manifest[:begin] + manifest[manifest.index("}\n", begin) + 2 :]
        (version / "manifest.textproto").write_text(manifest)
        log = open(cls.folder / "server.log", "w")
        cls.addClassCleanup(log.close)
        cls.server = subprocess.Popen(
            [BIN / "vitrine-server", "--repository", cls.folder / "models", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
             "--metrics", "127.0.0.1:0", "--port-file", cls.folder / "ports", "--poll-interval", "100ms"],
            stdout=log, stderr=subprocess.STDOUT)
        cls.addClassCleanup(cls.stop)
        cls.wait(lambda: "http=" in (cls.folder / "ports").read_text() if (cls.folder / "ports").exists() else False)
        cls.ports = dict(line.split("=", 1) for line in (cls.folder / "ports").read_text().split())
        cls.wait_for_version(1)

    @classmethod
    def stop(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.wait(60)

    @classmethod
    def wait(cls, done):
        end = time.monotonic() + 60
        while not done():
            assert cls.server.poll() is None and time.monotonic() < end, (cls.folder / "server.log").read_text()
            time.sleep(0.05)

    @classmethod
    def wait_for_version(cls, number):
        def ready():
            done = cls.tool("vitrine", "models", "list", "--format", "json", check=False)
            return done.returncode == 0 and any(
                json.loads(line)["version"] == number and json.loads(line)["state"].upper() == "READY"
                for line in done.stdout.splitlines())

        cls.wait(ready)

    @classmethod
    def tool(cls, program, *arguments, check=True):
        line = [str(BIN / program), *map(str, arguments)]
        if program == "vitrine":
            line += ["--server", cls.ports["grpc"]]
        return subprocess.run(line, text=True, capture_output=True, check=check, timeout=120, env=dict(os.environ, COLUMNS="120"))

    def evaluate(self, name, *more, check=True):
        return self.tool("vitrine", "eval", "--model", MODEL, "--data", f"mnist:{self.folder / 'digits'}", "--out",
                        self.folder / name, *more, check=check)

    def test_1_the_fit_is_written_and_printed(self):
        said = self.evaluate("fit", "--calibrate", "--sure-accuracy", "0.9").stdout
        fitted = json.loads((self.folder / "fit/calibration.json").read_text())
        self.assertLess(fitted["calibrated"]["nll"], fitted["uncalibrated"]["nll"])
        self.assertIn(f"temperature {fitted['temperature']:.4f}", said)

    def test_2_answers_are_calibrated_over_every_protocol(self):
        self.assertFalse(json.loads(self.classify("--format", "json"))["unsure"], "not calibrated yet")
        before = json.loads(self.classify("--format", "json"))["predictions"]
        fitted = self.folder / "fit/calibration.json"
        published = self.tool("vitrine-repo", "calibrate", self.folder / "models", MODEL, "--from", fitted).stdout
        self.assertIn(f"{MODEL}/2", published)
        self.assertEqual(self.tool("vitrine-repo", "verify", self.folder / "models").returncode, 0)
        first, second = (self.folder / "models" / MODEL / number for number in "12")
        for name in ("weights.safetensors", "golden.safetensors", "labels.txt"):
            self.assertEqual((first / name).read_bytes(), (second / name).read_bytes(), name)
        self.wait_for_version(2)
        temperature = json.loads(fitted.read_text())["temperature"]
        answer = json.loads(self.classify("--format", "json"))
        self.assertEqual(answer["version"], 2)
        self.assertTrue(answer["unsure"])
        self.assertEqual([p["logit"] for p in answer["predictions"]], [p["logit"] for p in before])
        for said, expected in zip(answer["predictions"], softmax([p["logit"] for p in before], temperature)):
            self.assertAlmostEqual(said["probability"], expected, delta=1e-6)
        self.assertIn("unsure: ", self.classify())
        sure = self.tool("vitrine", "classify", ROOT / "samples/digits/digit-7.png", "--model", MODEL).stdout
        self.assertNotIn("unsure", sure)
        url = f"http://{self.ports['http']}/v1/models/{MODEL}:classify"
        for picture, unsure in ((self.doubtful(), True), (ROOT / "samples/digits/digit-7.png", False)):
            with urllib.request.urlopen(urllib.request.Request(url, data=picture.read_bytes()), timeout=30) as reply:
                self.assertIs(json.load(reply)["unsure"], unsure, picture)
        self.assertIn("calibrated", self.tool("vitrine", "models", "show", f"{MODEL}@2").stdout)
        self.assertIn("calibrated", self.tool("vitrine-repo", "show", self.folder / "models", f"{MODEL}@2").stdout)

    def doubtful(self):
        """Returns the path of an image of random grey pixels, for which the model must be unsure."""
        path = self.folder / "grey.png"
        if not path.exists():
            chance = random.Random(3)
            lines = b"".join(b"\0" + bytes(chance.randrange(256) for _ in range(28)) for _ in range(28))
            chunks = ((b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
            path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
                struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks))
        return path

    def classify(self, *more):
        return self.tool("vitrine", "classify", self.doubtful(), "--model", MODEL, "--top-k", "10", *more).stdout

    def test_3_errors_give_the_remedy(self):
        for change, words in (({"weights_sha256": "0" * 64}, "name the version that was evaluated"),
                              ({"unsure_below": None}, "lower --sure-accuracy"), ({"temperature": "warm"}, "is not a calibration.json"),
                              ({"temperature": 30}, "0.05 to 20")):
            fitted = json.loads((self.folder / "fit/calibration.json").read_text()) | change
            (self.folder / "changed.json").write_text(json.dumps(fitted))
            done = self.tool("vitrine-repo", "calibrate", self.folder / "models", f"{MODEL}@1", "--from",
                            self.folder / "changed.json", check=False)
            self.assertEqual(done.returncode, 1, change)
            self.assertIn(words, done.stderr)

    def test_4_merged_shards_are_calibrated(self):
        for number in (1, 2):
            self.evaluate(f"part{number}", "--shard", f"{number}/2", "--calibrate", "--sure-accuracy", "0.9")
        subprocess.run([BIN / "vitrine", "eval", "merge", self.folder / "part1", self.folder / "part2", "--out",
                        self.folder / "merged", "--calibrate", "--sure-accuracy", "0.9"], check=True, capture_output=True)
        merged, whole = (json.loads((self.folder / name / "calibration.json").read_text()) for name in ("merged", "fit"))
        self.assertAlmostEqual(merged["temperature"], whole["temperature"], delta=1e-4)
        self.assertEqual(merged["sure"]["pictures"], whole["sure"]["pictures"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
