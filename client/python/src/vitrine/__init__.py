# SPDX-License-Identifier: Apache-2.0
"""The Python client of Vitrine, a server of vision transformers.

    with vitrine.Client("127.0.0.1:8500") as client:
        result = client.classify("cat.jpg", model="eit-mini-cifar10", attention=["mean"])
        print(result.top1)

`vitrine.load` returns a model in this process, which needs no server. `vitrine.aio` has the same classes for asyncio.
`vitrine.v1` has the protobuf messages.
"""

from importlib import metadata as _metadata

from vitrine._admin import CanaryStatus, ModelServing, PutAway, ServingChange, ServingStatus, VersionPolicy
from vitrine._embedding import Embedding
from vitrine._frame import to_dataframe
from vitrine._local import LocalModel, load
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
from vitrine.admin import AdminClient
from vitrine.client import Client
from vitrine.errors import (
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    HandshakeFailed,
    Internal,
    InvalidArgument,
    NotFound,
    NotReady,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
    VitrineError,
)

__version__: str = _metadata.version("vitrine")

__all__ = [
    "AdminClient",
    "Attention",
    "AttentionMap",
    "AttentionOffer",
    "Batch",
    "CanaryStatus",
    "Cancelled",
    "Client",
    "DeadlineExceeded",
    "Embedding",
    "FailedPrecondition",
    "Grid",
    "HandshakeFailed",
    "ImageSource",
    "Internal",
    "InvalidArgument",
    "LocalModel",
    "Metric",
    "Model",
    "ModelEvent",
    "ModelServing",
    "NotFound",
    "NotReady",
    "PermissionDenied",
    "PictureWarning",
    "Prediction",
    "PutAway",
    "Rectangle",
    "Refused",
    "ResourceExhausted",
    "Result",
    "RetryPolicy",
    "ServedBy",
    "ServingChange",
    "ServingStatus",
    "Timings",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "VersionPolicy",
    "VitrineError",
    "load",
    "to_dataframe",
]
