# SPDX-License-Identifier: Apache-2.0
"""Tests deploy/release and deploy/debian/normalize: bill of materials, provenance, images, wheel."""
import functools
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RELEASE = SOURCE / "deploy/release"
sys.path[:0] = [str(RELEASE), str(SOURCE / "deploy/container")]
import bill
import provenance
from origins import Debian

DIGEST = "sha256:" + "ab" * 32
INNER = [{"type": "library", "bom-ref": f"pkg:deb/debian/{name}@1", "name": name, "version": "1", "purl": f"pkg:deb/debian/{name}@1",
          "components": [{"type": "file", "name": "/usr/lib/x"}], "properties": [{"name": "vitrine:linkage", "value": linkage}]}
         for name, linkage in (("libshared", "shared"), ("libheader-dev", "compiled in"))]


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


@functools.lru_cache
def environment() -> pathlib.Path:
    made = run(RELEASE / "environment")
    if made.returncode == 77:
        raise unittest.SkipTest(made.stderr.strip())
    if made.returncode:
        raise AssertionError(made.stderr)
    return pathlib.Path(made.stdout.strip())


def deb(folder: pathlib.Path, name: str, fields: str = "", text: str = "x\n", size: int = 1,
        maintainer: str = "a <a@b.example>") -> pathlib.Path:
    with tempfile.TemporaryDirectory() as tree:
        control = pathlib.Path(tree) / "DEBIAN/control"
        control.parent.mkdir(mode=0o755)
        control.write_text(f"Package: {name}\nVersion: 1.2.3-1\nArchitecture: amd64\nMaintainer: {maintainer}\nInstalled-Size: {size}\n"
                           f"{fields}Description: x\n")
        (control.parent / "md5sums").write_text("1  usr/b\n2  usr/a\n")
        (pathlib.Path(tree) / "usr").mkdir(mode=0o755)
        (pathlib.Path(tree) / "usr/a").write_text(text)
        path = folder / f"{name}_1.2.3-1_amd64.deb"
        os.chmod(tree, 0o755)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", tree, path], check=True, capture_output=True,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return path


