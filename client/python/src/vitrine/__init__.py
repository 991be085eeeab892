# SPDX-License-Identifier: Apache-2.0
"""The Python client of Vitrine, a server of vision transformers.

    with vitrine.Client("127.0.0.1:8500") as client:
        result = client.classify("cat.jpg", model="eit-mini-cifar10", attention=["mean"])
        print(result.top1)

`vitrine.aio` has the same for asyncio, `vitrine.v1` the messages of the contract.
"""

from vitrine._models import AttentionOffer, Metric, Model, ModelEvent
from vitrine._picture import ImageSource, PictureWarning
from vitrine._request import Attention
from vitrine._result import (
    AttentionMap,
    Batch,
    Grid,
    Prediction,
    Rectangle,
    Refused,
    Result,
    ServedBy,
    Timings,
)
from vitrine._retry import RetryPolicy
from vitrine.client import Client
from vitrine.errors import (
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
    VitrineError,
)

__all__ = [
    "Attention",
    "AttentionMap",
    "AttentionOffer",
    "Batch",
    "Cancelled",
    "Client",
    "DeadlineExceeded",
    "FailedPrecondition",
    "Grid",
    "ImageSource",
    "Internal",
    "InvalidArgument",
    "Metric",
    "Model",
    "ModelEvent",
    "NotFound",
    "PermissionDenied",
    "PictureWarning",
    "Prediction",
    "Rectangle",
    "Refused",
    "ResourceExhausted",
    "Result",
    "RetryPolicy",
    "ServedBy",
    "Timings",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "VitrineError",
]
