# SPDX-License-Identifier: Apache-2.0
"""Lists the files of the tree, with or without git. Omits files that .gitignore names."""
import pathlib
from typing import Iterator

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Patterns of paths from the root. An editable installation of the Python client generates code beside its sources.
NOT_OURS = ("build*", ".git", ".cache", "compile_commands.json", "client/python/src/vitrine/v1", "client/python/dist",
            *(f"client/python/src/vitrine/{name}.py" for name in ("_calls", "_many", "_servers", "admin", "client")))


def ours(path: pathlib.PurePath) -> bool:
    return path.name != "__pycache__" and not any(path.match(f"/{name}") for name in NOT_OURS)


def files(folder: pathlib.Path = SOURCE) -> Iterator[pathlib.PurePath]:
    """Yields the files below `folder`, relative to the root of the tree."""
    for path in sorted(folder.iterdir()):
        name = path.relative_to(SOURCE)
        if path.is_symlink() or not ours(pathlib.PurePath("/") / name):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield name


def text(path: pathlib.PurePath) -> str:
    """Returns the file's text, or "" if the file is not text."""
    try:
        return (SOURCE / path).read_text()
    except UnicodeDecodeError:
        return ""
