# SPDX-License-Identifier: Apache-2.0
"""The bearer token of a client."""

from __future__ import annotations

import os
import string
import threading
import time
from typing import Callable, Optional, Union

from vitrine import _arguments

_LONGEST = 16 << 10
# Seconds after which the token's file is read again.
_REREAD = 60.0
_GRAPHIC = frozenset(string.ascii_letters + string.digits + string.punctuation)


class BearerToken:
    """A token given as text, or read from a file. The file may be replaced while the client runs, as in Kubernetes.
    Thread-safe.

    `where` names the token in errors, which never contain the token itself. ValueError: the token is empty, or has
    characters that a header must not have. OSError: the file cannot be read.
    """

    def __init__(
        self,
        token: str = "",
        path: Union[str, "os.PathLike[str]", None] = None,
        where: str = "the token",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at = clock()
        self._token = _checked(token, where) if path is None else _read(path)

    def get(self) -> str:
        """Returns the newest token that could be read."""
        with self._lock:
            if self._path is not None and self._clock() - self._read_at >= _REREAD:
                self._read_again()
            return self._token

    def renewed(self, refused: str) -> bool:
        """Reads the file again after a server rejected the token `refused`. Returns True if the token has changed."""
        with self._lock:
            if self._path is not None and self._token == refused:
                self._read_again()
            return self._token != refused

    def _read_again(self) -> None:
        self._read_at = self._clock()
        try:
            self._token = _read(self._path)  # type: ignore[arg-type]
        except (OSError, ValueError):
            pass  # a read that fails during a replacement is repeated a minute later


def choose(token: Optional[str], path: Union[str, "os.PathLike[str]", None]) -> Optional[BearerToken]:
    """Returns the token that a client sends: `token`, or the token in the file `path`. If both are None, the token in
    the file that $VITRINE_TOKEN_FILE names, otherwise $VITRINE_TOKEN. Returns None if there is no token. An empty
    `token` without a `path` also gives None: the environment variables are not read."""
    if token is not None and not isinstance(token, str):
        raise TypeError("token is of type %s, must be a string" % type(token).__name__)
    _arguments.file("token_file", path)
    if token and path is not None:
        raise ValueError("a token was given, and another in %s; give only one" % os.fspath(path))
    if path is not None:
        return BearerToken(path=path)
    if token is not None:
        return BearerToken(token) if token else None
    path, token = os.environ.get("VITRINE_TOKEN_FILE"), os.environ.get("VITRINE_TOKEN")
    if path:
        return BearerToken(path=path)
    return BearerToken(token, where="the token in $VITRINE_TOKEN") if token else None


def _read(path: Union[str, "os.PathLike[str]"]) -> str:
    with open(path, "rb") as file:
        content = file.read(_LONGEST + 1)
    where = "the token in %s" % os.fspath(path)
    if len(content) > _LONGEST:
        raise ValueError("%s has more than %d bytes" % (where, _LONGEST))
    return _checked(content.decode("latin-1"), where)  # _checked rejects non-ASCII characters


def _checked(text: str, where: str) -> str:
    token = text.strip(string.whitespace)
    if not token:
        raise ValueError("%s is empty" % where)
    if not _GRAPHIC.issuperset(token):
        raise ValueError("%s has spaces or non-ASCII characters, which are invalid in a header" % where)
    return token