class Case(unittest.TestCase):
    """A release of fake packages, made in a repository with the pinned versions of this checkout (script/pins)."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "repository"
        self.folder = pathlib.Path(folder.name) / "packages"
        self.folder.mkdir()
        for part in ("script/pins", "deploy/release", "deploy/container", "proto/grpc"):
            shutil.copytree(SOURCE / part, self.root / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(SOURCE / "script/release", self.root / "script")
        (self.root / "VERSION").write_text("1.2.3\n")
        (self.root / "CHANGELOG.md").write_text("# Changes\n\n## [1.2.3] - 2026-01-02\n\n- Text.\n")
        (self.root / "cmake").mkdir()
        (self.root / "cmake/debian.cmake").write_text("set(VITRINE_MAINTAINER a@b.example)\n")
        self.commit()

    def commit(self) -> None:
        git = ["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b.example"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x", "--allow-empty"], ["tag", "-f", "v1.2.3"]):
            subprocess.run([*git, *words], check=True, capture_output=True)

    def fill(self) -> None:
        deb(self.folder, "vitrine-server", "Depends: libc6 (>= 2.36), nowhere-to-be-had | dpkg\nRecommends: vitrine-client\n")
        deb(self.folder, "vitrine-client", "Depends: libc6 (>= 2.34)\n")
        with tarfile.open(self.folder / "vitrine-1.2.3-linux-x86_64.tar.gz", "w:gz") as archive:
            text = json.dumps({"components": INNER}).encode()
            member = tarfile.TarInfo("vitrine-1.2.3-linux-x86_64/share/vitrine/sbom.cdx.json")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        with zipfile.ZipFile(self.folder / "vitrine-1.2.3-py3-none-any.whl", "w") as archive:
            archive.writestr("vitrine-1.2.3.dist-info/METADATA", "Metadata-Version: 2.4\nName: vitrine\nVersion: 1.2.3\n"
                             "Requires-Dist: grpcio>=1.51\nRequires-Dist: pandas>=1.5; extra == 'pandas'\n")


class Bill(Case):
    def make(self) -> dict:
        return bill.make(self.folder, "abc", Debian(), self.root)

    def test_lists_the_libraries_of_the_engine_wheel(self) -> None:
        self.fill()
        name = "vitrine_engine-1.2.3-py3-none-manylinux_2_36_x86_64.whl"
        with zipfile.ZipFile(self.folder / name, "w") as archive:
            info = "vitrine_engine-1.2.3.dist-info"
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.4\nName: vitrine-engine\nVersion: 1.2.3\nRequires-Dist: vitrine==1.2.3\n")
            archive.writestr(f"{info}/sboms/vitrine-engine.cdx.json", json.dumps({"components": INNER}))
        needs = {one["ref"]: [part.split("@")[0] for part in one["dependsOn"]] for one in self.make()["dependencies"]}
        self.assertEqual(needs[name], ["pkg:deb/debian/libheader-dev", "pkg:deb/debian/libshared", "vitrine-1.2.3-py3-none-any.whl"])

    def test_lists_the_dependencies_of_each_file(self) -> None:
        self.fill()
        made = self.make()
        needs = {one["ref"]: [name.split("@")[0] for name in one["dependsOn"]] for one in made["dependencies"]}
        server, client = "vitrine-server_1.2.3-1_amd64.deb", "vitrine-client_1.2.3-1_amd64.deb"
        self.assertEqual(needs[server], ["pkg:deb/debian/dpkg", "pkg:deb/debian/libc6", "pkg:deb/debian/libheader-dev", client])
        self.assertEqual(needs["vitrine-1.2.3-linux-x86_64.tar.gz"], ["pkg:deb/debian/libheader-dev", "pkg:deb/debian/libshared"])
        self.assertEqual(needs["vitrine-1.2.3-py3-none-any.whl"], ["pkg:pypi/grpcio"])
        self.assertEqual(len(needs["vitrine"]), 4)
        parts = {one["name"]: one for one in made["metadata"]["component"]["components"]}
        self.assertEqual(parts[server]["hashes"][0]["content"], hashlib.sha256((self.folder / server).read_bytes()).hexdigest())
        self.assertIn({"name": "vitrine:debian-depends", "value": "libc6 (>= 2.36)"}, parts[server]["properties"])

    def test_names_the_package_that_provides_a_virtual_one(self) -> None:
        deb(self.folder, "vitrine-server", "Depends: awk, nowhere-to-be-had | awk\n")  # Debian's mawk or gawk provides awk
        needs = next(one["dependsOn"] for one in self.make()["dependencies"] if one["ref"].startswith("vitrine-server"))
        self.assertRegex(" ".join(needs), r"^pkg:deb/debian/(mawk|gawk|original-awk)@\S+$")

    def test_marks_build_dependencies_as_excluded(self) -> None:
        self.fill()
        found = {one["bom-ref"]: one for one in self.make()["components"]}
        excluded = {reference.split("@")[0] for reference, one in found.items() if one.get("scope") == "excluded"}
        for name in ("pkg:pypi/torch", "pkg:pypi/hatchling", "pkg:pypi/googleapis-common-protos", "source/proto/grpc/health/v1/health.proto"):
            self.assertIn(name, excluded)
        self.assertNotIn("pkg:pypi/mkdocs", excluded)
        self.assertFalse([name for name in excluded if name.startswith("pkg:deb/debian/libc6")])


class Provenance(Case):
    def make(self, *images: str) -> dict:
        return provenance.make(self.folder, "cuda", "git+https://git.example/vitrine", list(images), self.root)

    def test_lists_files_and_materials(self) -> None:
        self.fill()
        (self.folder / "SHA256SUMS").write_text("x")
        made = self.make()
        commit = subprocess.run(["git", "-C", self.root, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        found = {one["name"]: one["digest"]["sha256"] for one in made["subject"]}
        server = "vitrine-server_1.2.3-1_amd64.deb"
        self.assertEqual(found[server], hashlib.sha256((self.folder / server).read_bytes()).hexdigest())
        self.assertNotIn("SHA256SUMS", found)
        used = made["predicate"]["buildDefinition"]["resolvedDependencies"]
        self.assertEqual(used[0]["digest"], {"gitCommit": commit})
        digests = {one.get("uri", one.get("name")): one.get("digest") for one in used}
        self.assertIn("sha256", digests["script/pins/packages.txt"])
        for name in ("pkg:pypi/hatchling@", "pkg:deb/debian/lld@", "pkg:deb/debian/dpkg-dev@"):
            self.assertTrue([uri for uri in digests if uri.startswith(name)], name)
        parts = [one["name"] for one in made["predicate"]["runDetails"]["builder"]["builderDependencies"]]
        self.assertIn("script/release", parts)
        self.assertEqual(made, self.make())

    def test_lists_the_materials_of_images(self) -> None:
        shutil.copy(SOURCE / "Dockerfile", self.root)
        made = self.make(f"r.example/vitrine:1.2.3@{DIGEST}")
        self.assertEqual(made["subject"], [{"name": "r.example/vitrine:1.2.3", "digest": {"sha256": DIGEST.removeprefix("sha256:")}}])
        used = [one.get("uri", "") for one in made["predicate"]["buildDefinition"]["resolvedDependencies"]]
        self.assertRegex(" ".join(used), r"docker://docker.io/library/debian:bookworm-\S+ https://snapshot.debian.org/archive/debian/\d{8}T")
        self.assertFalse([uri for uri in used if uri.startswith("pkg:deb/")])


class Images(Case):
    def setUp(self) -> None:
        super().setUp()
        self.tools = self.root.parent / "tools"
        self.tools.mkdir()
        (self.tools / "python3").symlink_to(sys.executable)
        for tool in ("git", "env", "sh", "cat"):
            (self.tools / tool).symlink_to(shutil.which(tool))

    def builder(self) -> None:
        """Makes a fake buildah that records its arguments and writes a digest."""
        path = self.tools / "buildah"
        path.write_text(f'#!/bin/sh\necho "$*" >>{self.root.parent}/said\n'
                        f'while [ $# -gt 0 ]; do [ "$1" != --digestfile ] || printf {DIGEST} >"$2"; shift; done\n')
        path.chmod(0o755)

    def images(self, *arguments: str) -> subprocess.CompletedProcess:
        return run(self.root / "deploy/release/images.py", *arguments, env={"PATH": str(self.tools)})

    def test_images_are_built_and_pushed_by_name(self) -> None:
        self.builder()
        made = self.images("r.example:5000/vision", "1.2.3", "abc", "--push")
        self.assertEqual(made.returncode, 0, made.stderr)
        names = ["vitrine-server", "vitrine-trainer", "vitrine"]
        self.assertEqual(made.stdout.splitlines(), [f"r.example:5000/vision/{name}:1.2.3@{DIGEST}" for name in names])
        said = (self.root.parent / "said").read_text().splitlines()
        self.assertEqual([line.split()[0] for line in said], ["build"] * 3 + ["push"] * 3)
        self.assertRegex(said[1], r"--target trainer --tag r.example:5000/vision/vitrine-trainer:1.2.3 .*VITRINE_REVISION=abc .*--timestamp \d+ \.$")


class Release(Case):
    """Tests the whole of script/release, with a fake package script that only copies finished packages."""

    def setUp(self) -> None:
        super().setUp()
        self.fill()
        self.script("package", f'mkdir -p "$2"\ncp {self.folder}/*.deb {self.folder}/*.tar.gz "$2"')
        wheel = self.root / "deploy/release/wheel"
        wheel.write_text(f'#!/bin/sh\ncp {self.folder}/*.whl "$1"\n')
        self.script("build", 'echo "$*" >>../built')
        self.script("dependencies-check", "[ ! -e ../pending ]")
        shutil.copytree(SOURCE / "deploy/helm", self.root / "deploy/helm", symlinks=False)
        (self.root / ".gitignore").write_text("build*/\n__pycache__/\n")
        self.commit()

    def script(self, name: str, text: str) -> None:
        """Puts a fake script into the repository."""
        path = self.root / "script" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def release(self, *arguments: str) -> subprocess.CompletedProcess:
        environment()
        return run(self.root / "script/release", "1.2.3", *arguments, env={**os.environ, "VITRINE_BUILDER": "no-such-builder"})

    def test_writes_its_documents_and_all_digests(self) -> None:
        made = self.release("--registry", "r.example/x", "--skip-images")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("no images are made", made.stderr)
        self.assertEqual((self.root.parent / "built").read_text(), "cuda --fresh\n")
        folder = self.root / "build-cuda/packages"
        self.assertEqual((folder / "RELEASE_NOTES.md").read_text(), "# Vitrine 1.2.3, 2026-01-02\n\n- Text.\n")
        listed = {line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed | {"SHA256SUMS"}, {path.name for path in folder.iterdir()})
        self.assertLessEqual({"vitrine-chart-1.2.3.tgz", "vitrine-1.2.3.cdx.json", "vitrine-1.2.3.provenance.json", "RELEASE_NOTES.md"}, listed)
        self.assertEqual(run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=folder).returncode, 0)

    def test_invalid_releases_are_refused_before_the_build(self) -> None:
        self.assertIn("VITRINE_BUILDER=no-such-builder does not run here", self.release("--registry", "r.example/x").stderr)
        self.assertIn("--push needs --registry", self.release("--push").stderr)
        (self.root / "CHANGELOG.md").write_text("# Changes\n\n## [1.2.2] - 2026-01-02\n\n- Text.\n")
        self.assertIn("has changes", self.release().stderr)
        self.commit()
        self.assertIn("CHANGELOG.md needs a section \"## [1.2.3] - YYYY-MM-DD\"", self.release().stderr)
        self.assertFalse((self.root / "build-cuda").exists())

    def test_pending_fixes_need_a_flag(self) -> None:
        (self.root.parent / "pending").touch()
        self.assertIn("--allow-pending", self.release().stderr)
        made = self.release("--allow-pending")
        self.assertEqual(made.returncode, 0, made.stderr)


class Reproducibility(Case):
    """Tests that two builds give the same bytes."""

    def twice(self, text: str, size: int) -> "list[pathlib.Path]":
        folders = [self.folder / "one", self.folder / "two"]
        for folder in folders:
            folder.mkdir()
        deb(folders[0], "vitrine-server")
        deb(folders[1], "vitrine-server", text=text, size=size)
        return folders

    def test_packages_do_not_depend_on_the_file_system(self) -> None:
        folders = self.twice("x\n", 99)
        self.assertNotEqual(*(next(folder.iterdir()).read_bytes() for folder in folders))
        for folder in folders:
            normalized = run(SOURCE / "deploy/debian/normalize", *folder.iterdir(), env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
                             preexec_fn=lambda: os.umask(0o077))
            self.assertEqual(normalized.returncode, 0, normalized.stderr)
        self.assertEqual(*(next(folder.iterdir()).read_bytes() for folder in folders))
        fields = run("dpkg-deb", "-I", next(folders[0].iterdir()), "control", "md5sums").stdout
        self.assertIn("Installed-Size: 2\n", fields)
        self.assertIn("2  usr/a\n1  usr/b\n", fields)

    def test_a_wheel_does_not_depend_on_folder_umask_and_clock(self) -> None:
        environment()
        for part in ("client/python", "proto"):
            shutil.copytree(SOURCE / part, self.root / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "tests"))
        shutil.copy(SOURCE / "LICENSE", self.root)
        for path in self.root.rglob("*.py"):
            os.utime(path, (1e9, 1e9))
        wheels = []
        for number, (root, umask) in enumerate(((SOURCE, 0o022), (self.root, 0o077))):
            shutil.copy(SOURCE / "VERSION", self.root)
            made = run(root / "deploy/release/wheel", self.folder / str(number), preexec_fn=lambda umask=umask: os.umask(umask),
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
            self.assertEqual(made.returncode, 0, made.stderr)
            wheels.append(next((self.folder / str(number)).iterdir()).read_bytes())
        self.assertEqual(wheels[0], wheels[1])


if __name__ == "__main__":
    unittest.main()
