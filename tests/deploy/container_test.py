# SPDX-License-Identifier: Apache-2.0
"""Tests deploy/container with this build's `vitrine` and `vitrine-server`, and the content of the Dockerfile and the
compose files."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VITRINE_BUILD", SOURCE / "build"))
COMPOSE = SOURCE / "deploy/compose"


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


def examine(check: str, root: pathlib.Path) -> subprocess.CompletedProcess:
    return run(SOURCE / "deploy/container/examine", check, root)


class Image(unittest.TestCase):
    """The root file system of an image, made from this build."""

    @classmethod
    def assemble(cls, *arguments: object) -> None:
        if not shutil.which("patchelf") or not pathlib.Path("/var/lib/dpkg/status").exists():
            raise unittest.SkipTest("needs Debian with patchelf (script/bootstrap installs it)")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name) / "root"
        made = run(SOURCE / "deploy/container/assemble", cls.root, "--version", "1.2.3", "--revision", "abc",
                   "--site", os.environ.get("VITRINE_LIBTORCH", "/nonexistent"), "--build", BUILD, *arguments)
        if made.returncode:
            raise AssertionError(made.stderr)

    def inside(self, path: str) -> pathlib.Path:
        return self.root / path

    def loader(self, *folders: object) -> "list[object]":
        """Returns a command that starts a program. The program's libraries are searched first in the image and then in
        `folders`."""
        path = ":".join(map(str, [self.inside("usr/lib/x86_64-linux-gnu"), *folders]))
        return [self.inside("lib64/ld-linux-x86-64.so.2"), "--inhibit-cache", "--library-path", path]


class ServerImage(Image):
    """The server's root file system. Its library for GPUs has no kernels, because only `script/build cuda` compiles them."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.assemble("--name", "vitrine-server", "--programs", BUILD / "bin/vitrine-server", BUILD / "bin/vitrine-repo",
                     "--loaded", BUILD / "lib/libvitrine_cuda.so", "--compiled-in", SOURCE / "script/pins/cuda-compiler.txt")

    def check(self, *folders: object) -> subprocess.CompletedProcess:
        """Runs the server with --check, which opens the device and the ports but does not serve."""
        return run(*self.loader(*folders), self.inside("usr/bin/vitrine-server"), "--repository", SOURCE / "models/bundled",
                   "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--device", "cuda:0", "--check", env={})

    def test_reports_a_missing_driver(self) -> None:
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has an NVIDIA device")
        said = self.check()
        self.assertEqual(said.returncode, 1, said.stderr)
        self.assertIn("there is no NVIDIA driver on this machine", said.stderr)

    def test_opens_the_device_of_a_mounted_driver(self) -> None:
        """Passes the folder of the fake driver, and then the folder of the system libraries that the fake driver needs."""
        said = self.check(BUILD / "tests/cuda", "/usr/lib/x86_64-linux-gnu")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("the configuration is valid", said.stdout + said.stderr)

    def test_drivers_are_mounted_in_the_loaders_folder(self) -> None:
        """NVIDIA's container toolkit mounts the driver into Debian's folder of libraries if the image has /etc/debian_version."""
        self.assertTrue(self.inside("etc/debian_version").read_text())

    def test_has_no_nvidia_library_and_names_the_compiler(self) -> None:
        names = {path.name for path in self.root.rglob("*.so*")}
        self.assertIn("libvitrine_cuda.so", names)
        self.assertEqual([n for n in names if re.match(r"libcu|libnv|libtorch|libc10", n) and not n.startswith("libcurl")], [])
        bill = json.loads(self.inside("usr/share/vitrine/sbom.cdx.json").read_text())
        self.assertIn("nvidia-cuda-nvcc", {component["name"] for component in bill["components"]})
        for check in ("contents", "files"):
            found = examine(check, self.root)
            self.assertEqual(found.returncode, 0, found.stderr)

    def test_size_is_limited(self) -> None:
        """docs/concepts/other-servers.md states 48 MB for the image with kernels for GPUs. The library of this test has no kernels, so
        the size that linked_test.py (LIBRARY_BYTES) allows with kernels is taken instead."""
        others = [path for path in self.root.rglob("*")
                  if path.is_file() and not path.is_symlink() and path.name != "libvitrine_cuda.so"]
        self.assertLess(sum(path.stat().st_size for path in others) + 3.4e6, 48e6)

    def test_a_crash_prints_the_names_of_functions(self) -> None:
        server = subprocess.Popen(list(map(str, [*self.loader(), self.inside("usr/bin/vitrine-server"), "--repository",
                                                 SOURCE / "models/bundled", "--listen", "127.0.0.1:0"])),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={})
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        limit = threading.Timer(60, server.kill)
        self.addCleanup(limit.cancel)
        limit.start()
        said = ""
        while " ready " not in said:
            line = server.stdout.readline()
            self.assertTrue(line, said)
            said += line
        server.send_signal(signal.SIGSEGV)
        said = server.communicate(timeout=60)[0]
        self.assertRegex(said, r"crash: #\d+ .*vitrine::.* in ")


