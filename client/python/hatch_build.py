# SPDX-License-Identifier: Apache-2.0
"""Adds descriptors and type stubs of the .proto files (made by grpcio-tools) and the blocking client (generate_sync.py)
to the package. Sets the package's version, from the file VERSION, and its licence.

In a checkout, the .proto files, VERSION and the licence are two folders up; a source distribution contains them. No
file is created beside the sources, except for an editable installation, which runs from the sources.
"""

import atexit
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# Files of the messages that the package uses, and the files that they import.
CONTRACT = ("admin", "attention", "classifier", "features", "manifest", "model", "registry", "serving")
# Third-party messages. Copies of them avoid a dependency on their packages.
FOREIGN = ["retry_details.proto", "health.proto"]
# Path of the copied licence in the package. If the copy were in the top folder of a source distribution, build backends
# would treat it as a second licence.
LICENCE = "src/vitrine/LICENSE"
MODULE = '''"""Messages of {proto}, made of their descriptors."""

from vitrine._descriptors import define

define("{proto}", globals())
'''


class VersionHook(MetadataHookInterface):
    def update(self, metadata: Dict[str, Any]) -> None:
        metadata["version"] = find(Path(self.root), "VERSION").read_text().strip()


class GeneratedHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        root = Path(self.root)
        included = build_data["force_include"]
        contract = find(root, "proto/vitrine/v1/classifier.proto").parents[2]
        protos = ["vitrine/v1/%s.proto" % name for name in CONTRACT]
        includes = [contract, root]
        if version == "editable":
            generate_sync(root, root / "src")
            generate_contract(includes, protos, root / "src")
            return
        scratch = Path(tempfile.mkdtemp(prefix="vitrine-build-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        generate_sync(root, scratch)
        if self.target_name == "sdist":
            included.update({str(contract / proto): "proto/" + proto for proto in protos})
            included[str(find(root, "VERSION"))] = "VERSION"
            included[str(find(root, "LICENSE", LICENCE))] = LICENCE
            included[str(scratch / "vitrine")] = "src/vitrine"
            return
        if not (root / LICENCE).is_file():
            included[str(find(root, "LICENSE"))] = "vitrine/LICENSE"
        generate_contract(includes, protos, scratch)
        included[str(scratch / "vitrine")] = "vitrine"


def find(root: Path, name: str, carried: str = "") -> Path:
    """Returns a file of the server's tree, from a source distribution or from the checkout. `carried` is the file's
    name in a source distribution, by default `name`."""
    for path in (root / (carried or name), root.parent.parent / name):
        if path.is_file():
            return path
    raise FileNotFoundError(
        "%s of Vitrine is neither in %s nor in %s; build from a checkout (pip 21.3 or newer) or from a source "
        "distribution" % (name, root, root.parent.parent)
    )


def generate_sync(root: Path, out: Path) -> None:
    (out / "vitrine").mkdir(exist_ok=True)
    subprocess.run([sys.executable, str(root / "generate_sync.py"), str(root / "src"), str(out)], check=True)


def generate_contract(includes: "list[Path]", protos: "list[str]", out: Path) -> None:
    """Writes vitrine/v1/: one file with the descriptors of all .proto files, and for each file of `protos` a module and
    its type stub."""
    package = out / "vitrine/v1"
    package.mkdir(parents=True, exist_ok=True)
    protoc = [sys.executable, "-m", "grpc_tools.protoc"] + ["-I%s" % folder for folder in includes]
    subprocess.run(protoc + ["--pyi_out=%s" % out] + protos, check=True)
    descriptors = ["--include_imports", "--descriptor_set_out=%s" % (package / "descriptors.binpb")]
    subprocess.run(protoc + descriptors + protos + FOREIGN, check=True)
    (package / "__init__.py").write_text('"""The messages of the contract, proto/vitrine/v1 of the server."""\n')
    for proto in protos:
        (out / proto.replace(".proto", "_pb2.py")).write_text(MODULE.format(proto=proto))
