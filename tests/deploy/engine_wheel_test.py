# SPDX-License-Identifier: Apache-2.0
"""Tests the engine's wheel, which deploy/release/engine_wheel.py makes.

  engine_wheel_test.py SOURCE BUILD
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

BUILD = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop())
PROGRAM = """
import ctypes, vitrine_engine
library = ctypes.CDLL(vitrine_engine.LIBRARY)
library.vitrine_engine_last_error.restype = ctypes.c_char_p
model = ctypes.c_void_p()
code = library.vitrine_engine_load(None, %r, None, ctypes.byref(model))
print(code, library.vitrine_engine_last_error().decode(), library.vitrine_engine_api())
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}), sep="\\n")
"""


def make(folder: pathlib.Path, umask: int) -> pathlib.Path:
    subprocess.run([sys.executable, SOURCE / "deploy/release/engine_wheel.py", folder, "--build", BUILD], check=True,
                   capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, preexec_fn=lambda: os.umask(umask))
    (wheel,) = folder.glob("vitrine_engine-*-py3-none-manylinux_2_36_x86_64.whl")
    return wheel


class EngineWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.wheel = make(cls.folder / "one", 0o022)

    def test_is_small_and_reproducible(self) -> None:
        self.assertLess(self.wheel.stat().st_size, 15_000_000)
        self.assertEqual(self.wheel.read_bytes(), make(self.folder / "two", 0o077).read_bytes())

    def test_lists_bundled_libraries_with_licences(self) -> None:
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            (bill,) = (json.loads(archive.read(name)) for name in names if name.endswith(".cdx.json"))
        for component in bill["components"]:
            self.assertTrue([name for name in names if name.endswith(f"licenses/{component['name']}/copyright")], component["name"])
        listed = {file["name"].lstrip("/") for component in bill["components"] for file in component.get("components", [])}
        self.assertEqual(listed, {name for name in names if name.startswith("vitrine_engine/lib/")})
        self.assertEqual([name for name in names if "opencv" in name or "torch" in name], [])

    def test_loads_a_model_with_its_own_libraries(self) -> None:
        installed = self.folder / "installed"
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(installed)
        program = PROGRAM % os.fsencode(SOURCE / "models/bundled/kv-pos-mnist")
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(installed)})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        first, *loaded = ran.stdout.splitlines()
        self.assertEqual(first, "0  1")
        for name in ("libprotobuf", "libspdlog", "libwebp", "libabsl_status"):
            self.assertEqual([path for path in loaded if name in path and not path.startswith(str(installed))], [])


if __name__ == "__main__":
    unittest.main()
