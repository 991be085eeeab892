# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's torchrun with the Python of script/test-environment, without NVIDIA's libraries (nvidia_stubs.py)."""
import ctypes
import pathlib
import sys

for stub in sorted(pathlib.Path(sys.prefix, "nvidia-stubs").iterdir()):
    ctypes.CDLL(str(stub))  # the loader takes a library that is loaded already for one of the same name

from torch.distributed.run import main  # noqa: E402

main()
