# SPDX-License-Identifier: Apache-2.0
"""Tests that programs that do not need LibTorch are not linked with it, and the server not with gRPC; and that
libvitrine_torch.so has no copy of the messages, nor libvitrine_cuda.so more than it needs."""
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

    def test_the_cuda_library_needs_abseil_and_the_system_alone(self) -> None:
        library = BUILD / "lib/libvitrine_cuda.so"
        system = ("linux-vdso", "/lib", "libc.so", "libm.so", "libstdc++", "libgcc_s", "libabsl_")
        self.assertEqual([name for name in needed(library) if not name.startswith(system)], [])
        symbols = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
        self.assertEqual([line.split()[-1] for line in symbols.stdout.splitlines()], ["vitrine_cuda_library"])
        self.assertLess(library.stat().st_size, 8 << 20)


if __name__ == "__main__":
    unittest.main()
