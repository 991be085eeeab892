# SPDX-License-Identifier: Apache-2.0
"""Images to send."""
from driver.setup import ROOT


def digit_path():
    return sorted(path for path in (ROOT / "samples" / "digits").iterdir() if path.suffix == ".png")[0]


def digit():
    return digit_path().read_bytes()


def photograph():
    """Returns the smallest JPEG file, of 6 KB."""
    return min(((ROOT / "samples" / "cifar").glob("*.jpg")), key=lambda path: path.stat().st_size).read_bytes()
