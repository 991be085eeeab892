# SPDX-License-Identifier: Apache-2.0
"""The CPU engine of Vitrine, a server of vision transformers. Programs use the engine to compute without a server.

The function `vitrine.load` of the package `vitrine` uses this engine. `LIBRARY` is the path of the shared library, and
`INCLUDE` is the folder of its headers for C and C++. `python3 -m vitrine_engine` prints the folders of the headers and
of the library.
"""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
LIBRARY = str(_FOLDER / "libvitrine_engine.so")
INCLUDE = str(_FOLDER / "include")
