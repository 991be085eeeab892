# SPDX-License-Identifier: Apache-2.0
"""Checks that the input of classify_many and embed_many is not a single image by mistake."""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from typing import Any, List

import numpy as np
from PIL import Image

from vitrine._files import unexpanded
from vitrine._picture import PictureWarning

# Extensions of the files that `vitrine classify FOLDER` reads. The command silently ignores files and folders whose
# names are in _LEFT_BEHIND or start with a dot.
_ENDINGS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp")
_LEFT_BEHIND = {
    "__macosx",
    "thumbs.db",
    "ehthumbs.db",
    "desktop.ini",
    "@eadir",
    "$recycle.bin",
    "lost+found",
    "system volume information",
}


def pictures(images: Any) -> Any:
    """Returns `images`. If `images` is a folder, returns the paths of the images in it, and gives a PictureWarning if
    the folder has other files.

    A single image is iterable as well: the letters of its path, its bytes, its rows of pixels. Each of these items
    would be sent as an image, so a single image raises TypeError. FileNotFoundError: a folder without an image.
    """
    if isinstance(images, (str, os.PathLike)):
        path = os.fspath(images)
        if os.path.isdir(path):
            return _of_folder(os.fsdecode(path))
        path = os.fsdecode(path)
        raise _one("the path %r, which is no folder%s" % (path, unexpanded(path)))
    if isinstance(images, (bytes, bytearray, memoryview)):
        raise _one("the bytes of one picture")
    if isinstance(images, Image.Image):
        raise _one("one PIL.Image")
    if hasattr(images, "read"):
        raise _one("one file")
    numbers = isinstance(images, np.ndarray) and images.dtype.kind not in "OU"  # else the items are paths or images
    if numbers and (images.ndim < 3 or (images.ndim == 3 and images.shape[2] in (1, 3))):
        raise _one("one array of %s" % "x".join(map(str, images.shape)))
    if not hasattr(images, "__iter__") and not hasattr(images, "__aiter__"):
        raise TypeError("images is %s; give an iterable of pictures, or a folder" % type(images).__name__)
    return images


def _of_folder(folder: str) -> List[str]:
    found = []
    others: Counter[str] = Counter()
    for name in sorted(os.listdir(folder), key=os.fsencode):
        if name.startswith(".") or name.lower() in _LEFT_BEHIND:
            continue
        path = os.path.join(folder, name)
        ending = os.path.splitext(name)[1].lower()
        if os.path.isdir(path):
            others["folders"] += 1
        elif ending in _ENDINGS:
            if os.path.isfile(path) or not os.path.exists(path):  # a broken link becomes a Refused
                found.append(path)
        else:
            others[ending or "files without an ending"] += 1
    if others:
        what = ", ".join("%d %s" % (count, kind) for kind, count in sorted(others.items()))
        warnings.warn("skipped in %s: %s" % (folder, what), PictureWarning, stacklevel=_level_of_caller())
    if not found:
        raise FileNotFoundError("the folder %s has no picture (%s)" % (folder, ", ".join(_ENDINGS)))
    return found


def _one(what: str) -> TypeError:
    return TypeError(
        "images is %s, but several pictures are needed: write [image] for a list of one, "
        "or classify(image) or embed(image)" % what
    )


def _level_of_caller() -> int:
    """Returns the `stacklevel` with which the calling function must call warnings.warn, so that the warning shows the
    line outside this package that called it."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "vitrine":
        level, frame = level + 1, frame.f_back
    return level
