# SPDX-License-Identifier: Apache-2.0
"""Message classes out of the descriptors that the build put into the package.

Code that protoc generates for Python runs with a narrow range of protobuf's versions only, and a user's environment has
the one that its other packages want. Descriptors have no such limit. They live in a pool of their own, so that another
copy of the contract in the same process does no harm.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Dict, Iterator, MutableMapping

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import enum_type_wrapper


def _load() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    encoded = resources.files("vitrine").joinpath("v1/descriptors.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(encoded).file:
        pool.AddSerializedFile(file.SerializeToString())
        _CLASSES.update(_classes(pool.FindFileByName(file.name).message_types_by_name.values()))
    return pool


def _classes(messages: Any) -> Iterator[Any]:
    for kind in messages:
        yield kind.full_name, message_factory.GetMessageClass(kind)
        yield from _classes(kind.nested_types)


# Of all messages, also those in them: protobuf 4.22 makes a missing one as it is met, and crashes when it forgets it.
_CLASSES: Dict[str, Any] = {}
POOL = _load()


def message(name: str) -> Any:
    """The class of the message with this full name."""
    return _CLASSES[name]


def define(file: str, module: MutableMapping[str, Any]) -> None:
    """Fills a module with what protoc's own Python code would: messages, enums, and the values of the enums."""
    descriptor = POOL.FindFileByName(file)
    module["DESCRIPTOR"] = descriptor
    for name, kind in descriptor.message_types_by_name.items():
        module[name] = _CLASSES[kind.full_name]
    for name, enum in descriptor.enum_types_by_name.items():
        module[name] = enum_type_wrapper.EnumTypeWrapper(enum)
        module.update({value.name: value.number for value in enum.values})
