# SPDX-License-Identifier: Apache-2.0
"""The CPU engine of Vitrine, a server of vision transformers, for programs without a server.

`vitrine.load` of the package `vitrine` uses it. `LIBRARY` is the shared library and `INCLUDE` the folder with its headers
for C and C++; `python3 -m vitrine_engine` prints both.
"""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
LIBRARY = str(_FOLDER / "libvitrine_engine.so")
INCLUDE = str(_FOLDER / "include")
