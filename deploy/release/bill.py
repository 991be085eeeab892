#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the software bill of materials of a release as CycloneDX 1.5 JSON to the standard output.

  bill.py FOLDER --revision COMMIT

FOLDER has the packages, the tarball, the wheels and the Helm chart. The bill lists each file with its digest and its dependencies. The
chart has no dependencies. The other files have these dependencies:

  Debian packages     in Depends and Recommends of a package, in the versions that are installed here, where the package was built
  libraries, headers  in the bills inside the tarball and the engine's wheel; the programs of the packages were compiled with the
                      headers of the tarball
  Python packages     in Requires-Dist of a wheel, which gives a range and no version
  models              in models/bundled, which vitrine-models and the tarball contain

Components with the scope "excluded" are not in a file of the release, but were used to build it: packages of script/pins/packages.txt,
pinned wheels, and third-party protocol definitions that are copied into the sources. The packages in docs.txt and peers.txt are left out,
because they are not used to build a release.
"""
import argparse
import email
import functools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/container"))
import sbom
from origins import Debian, Origin, pinned, sha256

TARBALL_BILL = "share/vitrine/sbom.cdx.json"
UNUSED_PINS = {"docs.txt", "peers.txt"}
PROTOCOLS = {"proto/grpc/**/*.proto": "gRPC's services for health and reflection", "proto/inference/*.proto": "Open Inference Protocol",
             "client/python/*.proto": "google.rpc.RetryInfo and gRPC's service for health"}


class Bill:
    """Components of a release by reference, and the dependencies of each file of the release."""

    def __init__(self, debian: Debian) -> None:
        self.debian = debian
        self.components: "dict[str, dict]" = {}
        self.files: "dict[str, dict]" = {}
        self.needs: "dict[str, set[str]]" = {}

    def add(self, component: dict) -> str:
        """Adds a component and returns its reference. Replaces an equal component that has the scope "excluded"."""
        known = self.components.get(component["bom-ref"])
        if known is None or known.get("scope") == "excluded":
            self.components[component["bom-ref"]] = component
        return component["bom-ref"]

    def file(self, path: pathlib.Path, version: str, properties: "list[dict]") -> "set[str]":
        """Adds a file of the release. Returns an empty set, which the caller fills with the references of the file's dependencies."""
        self.files[path.name] = {
            "type": "application", "bom-ref": path.name, "name": path.name, "version": version,
            "licenses": [{"license": {"id": "Apache-2.0"}}],
            "hashes": [{"alg": "SHA-256", "content": sha256(path)}],
            **({"properties": properties} if properties else {}),
        }
        return self.needs.setdefault(path.name, set())


def library(origin: Origin, **properties: str) -> dict:
    """Returns the component of a package, without files. `properties` replace sbom.component's property "vitrine:linkage"."""
    entry = sbom.component(origin, [], ROOT)
    others = [one for one in entry["properties"] if one["name"] != "vitrine:linkage"]
    entry["properties"] = others + [{"name": f"vitrine:{name}", "value": value} for name, value in properties.items()]
    return entry


def add_package(bill: Bill, path: pathlib.Path, packages: "dict[str, pathlib.Path]") -> None:
    """Adds a .deb and the Debian packages on which it depends. For alternatives, adds the first alternative that is installed here. For a
    virtual package, adds the installed package that provides it."""
    text = subprocess.run(["dpkg-deb", "-f", path], check=True, capture_output=True, text=True).stdout
    fields = email.message_from_string(text)
    wanted = [(kind, entry.strip()) for kind in ("Pre-Depends", "Depends", "Recommends") for entry in fields.get(kind, "").split(",")
              if entry.strip()]
    properties = [{"name": f"vitrine:debian-{kind.lower()}", "value": entry} for kind, entry in wanted]
    needs = bill.file(path, fields["Version"], properties)
    for kind, entry in wanted:
        names = [re.split(r"[\s(:]", choice.strip())[0] for choice in entry.split("|")]
        ours = [name for name in names if name in packages]
        there = [name for name in names if name in installed()] or [providers()[name] for name in names if name in providers()]
        if ours:
            needs.add(packages[ours[0]].name)
        elif there:
            needs.add(bill.add(library(bill.debian.package(there[0]), linkage="shared")))
        else:
            raise SystemExit(f"bill: {path.name} names {entry}, which is not installed here; make the bill where the package was built")


