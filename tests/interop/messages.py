# SPDX-License-Identifier: Apache-2.0
"""The messages of proto/, loaded from the descriptor set that $INTEROP_PROTOS names. Works with any version of protobuf."""

import os

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_pool = descriptor_pool.DescriptorPool()
with open(os.environ["INTEROP_PROTOS"], "rb") as _file:
    for _each in descriptor_pb2.FileDescriptorSet.FromString(_file.read()).file:
        _pool.Add(_each)


def _message(name):
    found = _pool.FindMessageTypeByName("grpc.testing." + name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(_pool).GetPrototype(found)


(Empty, Payload, SimpleRequest, SimpleResponse, InputRequest, InputResponse, OutputRequest, OutputResponse) = map(
    _message, ("Empty", "Payload", "SimpleRequest", "SimpleResponse", "StreamingInputCallRequest", "StreamingInputCallResponse",
               "StreamingOutputCallRequest", "StreamingOutputCallResponse"))

SERVICE = "/grpc.testing.TestService/"
INITIAL, TRAILING = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"
SENTENCE = "test status message"
SPECIAL = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n"
SENT, ASKED = (27182, 8, 1828, 45904), (31415, 9, 2653, 58979)


class Unsupported(Exception):
    """Raised if the client does not support the case."""


def zeros(size):
    return {"body": bytes(size)}


# Payload of the compression cases. Payloads of zeros would compress too well, and the server rejects compression ratios above 64.
MIXED = {"body": b"".join((number << 8).to_bytes(4, "big") for number in range(271828 // 4))}


def large(payload=None, **others):
    """Returns the request of the case large_unary."""
    return SimpleRequest(response_size=314159, payload=payload or zeros(271828), **others)


def output(*sizes, payload=None, **others):
    return OutputRequest(response_parameters=[{"size": size} for size in sizes], payload=zeros(payload) if payload else None, **others)


def check(held, what):
    if not held:
        raise AssertionError(what)


def run(cases, only):
    """Runs the cases, prints a line for each, and returns the number of failed cases."""
    failed = 0
    for name, case in cases:
        if only and name not in only:
            continue
        try:
            told = case()
            print(f"{name} ok {told or ''}".rstrip(), flush=True)
        except Unsupported as reason:
            print(f"{name} none {reason}", flush=True)
        except BaseException as fault:
            failed += 1
            print(f"{name} failed {type(fault).__name__}: {' '.join(str(fault).split())[:300]}", flush=True)
    return failed
