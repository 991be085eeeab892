# SPDX-License-Identifier: Apache-2.0
"""The messages of proto/, compiled by grpcio-tools when this is loaded."""

import functools
import pathlib
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_tools import protoc

SOURCE = pathlib.Path(__file__).resolve().parents[3]
PROTOS = ("vitrine/v1/classifier", "vitrine/v1/registry", "vitrine/v1/admin", "vitrine/v1/serving", "inference/grpc_service",
          "grpc/health/v1/health", "grpc/reflection/v1alpha/reflection", "grpc/reflection/v1/reflection")


@functools.cache
def _pool():
    with tempfile.NamedTemporaryFile() as out:
        if protoc.main(["protoc", f"-I{SOURCE / 'proto'}", "--include_imports", f"--descriptor_set_out={out.name}",
                        *(f"{name}.proto" for name in PROTOS)]):
            raise RuntimeError("proto/ cannot be compiled")
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


def make(kind, **fields):
    """Returns the bytes of a message. Fields are in the form of json_format."""
    return json_format.ParseDict(fields, message_factory.GetMessageClass(_pool().FindMessageTypeByName(kind))()).SerializeToString()


def read(kind, data):
    """Returns a message in the form of json_format, with the names in the proto files."""
    return json_format.MessageToDict(message_factory.GetMessageClass(_pool().FindMessageTypeByName(kind)).FromString(data),
                                     preserving_proto_field_name=True)


def answer_of(path):
    """Returns the response type's name of "/package.Service/Method"; None if there is no such method."""
    try:
        service, method = path.strip("/").rsplit("/", 1)
        return _pool().FindServiceByName(service).methods_by_name[method].output_type.full_name
    except (KeyError, ValueError):
        return None


def methods():
    """Returns the paths of every method of every service."""
    found = []
    for name in PROTOS:
        for service in _pool().FindFileByName(f"{name}.proto").services_by_name.values():
            found += [f"/{service.full_name}/{method}" for method in service.methods_by_name]
    return found
