# SPDX-License-Identifier: Apache-2.0
"""Features as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
import numpy.typing as npt

from vitrine._models import Model
from vitrine._names import escaped
from vitrine._result import Outcome, Refused, Result, ServedBy
from vitrine.errors import Internal, InvalidArgument

if TYPE_CHECKING:
    from typing import Literal


@dataclass(frozen=True, eq=False)
class Embedding:
    """Result of embed_many for an image. NumPy functions accept it as an array.

    Attributes:
        values: float32, with the shape that Client.embed describes.
        feature: kind of feature.
        index: index of the image in the input of embed_many.
        source: the path of the image, or its type if it has no path.
        served_by: model version and hardware that computed the values.
    """

    values: npt.NDArray[np.float32]
    feature: str
    index: int
    source: str
    served_by: ServedBy

    @property
    def ok(self) -> Literal[True]:
        """True for an Embedding; False for a Refused."""
        return True

    def to_numpy(self) -> npt.NDArray[np.float32]:
        """Returns the values."""
        return self.values

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> npt.NDArray[Any]:
        if copy is None:
            return np.asarray(self.values, dtype=dtype)
        if not copy and dtype is not None and np.dtype(dtype) != self.values.dtype:
            raise ValueError("the values are float32; a conversion to %s needs a copy" % np.dtype(dtype))
        return np.array(self.values, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.values.shape))
        return "<Embedding %s: %s, %s, %s@%d>" % (
            escaped(self.source),
            self.feature,
            shape,
            self.served_by.model,
            self.served_by.version,
        )


Embedded = Union[Embedding, Refused]


def first_vector(model: Model) -> str:
    """Returns the default feature: the model's first feature that is a vector. The command `vitrine embed` has the same
    default."""
    for name in model.features:
        if name not in ("patches", "registers"):
            return name
    has = ", ".join(model.features) or "none"
    raise InvalidArgument('model "%s" has no vector; give one of its features: %s' % (model.name, has))


def values_of(result: Result, normalize: bool) -> npt.NDArray[np.float32]:
    """Returns the values of the one requested feature."""
    if any(feature.normalized != normalize for feature in result.proto.features):
        raise Internal("the server did not normalize the features; it is too old to support normalize")
    if len(result.features) != 1:
        raise Internal("the server sent %d features instead of one" % len(result.features))
    return next(iter(result.features.values()))


def of_outcome(outcome: Outcome, normalize: bool) -> Embedded:
    if isinstance(outcome, Refused):
        return outcome
    try:
        values = values_of(outcome, normalize)
    except Internal as error:
        return Refused(error, outcome.index, outcome.source)
    return Embedding(values, next(iter(outcome.features)), outcome.index, outcome.source, outcome.served_by)
