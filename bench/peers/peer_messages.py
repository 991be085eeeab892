# SPDX-License-Identifier: Apache-2.0
"""The messages of Vitrine's Classifier for Python programs, made from protoc's descriptor set of the contract."""
import pathlib

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "vitrine.v1.Classifier"


class Messages:
    """Message classes. `path`: output of `protoc --include_imports --descriptor_set_out=PATH`."""

    def __init__(self, path):
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(path).read_bytes()).file:
            pool.Add(file)
        self.Request, self.Response = (
            message_factory.GetMessageClass(pool.FindMessageTypeByName(f"vitrine.v1.Classify{kind}"))
            for kind in ("Request", "Response"))