@functools.lru_cache
def installed() -> "dict[str, tuple[str, str]]":
    """Returns version and architecture of every package that is installed here."""
    form = "${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n"
    listed = subprocess.run(["dpkg-query", "-W", "-f=" + form], check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    return {name: (version, architecture) for name, version, architecture, status in rows if status == "installed"}


@functools.lru_cache
def providers() -> "dict[str, str]":
    """Returns the installed package that provides each virtual package, such as libspdlog1.10 for libspdlog1.10-fmt9. If several
    packages provide the same virtual package, returns the first of them by name."""
    listed = subprocess.run(["dpkg-query", "-W", "-f=${Package}\t${Provides}\n"], check=True, capture_output=True, text=True).stdout
    rows = sorted((line.split("\t") for line in listed.splitlines()), reverse=True)
    return {re.split(r"[\s(]", entry.strip())[0]: name for name, provided in rows if name in installed() for entry in provided.split(",")}


def build_packages(root: pathlib.Path) -> "list[str]":
    """Returns the installed packages of script/pins/packages.txt that build the released files."""
    sections = re.split(r"^# --- ", (root / "script/pins/packages.txt").read_text(), flags=re.M)[1:]
    lines = [line for section in sections if section.startswith(("client", "serving")) for line in section.splitlines()[1:]]
    return sorted({line for line in lines if line in installed()})


def add_tarball(bill: Bill, path: pathlib.Path, version: str) -> None:
    """Adds a tarball, and the components that the bill inside the tarball lists. Leaves out the files of each component."""
    with tarfile.open(path) as archive:
        name = next((one for one in archive.getnames() if one.endswith("/" + TARBALL_BILL)), None)
        if name is None:
            raise SystemExit(f"bill: {path.name} has no {TARBALL_BILL}; script/package puts it there")
        inner = json.load(archive.extractfile(name))
    needs = bill.file(path, version, [])
    compiled = set()
    for component in inner["components"]:
        component.pop("components", None)
        needs.add(bill.add(component))
        if {"name": "vitrine:linkage", "value": "compiled in"} in component["properties"]:
            compiled.add(component["bom-ref"])
    for name in bill.files:
        if name.startswith(("vitrine-server_", "vitrine-client_")):
            bill.needs[name] |= compiled


def add_wheel(bill: Bill, path: pathlib.Path) -> None:
    """Adds a wheel, the Python packages that it requires, and the components in the wheel's own bill."""
    with zipfile.ZipFile(path) as archive:
        name = next(one for one in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", one))
        fields = email.message_from_bytes(archive.read(name))
        inner = [json.loads(archive.read(one)) for one in archive.namelist() if one.endswith(".cdx.json")]
    needs = bill.file(path, fields["Version"], [])
    for component in [one for document in inner for one in document["components"]]:
        component.pop("components", None)
        needs.add(bill.add(component))
    for entry in fields.get_all("Requires-Dist", []):
        requirement, _, condition = entry.partition(";")
        if "extra ==" in condition:
            continue
        name, asked = re.fullmatch(r"([\w.-]+)\s*\(?([^)]*)\)?", requirement.strip()).groups()
        name = name.lower().replace("_", "-")
        if name == "vitrine":  # the wheel of the Python client
            needs.add(f"vitrine-{fields['Version']}-py3-none-any.whl")
            continue
        needs.add(bill.add({"type": "library", "bom-ref": f"pkg:pypi/{name}", "name": name, "purl": f"pkg:pypi/{name}",
                            "properties": [{"name": "vitrine:linkage", "value": "installed by pip"},
                                           {"name": "vitrine:range", "value": asked}]}))


def add_models(bill: Bill, root: pathlib.Path) -> None:
    """Adds each bundled version of each model, with the digest of its weights."""
    for weights in sorted((root / "models/bundled").glob("*/*/weights.safetensors")):
        model, version = weights.parts[-3:-1]
        reference = bill.add({"type": "machine-learning-model", "bom-ref": f"model/{model}/{version}", "name": model, "version": version,
                              "licenses": [{"license": {"id": "Apache-2.0"}}],
                              "hashes": [{"alg": "SHA-256", "content": sha256(weights)}]})
        for name in bill.files:
            if name.startswith("vitrine-models_") or name.endswith(".tar.gz"):
                bill.needs[name].add(reference)


def add_excluded(bill: Bill, root: pathlib.Path) -> None:
    """Adds components that are used to build a release but are not in its files."""
    for name in build_packages(root):
        bill.add({**library(bill.debian.package(name), pinned="script/pins/packages.txt"), "scope": "excluded"})
    for pins in sorted((root / "script/pins").glob("*.txt")):
        if pins.name not in UNUSED_PINS:
            for origin in pinned([pins]):
                bill.add({**library(origin, pinned=f"script/pins/{pins.name}"), "scope": "excluded"})
    for pattern, protocol in PROTOCOLS.items():
        for path in sorted(root.glob(pattern)):
            name = str(path.relative_to(root))
            bill.add({"type": "file", "bom-ref": f"source/{name}", "name": name, "description": f"restates {protocol}", "scope": "excluded",
                      "hashes": [{"alg": "SHA-256", "content": sha256(path)}]})


def make(folder: pathlib.Path, revision: str, debian: Debian, root: pathlib.Path = ROOT) -> dict:
    """Returns the bill of materials of the release whose files are in `folder`."""
    version = (root / "VERSION").read_text().strip()
    bill = Bill(debian)
    packages = {path.name.split("_")[0]: path for path in sorted(folder.glob("vitrine-*.deb"))}
    if not packages:
        raise SystemExit(f"bill: there are no packages in {folder}; script/package makes them")
    for path in packages.values():
        add_package(bill, path, packages)
    for path in sorted(folder.glob("vitrine-*.tar.gz")):
        add_tarball(bill, path, version)
    for path in sorted(folder.glob("vitrine[-_]*.whl")):
        add_wheel(bill, path)
    for path in sorted(folder.glob("vitrine-chart-*.tgz")):
        bill.file(path, version, [])
    add_models(bill, root)
    add_excluded(bill, root)
    main = sbom.programs("vitrine", version, revision, [], folder)
    main["components"] = [bill.files[name] for name in sorted(bill.files)]
    dependencies = [{"ref": "vitrine", "dependsOn": sorted(bill.files)}]
    dependencies += [{"ref": name, "dependsOn": sorted(needs)} for name, needs in sorted(bill.needs.items())]
    return sbom.document(main, [bill.components[reference] for reference in sorted(bill.components)], dependencies)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--revision", required=True)
    options = parser.parse_args()
    print(json.dumps(make(options.folder, options.revision, Debian()), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
