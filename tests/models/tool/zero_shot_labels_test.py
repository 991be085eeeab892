# SPDX-License-Identifier: Apache-2.0
"""Tests that class_vectors.py reads the same labels from a file as `vitrine-repo import --labels`. The test does not need torch."""
import pathlib
import runpy
import sys
import tempfile
import types
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "client/examples/zero_shot/class_vectors.py"


class Labels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for name in ("numpy", "torch", "transformers"):
            sys.modules.setdefault(name, types.ModuleType(name))
        cls.read_labels = staticmethod(runpy.run_path(str(SCRIPT))["read_labels"])

    def read(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "labels.txt")
            path.write_bytes(content)
            return self.read_labels(path)

    def test_one_label_per_line(self):
        for content in (b"cat\npolar bear\n", b"\xef\xbb\xbfcat\r\npolar bear\r\n", b"cat\n polar bear \n\n\n"):
            self.assertEqual(self.read(content), ["cat", "polar bear"], content)
        self.assertEqual(self.read("Bär\n3D printer\n".encode()), ["Bär", "3D printer"])

    def test_lists_of_other_forms_and_empty_lines_are_refused(self):
        for content in (b"", b"\xef\xbb\xbf", b"cat\n\ndog\n", b'["cat", "dog"]', b'{"0": "cat"}', b"0 cat\n1 dog\n",
                        b"0,cat\n1,dog\n", b'"cat"\n"dog"\n'):
            with self.assertRaisesRegex(SystemExit, "write one label per line", msg=content):
                self.read(content)


unittest.main()
