# SPDX-License-Identifier: Apache-2.0
"""Options of a request, and their encoding."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Tuple, Union

from vitrine import _arguments
from vitrine._kinds import ATTENTION, FEATURES
from vitrine._picture import Picture
from vitrine.errors import InvalidArgument
from vitrine.v1 import attention_pb2, classifier_pb2

PRIORITIES: Dict[str, int] = {
    "low": classifier_pb2.LOW,
    "normal": classifier_pb2.NORMAL,
    "high": classifier_pb2.HIGH,
}

_NO_OFFERS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Attention:
    """Requested attention maps.

    Attributes:
        kind: "class", "mean", "rollout", "class-attention" and "query" are spatial, on the token grid; "scores",
            "weights" and "channels" are matrices; "distance" is one number per layer and head. `Client.model` returns
            the kinds of a model.
        layers: numbers of blocks, from 0, or from the end if negative; or "all". Empty: the last block; for "distance",
            all blocks.
        heads: numbers of heads, counted like layers; or "all". Empty: the mean over heads; for "distance", all heads.
            For "all" in `layers` or `heads`, the client requests their number from the server once.
        query: for "query": index of the query's patch, row * columns + column of the grid.
        keep_class_mass: for "distance": attention to the class token counts as 0 pixels instead of being left out.
        exact: send values as float32, which takes twice the bytes of float16.
    """

    kind: str
    layers: Union[str, Sequence[int]] = ()
    heads: Union[str, Sequence[int]] = ()
    query: int = 0
    keep_class_mass: bool = False
    exact: bool = False

    @property
    def wants_all(self) -> bool:
        """True if to_proto needs the number of layers and heads."""
        return isinstance(self.layers, str) or isinstance(self.heads, str)

    def to_proto(self, offers: Mapping[str, Any] = _NO_OFFERS) -> attention_pb2.AttentionRequest:
        """Converts to a message. `offers`, as in Model.attention, is needed for "all". InvalidArgument: a string is
        unknown."""
        _arguments.integer("query", self.query, optional=False)
        _arguments.flag("keep_class_mass", self.keep_class_mass)
        _arguments.flag("exact", self.exact)
        encoding = attention_pb2.FLOAT32 if self.exact else attention_pb2.FLOAT16
        request = attention_pb2.AttentionRequest(query=self.query, keep_class_mass=self.keep_class_mass)
        request.kind = _choose(ATTENTION, self.kind, "attention")
        request.encoding = encoding
        offer = offers.get(self.kind)
        request.layers.extend(_numbers("layers", self.layers, offer.layers if offer else 0))
        request.heads.extend(_numbers("heads", self.heads, offer.heads if offer else 0))
        return request


@dataclass(frozen=True)
class Ask:
    """All options of a request except its image; see Client.classify."""

    model: Optional[str] = None
    version: Optional[int] = None
    version_label: Optional[str] = None
    top_k: Optional[int] = 5
    resolution: Union[int, Tuple[int, int], None] = None
    attention: Union[str, Attention, Sequence[Union[str, Attention]]] = ()
    features: Union[str, Sequence[str]] = ()
    normalize: bool = False
    priority: str = "normal"
    max_attention_bytes: Optional[int] = None

    @property
    def wants_all(self) -> bool:
        """True if `template` needs the model's number of layers and heads."""
        wishes = _several(self.attention, ATTENTION, "attention")
        return any(isinstance(requested, Attention) and requested.wants_all for requested in wishes)

    def template(self, model: str, offers: Mapping[str, Any] = _NO_OFFERS) -> classifier_pb2.ClassifyRequest:
        """Returns the request without its image; `offers` as in Attention.to_proto.

        InvalidArgument: a name is unknown, or an option has no effect. TypeError: a value has another type.
        """
        self._check()
        request = classifier_pb2.ClassifyRequest(model=model)
        request.priority = _choose(PRIORITIES, self.priority, "priority")
        if self.version is not None:
            request.version = self.version
        if self.version_label is not None:
            request.version_label = self.version_label
        if self.top_k == 0:
            request.omit_predictions = True
        elif self.top_k is not None:
            request.top_k = self.top_k
        if self.resolution is not None:
            request.resolution.height, request.resolution.width = _sides(self.resolution)
        if self.max_attention_bytes is not None:
            request.max_attention_bytes = self.max_attention_bytes
        for requested in _several(self.attention, ATTENTION, "attention"):
            request.attention.append((requested if isinstance(requested, Attention) else Attention(requested)).to_proto(offers))
        for kind in _several(self.features, FEATURES, "features"):
            request.features.add(kind=_choose(FEATURES, kind, "features"), normalize=self.normalize)
        return request

    def _check(self) -> None:
        _arguments.model_version(self.model, self.version, self.version_label)
        _arguments.integer("top_k", self.top_k)
        _arguments.flag("normalize", self.normalize)
        _arguments.integer("max_attention_bytes", self.max_attention_bytes, _arguments.INT64)
        if self.normalize and not _several(self.features, FEATURES, "features"):
            raise InvalidArgument('normalize has no effect without features; add features, as in features="class"')


def _sides(resolution: Any) -> Tuple[int, int]:
    """Returns height and width. TypeError: `resolution` is neither a number nor a pair of numbers."""
    form = "a number of pixels for both sides, or (height, width)"
    if isinstance(resolution, Integral):
        resolution = resolution, resolution
    if isinstance(resolution, str) or not hasattr(resolution, "__len__") or len(resolution) != 2:
        raise _arguments.wrong_type("resolution", resolution, form)
    height, width = resolution
    for side in (height, width):
        _arguments.integer("resolution", side, form=form, optional=False)
    return int(height), int(width)


def checked_feature(feature: str) -> str:
    """Returns the argument `feature` of embed. InvalidArgument: the name is unknown. TypeError: it is no name."""
    _choose(FEATURES, feature, "feature")
    return feature


def with_picture(template: classifier_pb2.ClassifyRequest, picture: Picture) -> classifier_pb2.ClassifyRequest:
    request = classifier_pb2.ClassifyRequest()
    request.CopyFrom(template)
    picture.put_into(request)
    return request


def _several(value: Any, names: Mapping[str, int], what: str) -> Sequence[Any]:
    if isinstance(value, (str, Attention)):
        return [value]
    if not isinstance(value, Iterable):
        raise TypeError("%s is %r; give one of %s, or a sequence of them" % (what, value, ", ".join(names)))
    return list(value)


def _numbers(what: str, requested: Union[str, Sequence[int]], count: int) -> Iterable[int]:
    if not isinstance(requested, str):
        return _arguments.integers(what, requested)
    if requested != "all":
        raise InvalidArgument('%s %r are unknown; give numbers in a list, or "all"' % (what, requested))
    return range(count)


def _choose(names: Mapping[str, int], name: Any, what: str) -> Any:
    if not isinstance(name, str):
        raise TypeError("%s is %r; give one of %s" % (what, name, ", ".join(names)))
    if name not in names:
        raise InvalidArgument("%s %r is not known; there is %s" % (what, name, ", ".join(names)))
    return names[name]