class ClientImage(Image):
    @classmethod
    def setUpClass(cls) -> None:
        cls.assemble("--name", "vitrine-client", "--compiled-in", SOURCE / "script/pins/googleapis.txt",
                     "--programs", BUILD / "bin/vitrine")

    def test_runs_with_only_its_own_libraries(self) -> None:
        listed = run(*self.loader(), "--list", self.inside("usr/bin/vitrine"), env={})
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for path in re.findall(r"=> (\S+)", listed.stdout):
            self.assertTrue(path.startswith(str(self.root)), f"{path} is not in the image")
        version = run(*self.loader(), self.inside("usr/bin/vitrine"), "--version", env={})
        self.assertEqual(version.returncode, 0, version.stderr)

    def test_has_neither_libtorch_nor_graphics_drivers(self) -> None:
        names = {path.name for path in self.root.rglob("*.so*")}
        self.assertIn("libgrpc++.so.1.51", names)
        self.assertFalse([n for n in names if re.match(r"libtorch|libc10|libcudart|libLLVM|libGLX_mesa|swrast_dri|libpython", n)])

    def test_has_only_programs_libraries_and_texts(self) -> None:
        found = examine("contents", self.root)
        self.assertEqual(found.returncode, 0, found.stderr)

    def test_size_is_limited(self) -> None:
        size = sum(path.stat().st_size for path in self.root.rglob("*") if path.is_file() and not path.is_symlink())
        self.assertLess(size, 45.5e6)  # the engine for `vitrine score --repository` takes 7 MB of this

    def test_bill_of_materials_names_every_file(self) -> None:
        found = examine("files", self.root)
        self.assertEqual(found.returncode, 0, found.stderr)
        bill = json.loads(self.inside("usr/share/vitrine/sbom.cdx.json").read_text())
        self.assertEqual(bill["metadata"]["component"]["version"], "1.2.3+abc")
        components = {component["name"]: component for component in bill["components"]}
        self.assertTrue(components["libgrpc++1.51"]["purl"].startswith("pkg:deb/debian/libgrpc++1.51@1.51"))
        for name in ("nlohmann-json3-dev", "libstb-dev", "fonts-dejavu-core"):
            self.assertEqual(components[name]["properties"][0]["value"], "compiled in", name)
            self.assertTrue(self.inside(f"usr/share/doc/{name}/copyright").stat().st_size > 0, name)
        self.assertIn("googleapis-common-protos", components)
        self.assertNotIn("libgtest-dev", components)

    def test_every_package_has_licence_and_metadata(self) -> None:
        stanzas = sorted(path.name for path in self.inside("var/lib/dpkg/status.d").iterdir())
        self.assertIn("libssl3", stanzas)
        for package in stanzas:
            self.assertTrue(self.inside(f"usr/share/doc/{package}/copyright").stat().st_size > 0, package)

    def test_has_its_user_and_ca_certificates(self) -> None:
        self.assertIn("vitrine:x:65532:65532:", self.inside("etc/passwd").read_text())
        self.assertGreater(self.inside("etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE"), 100)


