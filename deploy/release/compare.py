#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the files of two builds of a release, which must be equal byte by byte.

  compare.py FOLDER FOLDER

If a package, tarball or wheel differs, names the members that differ. Exit code 1 if anything differs.
"""
import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile
import zipfile


def tar_members(data: bytes) -> "dict[str, str]":
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for one in archive:
            digest = hashlib.sha256(archive.extractfile(one).read()).hexdigest() if one.isfile() else one.linkname
            found[one.name] = f"mode {one.mode:o}, owner {one.uid}:{one.gid}, time {one.mtime}, size {one.size}, {digest}"
    return found


def members(path: pathlib.Path) -> "dict[str, str]":
    """Returns the contents of an archive by name; empty for another file."""
    if path.name.endswith(".tar.gz"):
        return tar_members(path.read_bytes())
    if path.suffix == ".deb":
        parts = {"control": "--ctrl-tarfile", "data": "--fsys-tarfile"}
        return {f"{part}/{name}": text for part, option in parts.items()
                for name, text in tar_members(subprocess.run(["dpkg-deb", option, path], check=True, capture_output=True).stdout).items()}
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {one.filename: f"mode {one.external_attr >> 16:o}, time {one.date_time}, "
                                  f"{hashlib.sha256(archive.read(one)).hexdigest()}" for one in archive.infolist()}
    return {}


def differences(first: pathlib.Path, second: pathlib.Path) -> "list[str]":
    """Returns a line for each file that is in only one folder or differs, and one for each member of it that differs."""
    names = {folder: {path.name for path in folder.iterdir() if path.is_file()} for folder in (first, second)}
    found = [f"{name} is in {folder} alone" for folder, other in ((first, second), (second, first))
             for name in sorted(names[folder] - names[other])]
    for name in sorted(names[first] & names[second]):
        if (first / name).read_bytes() == (second / name).read_bytes():
            continue
        one, other = members(first / name), members(second / name)
        lines = [f"  {member}: {one.get(member, 'absent')} / {other.get(member, 'absent')}"
                 for member in sorted(one.keys() | other.keys()) if one.get(member) != other.get(member)]
        if one and not lines:
            lines = ["  the members are equal: their order or their compression differs"]
        found += [f"{name} differs", *lines]
    return found


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folders = [pathlib.Path(name) for name in sys.argv[1:]]
    for folder in folders:
        if not folder.is_dir() or not any(folder.iterdir()):
            print(f"release: there are no files in {folder}", file=sys.stderr)
            return 1
    found = differences(*folders)
    print("\n".join(found) or f"{len([path for path in folders[0].iterdir() if path.is_file()])} files are equal byte by byte")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
