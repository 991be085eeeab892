# SPDX-License-Identifier: Apache-2.0
"""Tests the Debian packages of this build: their content and dependencies, and that packing twice gives the same bytes."""
import hashlib
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VITRINE_BUILD", SOURCE / "build"))


def pack(folder: str) -> "dict[str, pathlib.Path]":
    """Makes the packages; returns them by name."""
    done = subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder], capture_output=True, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, timeout=600)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return {file.name.split("_")[0]: file for file in pathlib.Path(folder).glob("*.deb")}


def field(package: pathlib.Path, name: str) -> str:
    return subprocess.run(["dpkg-deb", "-f", package, name], check=True, capture_output=True, text=True).stdout.strip()


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.packages = pack(cls.folder.name)

    def listing(self, name: str) -> "dict[str, str]":
        """Returns the files of a package with their mode and owner."""
        lines = subprocess.run(["dpkg-deb", "-c", self.packages[name]], check=True, capture_output=True, text=True).stdout.splitlines()
        return {line.split(maxsplit=5)[5].removeprefix("."): " ".join(line.split()[:2]) for line in lines}

    def test_each_package_has_its_metadata(self) -> None:
        self.assertEqual(sorted(self.packages), ["vitrine-client", "vitrine-models", "vitrine-server"])
        version = (SOURCE / "VERSION").read_text().strip()
        for name, package in self.packages.items():
            self.assertTrue(field(package, "Version").startswith(f"{version}-1~deb"), field(package, "Version"))
            self.assertNotIn("\n\n", field(package, "Description"))
            self.assertIn(f"/usr/share/doc/{name}/copyright", self.listing(name))
            if name != "vitrine-models":
                self.assertIn(f"/usr/share/doc/{name}/copyright.fonts-dejavu-core", self.listing(name))
        self.assertIn("/usr/share/doc/vitrine-server/copyright.libbackward-cpp-dev", self.listing("vitrine-server"))

    def test_programs_have_manual_pages_and_completions(self) -> None:
        for name, programs in (("vitrine-server", ("vitrine-server", "vitrine-repo")), ("vitrine-client", ("vitrine",))):
            files = self.listing(name)
            for program in programs:
                self.assertEqual(files[f"/usr/bin/{program}"], "-rwxr-xr-x root/root")
                for file in (f"man/man1/{program}.1", f"bash-completion/completions/{program}", f"zsh/site-functions/_{program}"):
                    self.assertEqual(files[f"/usr/share/{file}"], "-rw-r--r-- root/root")

    def test_the_server_has_its_service_and_settings(self) -> None:
        files = self.listing("vitrine-server")
        for file in ("vitrine.service", "vitrine.service.d/common.conf"):
            self.assertIn(f"/usr/lib/systemd/system/{file}", files)
        self.assertEqual(files["/etc/vitrine/server.toml"], "-rw-r--r-- root/root")
        self.assertEqual(self.control("conffiles"), "/etc/vitrine/server.toml\n")
        for script in ("postinst", "prerm", "postrm"):
            checked = subprocess.run(["sh", "-n"], input=self.control(script), capture_output=True, text=True)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""), script)

    def control(self, file: str) -> str:
        return subprocess.run(["dpkg-deb", "-I", self.packages["vitrine-server"], file], check=True, capture_output=True, text=True).stdout

    def test_dependencies_are_debian_libraries(self) -> None:
        for name in ("vitrine-server", "vitrine-client"):
            needed = field(self.packages[name], "Depends")
            self.assertRegex(needed, r"libc6 \(>= [0-9.]+\)")
            self.assertRegex(needed, r"libssl3 \(>= [0-9.]+")
            self.assertEqual([file for file in self.listing(name) if ".so" in file and "vitrine_cuda" not in file], [])
        self.assertNotIn("grpc", field(self.packages["vitrine-server"], "Depends"))
        self.assertEqual(field(self.packages["vitrine-models"], "Architecture"), "all")
        self.assertEqual(field(self.packages["vitrine-models"], "Depends"), "")

    def test_packages_are_reproducible(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, again in pack(folder).items():
                digests = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (self.packages[name], again)}
                self.assertEqual(len(digests), 1, name)


if __name__ == "__main__":
    unittest.main()