class Tarball(Image):
    """The folder of programs that script/package puts into the tarball. It must work at any path."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.assemble("--relocatable", "--name", "vitrine", "--programs", BUILD / "bin/vitrine")

    def test_runs_from_another_folder_with_its_own_libraries(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            moved = shutil.copytree(self.inside("usr"), pathlib.Path(folder) / "vitrine")
            listed = run("ldd", moved / "bin/vitrine").stdout
            self.assertEqual(run(moved / "bin/vitrine", "--version", env={}).returncode, 0)
        self.assertIn(f"=> {moved}/bin/../lib/x86_64-linux-gnu/libssl.so.3", listed)

    def test_has_neither_glibc_nor_settings(self) -> None:
        names = {path.name for path in self.root.rglob("*") if path.is_file()}
        self.assertFalse(names & {"libc.so.6", "ld-linux-x86-64.so.2", "passwd", "ca-certificates.crt"})

    def test_bill_of_materials_matches_every_file(self) -> None:
        found = examine("files", self.root)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertNotIn("libc6", {one["name"] for one in json.loads(self.inside("usr/share/vitrine/sbom.cdx.json").read_text())["components"]})


def programs_of_images() -> "dict[str, list[str]]":
    """Returns the programs of each image, from deploy/container/assemble-all."""
    text = (SOURCE / "deploy/container/assemble-all").read_text()
    return {name: programs.split() for name, programs in re.findall(r"^\s*image (\S+) \S+ (vitrine.*)$", text, re.M)}


class ImageContents(unittest.TestCase):
    """Tests that an image has the programs that it starts, the libraries of these programs, and no other libraries."""

    def test_images_have_the_programs_they_start(self) -> None:
        images = programs_of_images()
        self.assertEqual(sorted(images), ["client", "gpu-check", "server", "trainer"])
        for stage in re.split(r"^FROM ", (SOURCE / "Dockerfile").read_text(), flags=re.M):
            name = stage.split("\n")[0].split(" AS ")[-1]
            started = set(re.findall(r'(?:ENTRYPOINT|CMD) \["/usr/bin/([\w-]+)"', stage))
            if name in images:
                self.assertLessEqual(started, set(images[name]), name)
        self.assertEqual(images["server"], ["vitrine-server", "vitrine-repo"])


class HealthCheck(unittest.TestCase):
    """Runs the command of the images' HEALTHCHECK against a real server."""

    def command(self, address: str) -> "list[str]":
        words = set(re.findall(r"(?ms)^HEALTHCHECK .*?CMD (\[.*?\])$", (SOURCE / "Dockerfile").read_text()))
        self.assertEqual(len(words), 1, "two ways to ask the same")
        program, *flags = json.loads(words.pop())
        return [str(BUILD / "bin" / pathlib.Path(program).name),
                *(flag.replace("127.0.0.1:8502", address) for flag in flags)]

    def test_reports_if_the_server_serves(self) -> None:
        if not (BUILD / "bin/vitrine-server").exists():
            self.skipTest("vitrine-server is not built")
        with tempfile.TemporaryDirectory() as folder:
            ports = pathlib.Path(folder) / "ports"
            (pathlib.Path(folder) / "models").mkdir()
            server = subprocess.Popen([BUILD / "bin/vitrine-server", "--repository", f"{folder}/models", "--listen", "127.0.0.1:0",
                                       "--health-listen", "127.0.0.1:0", "--metrics", "", "--port-file", ports, "--executors", "1",
                                       "--allow-empty"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                asked = run("true")
                end = time.monotonic() + 60
                while time.monotonic() < end and server.poll() is None:
                    if ports.exists():
                        address = re.search(r"^health=(.*)$", ports.read_text(), re.M).group(1)
                        asked = run(*self.command(address))
                        if asked.returncode == 0:
                            break
                        self.assertEqual(asked.returncode, 1, asked.stderr)
                        # On a busy machine, an answer takes seconds, and the health check prints the second message.
                        self.assertRegex(asked.stderr, "does not serve: NOT_SERVING|no health listener answers")
                    time.sleep(0.05)
                self.assertEqual(asked.stdout, "SERVING\n", asked.stderr)
            finally:
                server.terminate()
                server.wait(timeout=30)
            asked = run(*self.command(address))
            self.assertEqual(asked.returncode, 1)
            self.assertIn(f"no health listener answers at {address}", asked.stderr)


class Dockerfile(unittest.TestCase):
    def setUp(self) -> None:
        self.text = (SOURCE / "Dockerfile").read_text()
        self.stages = re.split(r"^FROM ", self.text, flags=re.M)

    def test_the_base_is_pinned_by_digest_and_date(self) -> None:
        self.assertRegex(self.text, r"(?m)^ARG DEBIAN_IMAGE=\S+:bookworm-(\d{8})-slim@sha256:[0-9a-f]{64}$")
        self.assertRegex(self.text, r"(?m)^ARG DEBIAN_SNAPSHOT=\d{8}T\d{6}Z$")
        names = {stage.split("\n")[0].split(" AS ")[-1] for stage in self.stages[1:]}
        for stage in self.stages[1:]:
            base = stage.split()[0]
            self.assertIn(base, {"scratch", "${DEBIAN_IMAGE}"} | names)

    def test_images_run_without_root_and_have_labels(self) -> None:
        stages = {first.split(" AS ")[-1]: (first.split()[0], stage)
                  for stage in self.stages[1:] for first in [stage.split("\n")[0]] if " AS " in first}
        for name in ("server", "trainer", "client", "gpu-check"):
            base, image = stages[name]
            while base != "scratch":  # adds the stages on which the image is based
                base, inherited = stages[base]
                image = inherited + image
            with self.subTest(name):
                self.assertIn("\nUSER 65532:65532\n", image)
                stage = {"trainer": "build-training"}.get(name, "build")
                self.assertIn(f"\nCOPY --from={stage} /images/{name} /\n", image)
                self.assertRegex(image, r'\nENTRYPOINT \["/usr/bin/vitrine')
                self.assertNotIn("\nRUN ", image)
                for label in ("title", "description", "licenses", "version", "revision"):
                    self.assertIn(f"org.opencontainers.image.{label}=", image)

    def test_volume_folders_belong_to_the_user(self) -> None:
        """A new volume gets the owner of the image's folder. With some builders, a folder that only WORKDIR creates belongs to root."""
        made = re.search(r"/state/\{([\w,]+)\}", (SOURCE / "deploy/container/assemble-all").read_text())[1].split(",")
        self.assertEqual(set(made), {"models"} | set(re.findall(r"(?m)^WORKDIR /(\w+)", self.text)) - {"src"})

    def test_wheels_are_pinned_by_digest(self) -> None:
        for name in ("libtorch.txt", "cuda-compiler.txt", "googleapis.txt"):
            for line in (SOURCE / "script/pins" / name).read_text().splitlines():
                self.assertRegex(line, r"^[\w-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}$")


class Compose(unittest.TestCase):
    def setUp(self) -> None:
        self.text = (COMPOSE / "compose.yaml").read_text()

    def test_is_accepted_by_docker_compose(self) -> None:
        tools = [tool for tool in (["docker", "compose"], ["docker-compose"])
                 if shutil.which(tool[0]) and run(*tool, "version").returncode == 0]
        if not tools:
            self.skipTest("neither docker compose nor docker-compose is here")
        names = ("compose.yaml", "compose.cuda.yaml", "compose.two-gpus.yaml")
        for last in range(1, 4):
            files = [word for name in names[:last] for word in ("-f", COMPOSE / name)]
            checked = run(*tools[0], *files, "config")
            self.assertEqual(checked.returncode, 0, checked.stderr)
        for gpu in "01":  # each server has its own GPU
            self.assertRegex(checked.stdout, rf"device_ids:\s+- '{gpu}'")
        self.assertEqual(checked.stdout.count("device_ids:"), 2)

    def test_mounted_files_of_the_checkout_exist(self) -> None:
        mounted = re.findall(r"(\.\./[\w./]+):/", self.text)
        self.assertIn("../prometheus", mounted)
        for path in mounted:
            self.assertTrue((COMPOSE / path).exists(), path)
        self.assertTrue((SOURCE / "deploy/prometheus/prometheus.yml").exists())

    def test_a_second_server_has_the_same_restrictions(self) -> None:
        second = (COMPOSE / "compose.two-gpus.yaml").read_text()
        for line in re.findall(r"^x-hardened: &hardened\n((?:  .*\n)+)", self.text, re.M)[0].splitlines():
            self.assertIn(f"  {line}\n", second)
        self.assertTrue((COMPOSE / "two-gpus-targets.yml").exists())
        self.assertIn("--metrics=0.0.0.0:8501", second)
        self.assertIn("[server-1:8501]", (COMPOSE / "two-gpus-targets.yml").read_text())

    def test_prometheus_scrapes_the_ports_of_the_services(self) -> None:
        scraped = set(re.findall(r"targets: \[(\w+):(\d+)\]", (SOURCE / "deploy/prometheus/prometheus.yml").read_text()))
        for service, flag in (("server", "0.0.0.0:8501"), ("trainer", "0.0.0.0:9400")):
            self.assertIn(f"--metrics={flag}", self.text)
            self.assertIn((service, flag.split(":")[1]), scraped)

    def test_other_images_are_pinned_and_ports_use_loopback(self) -> None:
        others = [image for image in re.findall(r"(?m)^\s+image: (\S+)", self.text) if not image.startswith("vitrine-")]
        self.assertEqual(len(others), 2)
        for image in others:
            self.assertRegex(image, r":[\w.]+@sha256:[0-9a-f]{64}$")
        for ports in re.findall(r"ports: \[(.*)\]", self.text + (COMPOSE / "compose.two-gpus.yaml").read_text()):
            for port in ports.split(", "):
                self.assertTrue(port.startswith('"127.0.0.1:'), port)


if __name__ == "__main__":
    unittest.main()
