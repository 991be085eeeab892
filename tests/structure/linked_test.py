# SPDX-License-Identifier: Apache-2.0
"""Tests the dynamic libraries that the build links.

Programs that do not need LibTorch are not linked with it. The server is not linked with gRPC. libvitrine_torch.so has
no copy of the protobuf messages. libvitrine_cuda.so has the expected dependencies and GPU architectures.

  linked_test.py BUILD [CudaLibrary]
"""
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
# Maximum size in bytes of the stripped libvitrine_cuda.so with kernels. container_test.py adds this size to the server's image.
LIBRARY_BYTES = 3.4e6
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

    def test_the_torch_library_has_no_copy_of_the_messages(self) -> None:
        library = BUILD / "lib/libvitrine_torch.so"
        self.assertTrue([name for name in needed(library) if "libtorch_cpu" in name])
        symbols = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
        self.assertIn("vitrine_torch_library", symbols.stdout)
        self.assertNotIn("descriptor_table_vitrine", symbols.stdout)


def symbols(file: Path, *flags: str) -> "list[str]":
    text = subprocess.run(["nm", "-D", *flags, str(file)], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in text.splitlines()]


def kernels(library: bytes) -> "list[str]":
    """Returns the architectures of the kernels in a library, for example "sm_90" or "compute_80", from nvcc's fat
    binary.

    Returns [] if the library has no kernels.
    """
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

    def test_needs_only_the_c_and_cpp_libraries(self) -> None:
        text = subprocess.run(["readelf", "-d", str(self.library)], check=True, capture_output=True, text=True).stdout
        libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        # libgcc_s is allowed because libstdc++ needs it. The CUDA driver is not in the list, because the library opens
        # it with dlopen.
        self.assertLessEqual(set(libraries), {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"})

    def test_exports_only_its_entry_point(self) -> None:
        self.assertEqual(symbols(self.library, "--defined-only"), ["vitrine_cuda_library"])

    def test_uses_only_abseil_of_the_server(self) -> None:
        borrowed = {name for name in symbols(self.library, "--undefined-only") if "@" not in name}
        borrowed -= {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
        self.assertTrue(borrowed)
        self.assertEqual([name for name in sorted(borrowed) if not re.match(r"_ZNK?4absl", name)], [])
        server = BUILD / "bin/vitrine-server"
        if not server.exists():  # script/build cuda does not build the server
            return
        for path in re.findall(r"=> (\S*libabsl_\S+)", subprocess.run(["ldd", str(server)], check=True, capture_output=True, text=True).stdout):
            borrowed -= set(symbols(Path(path), "--defined-only"))
        self.assertEqual(sorted(borrowed), [])

    def test_is_small_and_has_kernels_for_all_architectures_or_none(self) -> None:
        self.assertLess(self.library.stat().st_size, 8 << 20)
        found = kernels(self.library.read_bytes())
        self.assertIn(found, ([], ["compute_80", "sm_100", "sm_120", "sm_80", "sm_89", "sm_90"]))
        if not found:
            self.skipTest(f"{self.library} has no kernels, so its size is not compared with that in the documentation")
        with tempfile.NamedTemporaryFile() as stripped:
            subprocess.run(["strip", "--strip-all", "-o", stripped.name, str(self.library)], check=True)
            self.assertLess(Path(stripped.name).stat().st_size, LIBRARY_BYTES)


if __name__ == "__main__":
    unittest.main()
