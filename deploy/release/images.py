#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the images of a release from the Dockerfile, tags them and, with --push, pushes them.

  images.py --builder                              prints the builder that would be used: docker, podman or buildah
  images.py REGISTRY VERSION REVISION [--push]     REGISTRY: HOST/PATH, such as registry.example/vision

Makes REGISTRY/vitrine-server:VERSION (one image for CPUs and GPUs), REGISTRY/vitrine-trainer:VERSION and REGISTRY/vitrine:VERSION
(the client). They are compiled from this checkout, with the base image and the packages that the Dockerfile pins. With --push,
pushes the images and prints NAME@sha256:DIGEST of each image, with the digest in the registry. VITRINE_BUILDER sets the builder.
VITRINE_BUILD_FLAGS and VITRINE_PUSH_FLAGS are more arguments for its `build` and `push`.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = {"server": "vitrine-server", "trainer": "vitrine-trainer", "client": "vitrine"}
BUILDERS = ("docker", "podman", "buildah")
NO_BUILDER = ("no container builder: none of docker (with its daemon), podman and buildah runs here (on Debian 12: apt-get install "
              "buildah); --skip-images releases without images")
# The part before an image's name: a host (with a dot or a port, or localhost), then a path.
REGISTRY = re.compile(r"(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+|[a-z0-9.-]+(?=:\d))(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")


class Failed(Exception):
    """An error with a message for the user."""


def run(*command: str, **options: object) -> subprocess.CompletedProcess:
    """Runs a command. Redirects the command's output to the standard error, because the standard output has the digests."""
    done = subprocess.run(command, stdout=sys.stderr, **options)
    if done.returncode:
        raise Failed(f"{' '.join(command[:2])} failed with {done.returncode}; see above")
    return done


def works(builder: str) -> bool:
    """Returns True if the builder is installed and can build. For docker, the daemon must answer."""
    if not shutil.which(builder):
        return False
    name = pathlib.Path(builder).name
    return name == "buildah" or subprocess.run([builder, "info"], capture_output=True).returncode == 0


def choose_builder() -> str:
    named = os.environ.get("VITRINE_BUILDER")
    found = next((builder for builder in ([named] if named else BUILDERS) if works(builder)), None)
    if not found:
        raise Failed(f"VITRINE_BUILDER={named} does not run here" if named else NO_BUILDER)
    return found


def build(builder: str, target: str, name: str, version: str, revision: str) -> None:
    """Builds a container image. If the builder can set times, the image and its files get the time of the commit."""
    epoch = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    flags = ["--build-arg", f"SOURCE_DATE_EPOCH={epoch}"]
    if pathlib.Path(builder).name != "docker":
        # Docker's format, because OCI's format has no HEALTHCHECK.
        flags = ["--format", "docker", "--layers", "--timestamp", epoch]
    flags += shlex.split(os.environ.get("VITRINE_BUILD_FLAGS", ""))
    run(builder, "build", "--target", target, "--tag", name, "--build-arg", f"VITRINE_VERSION={version}",
        "--build-arg", f"VITRINE_REVISION={revision}", *flags, ".", cwd=ROOT)


def push(builder: str, name: str) -> str:
    """Pushes an image and returns the digest of its manifest in the registry."""
    flags = shlex.split(os.environ.get("VITRINE_PUSH_FLAGS", ""))
    if pathlib.Path(builder).name == "docker":
        run(builder, "push", *flags, name)
        asked = [builder, "image", "inspect", "--format", "{{range .RepoDigests}}{{println .}}{{end}}", name]
        listed = subprocess.run(asked, capture_output=True, text=True).stdout
        found = re.search(rf"^{re.escape(name.rpartition(':')[0])}@(sha256:[0-9a-f]{{64}})$", listed, re.M)
        digest = found[1] if found else ""
    else:
        with tempfile.NamedTemporaryFile("r") as file:
            run(builder, "push", *flags, "--digestfile", file.name, name)
            digest = pathlib.Path(file.name).read_text().strip()
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise Failed(f"{builder} pushed {name} but named no digest of it")
    return digest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builder", action="store_true")
    parser.add_argument("--push", action="store_true")
    parser.add_argument("release", nargs="*", metavar="REGISTRY VERSION REVISION")
    options = parser.parse_args()
    if len(options.release) != (0 if options.builder else 3):
        parser.error("the arguments are REGISTRY VERSION REVISION, or --builder alone")
    try:
        builder = choose_builder()
        if options.builder:
            print(builder)
            return 0
        registry, version, revision = options.release
        if not REGISTRY.fullmatch(registry):
            raise Failed(f"--registry {registry} is no HOST/PATH of small letters, such as registry.example/vision")
        names = {target: f"{registry}/{name}:{version}" for target, name in TARGETS.items()}
        for target, name in names.items():
            build(builder, target, name, version, revision)
        for name in names.values():
            if options.push:
                print(f"{name}@{push(builder, name)}")
            else:
                print(f"release: {name} is built, and not pushed", file=sys.stderr)
    except Failed as failed:
        print(f"release: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
