# SPDX-License-Identifier: Apache-2.0
"""Prints the folders of the headers and of the library."""

from pathlib import Path

from vitrine_engine import INCLUDE, LIBRARY

print("include=%s\nlibrary=%s" % (INCLUDE, Path(LIBRARY).parent))
