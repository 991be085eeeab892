# SPDX-License-Identifier: Apache-2.0
"""nvidia_stubs.py SITE FOLDER: makes stubs that replace the missing NVIDIA libraries with which PyTorch in SITE is linked.
The libraries take gigabytes. `import torch` needs their names and symbols. Without a GPU their functions are not called;
a call of a function of a stub ends the process (SIGILL). Used by torchrun.py, whose ranks run our own program."""
import pathlib
import re
import subprocess
import sys

ROOTS = ["libtorch_python.so"]
NVIDIA = r"(?:__)?(?:cu|nv|nccl)\w*"
# The stub that defines all symbols. PyTorch requests versioned symbols from the other libraries, and a stub cannot define
# versioned symbols.
HOLDER = "libnccl.so.2"


def said(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def missing(site):
    """Returns the names of the missing libraries, and the symbols of NVIDIA that no library on this machine defines."""
    here = {file.name: file for pattern in ("torch/lib/*.so*", "nvidia/**/*.so*") for file in site.glob(pattern)}
    names, wanted, defined, seen, waiting = set(), set(), set(), set(), list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in here:
            waiting += re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d", here[name]))
            symbols = said("nm", "-D", here[name])
            wanted |= set(re.findall(rf" U ({NVIDIA})", symbols))
            defined |= set(re.findall(rf"[0-9a-f] [A-TV-Z] ({NVIDIA})", symbols))
        elif re.match("lib(cu|nv|nccl)", name):
            names.add(name)
    return names, wanted - defined


def main():
    site, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True)
    names, symbols = missing(site)
    for name in names:
        source = ".text\n"
        if name == HOLDER:
            source += "".join(f".globl {symbol}\n.type {symbol}, @function\n{symbol}:\n" for symbol in sorted(symbols)) + "ud2\n"
        source += '.section .note.GNU-stack, "", @progbits\n'
        subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "assembler", "-", "-o", folder / name, f"-Wl,-soname,{name}"],
                       input=source, text=True, check=True)


main()
