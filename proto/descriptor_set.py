# SPDX-License-Identifier: Apache-2.0
"""descriptor_set.py OUT MODULE...: writes one FileDescriptorSet, for protoc --descriptor_set_in, with the
descriptors of Python modules that protoc generated. List each module after the modules that it imports. Needs no package."""
import ast
import pathlib
import sys


def descriptor(module):
    """Returns the argument of AddSerializedFile in the module: the bytes of a FileDescriptorProto."""
    for node in ast.walk(ast.parse(pathlib.Path(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "AddSerializedFile":
            return ast.literal_eval(node.args[0])
    sys.exit(f"{module} holds no descriptor: another protoc wrote it; see proto/descriptor_set.py")


def varint(number):
    low, rest = number & 127, number >> 7
    return bytes([low]) if rest == 0 else bytes([low | 128]) + varint(rest)


out, *modules = sys.argv[1:]
files = [descriptor(module) for module in modules]
pathlib.Path(out).write_bytes(b"".join(b"\x0a" + varint(len(file)) + file for file in files))
