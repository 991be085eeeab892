# SPDX-License-Identifier: Apache-2.0
"""File names in the form that `vitrine` writes into JSON, CSV and lists."""

from __future__ import annotations

import os
import re

_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")


def escaped(name: str) -> str:
    """Escapes invalid UTF-8, control characters and the backslash as \\xHH; on Windows the name is unchanged."""
    if os.sep == "\\":
        return name
    return "".join(
        "".join("\\x%02x" % byte for byte in os.fsencode(letter)) if _is_special(letter) else letter for letter in name
    )


def unescaped(text: str) -> str:
    """Reverses `escaped`. Bytes that are invalid UTF-8 become surrogates, as in the result of os.fsdecode."""
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(text)))


def _is_special(letter: str) -> bool:
    return letter < " " or letter in "\\\x7f" or "\ud800" <= letter <= "\udfff"
