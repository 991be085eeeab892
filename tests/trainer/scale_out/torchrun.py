# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's torchrun with the Python of script/test-environment, without NVIDIA's libraries (nvidia_stubs.py)."""
import ctypes
import pathlib
import sys

for stub in sorted(pathlib.Path(sys.prefix, "nvidia-stubs").iterdir()):
    ctypes.CDLL(str(stub))  # the loader then uses the stub for libraries of this name

from torch.distributed.run import main  # noqa: E402

main()
