#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""engine_wheel.py FOLDER [--build BUILD]: puts the wheel vitrine_engine into FOLDER. It contains libvitrine_engine.so, its headers, and
the shared libraries that it needs. Libraries that every system for the tag manylinux_2_36 has are left out.

The libraries are stripped copies from Debian 12. Each has its digest in its file name, so that a process can also load the system's
copy of the library. The wheel contains their licence texts and a bill of materials (CycloneDX, PEP 770). The same library and the same
SOURCE_DATE_EPOCH (default: the commit's time) make the same bytes. Must run on the Debian 12 on which the library was built. Needs
patchelf and strip.
"""
import argparse
import base64
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/container"))
import sbom
from origins import Debian, Origin, closure, compiled_in, sha256

TAG = "py3-none-manylinux_2_36_x86_64"
# Packages whose libraries are not in the wheel: by PEP 600, every system has them.
SYSTEM = {"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}
MOST_BYTES = 15_000_000
METADATA = """Metadata-Version: 2.4
Name: vitrine-engine
Version: {version}
Summary: CPU engine of Vitrine, a server of vision transformers, for programs without a server
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.9
Requires-Dist: vitrine=={version}
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Topic :: Scientific/Engineering :: Image Recognition

The shared library behind `vitrine.load`, with headers for C and C++. `python3 -m vitrine_engine` prints where they are.
"""


def run(*command: str) -> None:
    subprocess.run(command, check=True)


class Tree:
    """Files of the wheel."""

    def __init__(self, root: pathlib.Path, build: pathlib.Path, version: str) -> None:
        self.root, self.build, self.version = root, build, version
        self.package = root / "vitrine_engine"
        self.info = root / f"vitrine_engine-{version}.dist-info"
        self.debian = Debian()
        self.bundled: "dict[str, tuple[Origin, pathlib.Path]]" = {}  # by the name with which programs request the library

    def put(self, source: pathlib.Path, folder: pathlib.Path, name: str = "") -> pathlib.Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (name or source.name)
        shutil.copyfile(source, path)
        return path

    def library(self) -> pathlib.Path:
        """Adds the library and the libraries that it needs. Sets the run path of each, so that the loader finds the others."""
        source = self.build / "lib/libvitrine_engine.so"
        own = self.put(source, self.package)
        run("strip", "--strip-unneeded", str(own))
        for name, path in sorted(closure(source).items()):
            origin = self.debian.owner(path)
            if origin is None:
                raise SystemExit(f"{path} belongs to no Debian package")
            if origin.name not in SYSTEM:
                stem, _, rest = name.partition(".so")
                renamed = f"{stem}-{sha256(path.resolve())[:8]}.so{rest}"
                self.bundled[name] = origin, self.put(path.resolve(), self.package / "lib", renamed)
        for _, path in self.bundled.values():
            run("strip", "--strip-unneeded", str(path))
            run("patchelf", "--set-soname", path.name, str(path))
            self.link(path, "$ORIGIN")
        self.link(own, "$ORIGIN/lib")
        return own

    def link(self, path: pathlib.Path, run_path: str) -> None:
        """Makes a library find the bundled libraries. Sets the run path in a second call of patchelf, because patchelf 0.14 loses renamed
        libraries if the same call also sets the run path."""
        needed = subprocess.run(["patchelf", "--print-needed", str(path)], check=True, capture_output=True, text=True).stdout.split()
        renames = [word for name in needed if name in self.bundled for word in ("--replace-needed", name, self.bundled[name][1].name)]
        if renames:
            run("patchelf", *renames, str(path))
        run("patchelf", "--set-rpath", run_path, str(path))

    def papers(self, own: pathlib.Path) -> None:
        """Adds the licence texts and the bill of materials."""
        self.put(ROOT / "LICENSE", self.info / "licenses")
        files: "dict[Origin, list[pathlib.Path]]" = {}
        for origin, path in self.bundled.values():
            files.setdefault(origin, []).append(path)
        shared = {origin.source for origin in files if origin.source}
        headers = compiled_in(self.build, ["lib/libvitrine_engine.so"], self.debian, shared)
        for origin in [*files, *headers]:
            text = self.debian.copyright(origin)
            if text is None:
                raise SystemExit(f"no licence text of {origin.name} {origin.version}")
            self.put(text.resolve(), self.info / "licenses" / origin.name, "copyright")
        parts = [sbom.component(origin, found, self.root) for origin, found in sorted(files.items(), key=lambda item: item[0].name)]
        parts += [sbom.component(origin, [], self.root) for origin in headers]
        main = sbom.programs("vitrine-engine", self.version, "", [own], self.root)
        (self.info / "sboms").mkdir()
        (self.info / "sboms/vitrine-engine.cdx.json").write_text(json.dumps(sbom.document(main, parts), indent=1) + "\n")

    def make(self) -> None:
        own = self.library()
        for name in ("vitrine_engine.h", "vitrine_engine.hpp"):
            self.put(ROOT / "client/engine" / name, self.package / "include")
        for path in sorted((ROOT / "client/engine/python/vitrine_engine").glob("*.py")):
            self.put(path, self.package)
        self.papers(own)
        (self.info / "METADATA").write_text(METADATA.format(version=self.version))
        (self.info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: engine_wheel.py\nRoot-Is-Purelib: false\nTag: {TAG}\n")

    def pack(self, wheel: pathlib.Path, seconds: int) -> None:
        """Writes the files, then RECORD. All entries get the same time. The mode of an entry depends only on its name."""
        rows = []
        record = f"{self.info.name}/RECORD"
        moment = time.gmtime(max(seconds, 315532800))[:6]  # a zip file cannot store a time before 1980
        with zipfile.ZipFile(wheel, "w") as archive:

            def add(name: str, content: bytes) -> None:
                entry = zipfile.ZipInfo(name, moment)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
                archive.writestr(entry, content, compresslevel=9)

            for path in sorted(self.root.rglob("*")):
                if path.is_file():
                    name, content = path.relative_to(self.root).as_posix(), path.read_bytes()
                    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    rows.append(f"{name},sha256={digest},{len(content)}\n")
                    add(name, content)
            add(record, "".join([*rows, f"{record},,\n"]).encode())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    version = (ROOT / "VERSION").read_text().strip()
    commit = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(commit, check=True, capture_output=True, text=True).stdout
    options.folder.mkdir(parents=True, exist_ok=True)
    wheel = options.folder / f"vitrine_engine-{version}-{TAG}.whl"
    with tempfile.TemporaryDirectory() as scratch:
        tree = Tree(pathlib.Path(scratch), options.build, version)
        tree.make()
        tree.pack(wheel, int(seconds))
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 1e6:.1f} MB, {len(tree.bundled)} bundled libraries", file=sys.stderr)
    if size >= MOST_BYTES:
        raise SystemExit(f"{wheel} has {size} bytes, must be below {MOST_BYTES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
