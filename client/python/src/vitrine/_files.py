# SPDX-License-Identifier: Apache-2.0
"""Reads the files and streams of images. If a path is not the path of a file, the error message tells the user what to
do."""

from __future__ import annotations

import errno
import os
import re
from typing import IO

from vitrine._names import unescaped
from vitrine.errors import InvalidArgument

_LONGER_THAN_PATHS = 1024
_URL = re.compile(r"data:|[A-Za-z][A-Za-z0-9+.-]+:/")  # one slash, because pathlib.Path removes the second


def read_path(path: str) -> bytes:
    """Returns the content of a file. InvalidArgument: `path` is a URL or no path. OSError: the file cannot be read."""
    try:
        return _content(path)
    except OSError as error:
        named = unescaped(path)  # `path` may be from a list that `vitrine` wrote
        if named != path and os.path.exists(named):
            return _content(named)
        if _is_missing(error) and is_url(path):
            form = "%.80s is a URL, but images are read from files; fetch it and give its bytes, as in "
            raise InvalidArgument(form % path + "urllib.request.urlopen(URL).read()") from None
        if _is_missing(error) and len(path) >= _LONGER_THAN_PATHS:
            form = "the text of %d characters is no path; if it is base64 of an image, give base64.b64decode(text)"
            raise InvalidArgument(form % len(path)) from None
        if _is_missing(error) and unexpanded(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT) + unexpanded(path), path) from None
        raise


def read_stream(stream: IO[bytes]) -> bytes:
    """Returns the content of a file object from its start, like PIL.Image.open. A stream that cannot seek is read from
    its current position."""
    try:
        stream.seek(0)
    except (AttributeError, OSError):
        pass
    content = stream.read()
    if isinstance(content, str):
        raise TypeError("the file was opened as text; open it with mode 'rb'")
    if not isinstance(content, bytes):
        raise TypeError("read() of the file object returned %s, must be bytes" % type(content).__name__)
    return content


def is_url(path: str) -> bool:
    return _URL.match(path) is not None


def unexpanded(path: str) -> str:
    """Returns the end of the error message for a missing file whose path starts with ~ or ~USER, which only a shell
    expands; "" for other paths."""
    if os.path.expanduser(path) == path:
        return ""
    return "; ~ is not expanded, write os.path.expanduser(%r)" % path


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _is_missing(error: OSError) -> bool:
    return error.errno in (errno.ENOENT, errno.ENAMETOOLONG, errno.EINVAL)  # EINVAL: a URL on Windows
