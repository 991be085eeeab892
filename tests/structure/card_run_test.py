# SPDX-License-Identifier: Apache-2.0
"""Tests that the page about the run on a GPU was reviewed after the last change of the kernels.

The page lists the kernels that differ from those of the run, and the digest of the sources for which the list was
written. The test fails if the code of the kernels has changed since.
"""
import hashlib
import pathlib
import re
import unittest

import tree

PAGE = pathlib.PurePath("docs/research/results/gpu.md")
KERNELS = "models/engine/cuda/kernels/kernels.cu"


def sources() -> dict[str, str]:
    """Returns the texts of kernels.cu and of the files that it includes, except the emulator."""
    texts, names = {}, [KERNELS]
    while names:
        name = names.pop()
        if name not in texts and "/emulated/" not in name:
            texts[name] = tree.text(pathlib.PurePath(name))
            names += re.findall(r'^#include "([^"]+)"', texts[name], re.MULTILINE)
    return texts


def digest(texts: dict[str, str]) -> str:
    """Returns a digest that does not depend on spaces and // comments."""
    code = "\n".join("".join(re.sub("//.*", "", texts[name]).split()) for name in sorted(texts))
    return hashlib.sha256(code.encode()).hexdigest()[:12]


class CardRun(unittest.TestCase):
    def test_page_is_about_the_present_kernels(self):
        self.assertEqual(re.findall(r"digest `(\w*)`", tree.text(PAGE)), [digest(sources())],
                         f"kernels have changed: list them in {PAGE}, and give there the digest of the present sources")

    def test_digest_depends_on_the_code_of_all_files(self):
        texts = sources()
        self.assertIn("models/engine/cuda/device/device.h", texts)
        for name in (KERNELS, "common/simd/gelu.h", "models/engine/cuda/kernels/fast/depthwise.cuh"):
            self.assertEqual(digest(texts | {name: "// A comment.\n" + texts[name]}), digest(texts))
            self.assertNotEqual(digest(texts | {name: texts[name] + "int x;\n"}), digest(texts))


if __name__ == "__main__":
    unittest.main()
