#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the provenance of a release to the standard output: an in-toto statement, version 1, with SLSA's predicate, version 1.

  provenance.py FOLDER --preset PRESET [--source URI] [--images FILE]

Subjects are the files of FOLDER. Materials are the commit, every file of script/pins, the pinned wheels, and the Debian packages that were
used to build the programs. A Debian package has a digest if apt's lists contain the installed version. With --images, subjects are the
images in FILE, which has lines NAME@sha256:DIGEST. Materials are then the Dockerfile's base image and the day of Debian's archive, instead
of this machine's packages. The builder is script/release of that commit, and its parts are listed with digests. The statement contains no
time, so two builds that make the same files from the same materials have the same statement. The statement is not signed.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/container"))
from bill import build_packages, installed
from origins import debian_purl, pinned, sha256

BUILD_TYPE = "https://vitrine.invalid/release/v1"  # identifies the form of the parameters; not a real address
BUILDER = ("script/release", "script/package", "script/build", "deploy/release/*", "deploy/container/*", "deploy/debian/*",
           "cmake/debian*.cmake", "Dockerfile")
MADE_AFTER = {"SHA256SUMS"}


def git(root: pathlib.Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def subjects(folder: pathlib.Path) -> "list[dict]":
    paths = [path for path in sorted(folder.iterdir())
             if path.is_file() and path.name not in MADE_AFTER and not path.name.endswith(".provenance.json")]
    return [{"name": path.name, "digest": {"sha256": sha256(path)}} for path in paths]


def image_subjects(images: "list[str]") -> "list[dict]":
    pairs = [re.fullmatch(r"(\S+)@sha256:([0-9a-f]{64})", line).groups() for line in images]
    return [{"name": name, "digest": {"sha256": digest}} for name, digest in pairs]


def apt_digests(versions: "dict[str, str]") -> "dict[str, str]":
    """Returns the SHA-256 of packages whose installed version is in apt's lists."""
    asked = [f"{name}={version}" for name, version in versions.items()]
    shown = subprocess.run(["apt-cache", "show", *asked], capture_output=True, text=True).stdout
    digests = {}
    for stanza in shown.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|SHA256): (\S+)$", stanza, re.M))
        if "SHA256" in fields and versions.get(fields["Package"]) == fields["Version"]:
            digests[fields["Package"]] = fields["SHA256"]
    return digests


def debian_materials(root: pathlib.Path) -> "list[dict]":
    """Returns the Debian packages that are used to build the programs, with all their dependencies."""
    closure = subprocess.run(
        ["apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
         "--no-replaces", "--no-enhances", *build_packages(root)], capture_output=True, text=True).stdout
    names = re.findall(r"^([a-z0-9][a-z0-9+.-]+)(?::\w+)?$", closure, re.M) + build_packages(root)
    there = {name: installed()[name] for name in sorted(set(names)) if name in installed()}
    digests = apt_digests({name: version for name, (version, _) in there.items()})
    return [{"uri": debian_purl(name, *there[name]), **({"digest": {"sha256": digests[name]}} if name in digests else {})}
            for name in there]


def image_materials(root: pathlib.Path) -> "list[dict]":
    """Returns the Dockerfile's base image and, if the Dockerfile pins one, the snapshot of Debian's archive."""
    arguments = dict(re.findall(r"^ARG (DEBIAN_IMAGE|DEBIAN_SNAPSHOT)=(\S+)$", (root / "Dockerfile").read_text(), re.M))
    name, digest = arguments["DEBIAN_IMAGE"].split("@sha256:")
    found = [{"uri": f"docker://{name}", "digest": {"sha256": digest}}]
    if day := arguments.get("DEBIAN_SNAPSHOT"):
        found.append({"uri": f"https://snapshot.debian.org/archive/debian/{day}/"})
    return found


def materials(root: pathlib.Path, source: str) -> "list[dict]":
    found = [{"uri": source, "name": "vitrine", "digest": {"gitCommit": git(root, "rev-parse", "HEAD")}}]
    pins = sorted(path for path in (root / "script/pins").iterdir() if path.is_file())
    found += [{"name": f"script/pins/{path.name}", "digest": {"sha256": sha256(path)}} for path in pins]
    wheels = {origin.purl: origin for path in pins if path.suffix == ".txt" for origin in pinned([path])}
    found += [{"uri": purl, "digest": {"sha256": origin.digest}} for purl, origin in sorted(wheels.items())]
    return found


def builder(root: pathlib.Path, source: str) -> dict:
    paths = sorted({path for pattern in BUILDER for path in root.glob(pattern) if path.is_file()})
    parts = [{"name": str(path.relative_to(root)), "digest": {"sha256": sha256(path)}} for path in paths]
    return {"id": f"{source}#script/release", "builderDependencies": parts}


def make(folder: pathlib.Path, preset: str, source: str, images: "list[str]", root: pathlib.Path = ROOT) -> dict:
    version = (root / "VERSION").read_text().strip()
    source = f"{source}@{git(root, 'rev-parse', 'HEAD')}"
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": image_subjects(images) if images else subjects(folder),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": version, "tag": f"v{version}", "preset": preset},
                "internalParameters": {"SOURCE_DATE_EPOCH": git(root, "log", "-1", "--format=%ct")},
                "resolvedDependencies": materials(root, source) + (image_materials(root) if images else debian_materials(root)),
            },
            "runDetails": {"builder": builder(root, source)},
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--source", default="git+https://vitrine.invalid/vitrine", help="where the repository is; default: no real address")
    parser.add_argument("--images", type=pathlib.Path)
    options = parser.parse_args()
    images = options.images.read_text().splitlines() if options.images else []
    print(json.dumps(make(options.folder, options.preset, options.source, images), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
