# SPDX-License-Identifier: Apache-2.0
"""Tests that programs that do not need LibTorch are not linked with it, and the server not with gRPC; that
libvitrine_torch.so has no copy of the messages; and what libvitrine_cuda.so needs.

  linked_test.py BUILD [CudaLibrary]

With kernels for GPUs in the library (script/build cuda) tests also for which architectures these are.
"""
import re
import struct
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
# gRPC, libraries that only gRPC needs, and libcurl.
NOT_IN_THE_SERVER = ("libgrpc", "libgpr.", "libupb", "libcares", "libre2", "libaddress_sorting", "libabsl_random", "libcurl")


def needed(file: Path) -> "list[str]":
    text = subprocess.run(["ldd", str(file)], check=True, capture_output=True, text=True).stdout
    return [line.split()[0] for line in text.splitlines() if line.split()]


class Linked(unittest.TestCase):
    def test_programs_need_no_libtorch(self) -> None:
        for program in ("vitrine-server", "vitrine-repo", "vitrine"):
            libraries = needed(BUILD / "bin" / program)
            self.assertGreater(len(libraries), 5, program)
            self.assertEqual([name for name in libraries if "torch" in name or "c10" in name], [], program)

    def test_the_server_needs_no_grpc(self) -> None:
        libraries = needed(BUILD / "bin/vitrine-server")
        self.assertIn("libnghttp2.so.14", libraries)
        self.assertEqual([name for name in libraries if name.startswith(NOT_IN_THE_SERVER)], [])

    def test_the_library_that_brings_it_borrows_the_messages(self) -> None:
        library = BUILD / "lib/libvitrine_torch.so"
        self.assertTrue([name for name in needed(library) if "libtorch_cpu" in name])
        symbols = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
        self.assertIn("vitrine_torch_library", symbols.stdout)
        self.assertNotIn("descriptor_table_vitrine", symbols.stdout)


def symbols(file: Path, *flags: str) -> "list[str]":
    text = subprocess.run(["nm", "-D", *flags, str(file)], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in text.splitlines()]


def kernels(library: bytes) -> "list[str]":
    """The kernels of nvcc's fat binary in a library, as "sm_90" or "compute_80"; [] if it has none."""
    begin = library.find(struct.pack("<IH", 0xBA55ED50, 1))
    if begin < 0:
        return []
    header, size = struct.unpack_from("<HQ", library, begin + 6)
    found, place, end = [], begin + header, begin + header + size
    while place < end:
        kind, _, header, size = struct.unpack_from("<HHIQ", library, place)
        architecture = struct.unpack_from("<I", library, place + 28)[0]
        found.append(f"{ {1: 'compute', 2: 'sm'}[kind] }_{architecture}")
        place += header + size
    return sorted(found)


class CudaLibrary(unittest.TestCase):
    library = BUILD / "lib/libvitrine_cuda.so"

    def test_needs_the_c_and_cpp_libraries_alone(self) -> None:
        text = subprocess.run(["readelf", "-d", str(self.library)], check=True, capture_output=True, text=True).stdout
        libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        # libstdc++ needs libgcc_s itself. The driver is opened with dlopen.
        self.assertLessEqual(set(libraries), {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"})

    def test_exports_its_entry_alone(self) -> None:
        self.assertEqual(symbols(self.library, "--defined-only"), ["vitrine_cuda_library"])

    def test_borrows_abseil_alone_which_the_server_has(self) -> None:
        borrowed = {name for name in symbols(self.library, "--undefined-only") if "@" not in name}
        borrowed -= {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
        self.assertTrue(borrowed)
        self.assertEqual([name for name in sorted(borrowed) if not re.match(r"_ZNK?4absl", name)], [])
        server = BUILD / "bin/vitrine-server"
        if not server.exists():  # as after script/build cuda
            return
        for path in re.findall(r"=> (\S*libabsl_\S+)", subprocess.run(["ldd", str(server)], check=True, capture_output=True, text=True).stdout):
            borrowed -= set(symbols(Path(path), "--defined-only"))
        self.assertEqual(sorted(borrowed), [])

    def test_is_small_and_has_kernels_for_every_architecture_or_none(self) -> None:
        self.assertLess(self.library.stat().st_size, 8 << 20)
        found = kernels(self.library.read_bytes())
        self.assertIn(found, ([], ["compute_80", "sm_100", "sm_120", "sm_80", "sm_89", "sm_90"]))


if __name__ == "__main__":
    unittest.main()
