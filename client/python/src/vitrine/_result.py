# SPDX-License-Identifier: Apache-2.0
"""Answers as plain objects."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt
from PIL import Image

from vitrine import _drawing, _html, _json
from vitrine._names import escaped
from vitrine._picture import ImageSource, Picture, load
from vitrine._kinds import ATTENTION, FEATURES, name_of
from vitrine.errors import Internal, VitrineError
from vitrine.v1 import attention_pb2, classifier_pb2, features_pb2

if TYPE_CHECKING:
    from typing import Literal


@dataclass(frozen=True)
class Prediction:
    """A class of the model: label, index, probability among all classes, and logit."""

    label: str
    index: int
    probability: float
    logit: float

    def __str__(self) -> str:
        return "%s %.1f %%" % (self.label, 100 * self.probability)


@dataclass(frozen=True)
class Rectangle:
    """A rectangle of the upright image, in pixels, which may be fractional."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Grid:
    """The token grid of rows x columns tokens. It covers the rectangle `covers` of an image of image_height x
    image_width pixels."""

    rows: int
    columns: int
    covers: Rectangle
    image_height: int
    image_width: int


@dataclass(frozen=True)
class Timings:
    """Time at the server in seconds: waiting, decoding, computing the batch, encoding the answer, and in total."""

    queue: float
    decode: float
    compute: float
    encode: float
    total: float


@dataclass(frozen=True)
class ServedBy:
    """Model version and hardware that computed the answer."""

    model: str
    version: int
    weights_sha256: str
    precision: str
    device: str


@dataclass(frozen=True)
class Batch:
    """The batch in which the image was computed: number of images, of tokens and of different grids, and the batch's
    id."""

    images: int
    tokens: int
    grids: int
    id: int


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """A map or a matrix of attention.

    Attributes:
        kind: as requested.
        layer: from 0; None for "rollout" and "distance".
        head: from 0; None for the mean over heads and for "distance".
        values: float32 [rows, columns]: the token grid for spatial kinds, tokens x tokens for "scores" and "weights"
            (class token first), channels x channels for "channels", layers x heads in pixels for "distance".
        diverging: True for signed values around 0.
        covers: rectangle of the image under the grid; None for kinds that are not spatial.
    """

    kind: str
    layer: Optional[int]
    head: Optional[int]
    values: npt.NDArray[np.float32]
    diverging: bool
    covers: Optional[Rectangle]
    _grid: Grid = field(repr=False)
    _picture: Picture = field(repr=False)

    @property
    def title(self) -> str:
        """Description for a caption."""
        if self.kind in ("rollout", "distance"):
            return self.kind
        head = "mean of heads" if self.head is None else "head %d" % self.head
        return "%s, layer %s, %s" % (self.kind, self.layer, head)

    def overlay(self, image: Optional[ImageSource] = None, *, min_side: int = 256, max_side: int = 1024) -> Image.Image:
        """Returns the map in colour over the grey image; RGB, the longer side scaled to min_side..max_side pixels.

        `image` is the image under the map, in any size; default the classified one. Dark means 0. Bright yellow means
        the map's largest value or twice an equal share, whichever is larger. An equal share is the weight of a cell if
        all cells have the same weight. In diverging maps, blue means below 0, and red means above 0.

        Raises ValueError for kinds that are not spatial (use `draw`), OSError if the image's file is missing.
        """
        if self.covers is None:
            raise ValueError("%s does not lie on the picture; draw() shows it" % self.kind)
        picture = (self._picture if image is None else load(image)).open(max_side)
        across, down = max(1, self._grid.image_width), max(1, self._grid.image_height)
        part = self.covers
        box = (part.left / across, part.top / down, (part.left + part.width) / across, (part.top + part.height) / down)
        return _drawing.overlay(picture, self.values, box, self.diverging, min_side, max_side)

    def draw(self) -> Image.Image:
        """Returns the overlay; for kinds that are not spatial, an image with one square per value."""
        if self.covers is not None:
            return self.overlay()
        keys = self.values.shape[1] if self.kind in ("weights", "channels") else 0
        return _drawing.squares(self.values, self.diverging, keys=keys)

    def to_numpy(self) -> npt.NDArray[np.float32]:
        """Returns the values."""
        return self.values

    def _repr_png_(self) -> Optional[bytes]:
        try:
            file = io.BytesIO()
            self.draw().save(file, "PNG")
            return file.getvalue()
        except (OSError, VitrineError):  # without the image a notebook shows the text
            return None

    def __repr__(self) -> str:
        return "<AttentionMap %s, %s>" % (self.title, " x ".join(map(str, self.values.shape)))


@dataclass(frozen=True, eq=False)
class Result:
    """The answer for one image. A notebook displays it as a drawing.

    A Result keeps the image for drawing: the path if there is one, otherwise the bytes or pixels.

    Attributes:
        predictions: best first; empty with top_k=0.
        unsure: True if the probability of the best prediction is below the threshold of the model's calibration.
        attention: maps, sorted by request, then by layer, then by head.
        features: float32 arrays by kind, with the shapes that Client.embed describes.
        index: index of the image in the input of classify_many; 0 for classify.
        source: the path of the image, or its type if it has no path.
        proto: the server's message, with the whole answer.
    """

    predictions: Tuple[Prediction, ...]
    attention: Tuple[AttentionMap, ...]
    features: Mapping[str, npt.NDArray[np.float32]]
    grid: Grid
    timings: Timings
    served_by: ServedBy
    batch: Batch
    index: int
    source: str
    unsure: bool
    proto: classifier_pb2.ClassifyResponse = field(repr=False)
    _picture: Picture = field(repr=False)

    @property
    def ok(self) -> Literal[True]:  # Literal, so that a type checker distinguishes Result and Refused
        """True for a Result; False for a Refused."""
        return True

    @property
    def top1(self) -> Prediction:
        """The best prediction. ValueError: none was requested."""
        if not self.predictions:
            raise ValueError("no predictions were requested (top_k=0)")
        return self.predictions[0]

    def to_numpy(self) -> npt.NDArray[Any]:
        """Returns the predictions as a structured array, best first: fields label, index, probability and logit."""
        width = max([1, *(len(p.label) for p in self.predictions)])
        kinds = [("label", "U%d" % width), ("index", "i4"), ("probability", "f4"), ("logit", "f4")]
        return np.array([(p.label, p.index, p.probability, p.logit) for p in self.predictions], dtype=kinds)

    def to_dict(self) -> Dict[str, Any]:
        """Returns the answer for json.dumps, in the form of the JSON of the server and of `vitrine classify`. The HTTP
        guide lists the members. `image` is the source, escaped as the command `vitrine` escapes it."""
        features = [_feature(feature) for feature in self.proto.features]
        return _json.of_answer(escaped(self.source), self.proto, [shown.values for shown in self.attention], features)

    def picture(self, longest: int = 1024) -> Image.Image:
        """Returns the upright image, RGB, not much larger than `longest` pixels per side."""
        return self._picture.open(longest)

    def _repr_html_(self) -> str:
        return _html.of_result(self)

    def __repr__(self) -> str:
        best = str(self.predictions[0]) if self.predictions else "no predictions"
        best = "unsure: " + best if self.unsure else best
        by = self.served_by
        answer = "%s, %s@%d, %.1f ms" % (best, by.model, by.version, 1000 * self.timings.total)
        return "<Result %s: %s>" % (escaped(self.source), answer)


@dataclass(frozen=True, eq=False)
class Refused:
    """Result of classify_many for an image that was not classified.

    Attributes:
        error: a VitrineError; an OSError if the file could not be read, a TypeError if it was no image, or any other
            exception raised while reading it.
        index, source: as in Result.
    """

    error: Exception
    index: int
    source: str

    @property
    def ok(self) -> Literal[False]:
        """False for a Refused; True for a Result."""
        return False

    @property
    def code(self) -> str:
        """gRPC's name of the error; "UNREADABLE" if the image was never sent."""
        return self.error.code if isinstance(self.error, VitrineError) else "UNREADABLE"

    def to_dict(self) -> Dict[str, Any]:
        """Returns the members `image`, `error` (the message) and `code`, like the JSON of `vitrine classify`."""
        return {"image": escaped(self.source), "error": str(self.error), "code": self.code}

    def _repr_html_(self) -> str:
        return _html.of_refused(self)

    def __repr__(self) -> str:
        return "<Refused %s: %s: %s>" % (escaped(self.source), self.code, self.error)


Outcome = Union[Result, Refused]


def of_response(response: classifier_pb2.ClassifyResponse, picture: Picture, index: int = 0) -> Result:
    """Returns the Result of a response. Internal: the number of values does not match their shape."""
    picture = picture.without_copy()
    grid = response.grid
    tokens = Grid(grid.rows, grid.columns, _rectangle(grid.covers), grid.image_height, grid.image_width)
    times, by, batch = response.timings, response.served_by, response.batch
    return Result(
        predictions=tuple(Prediction(p.label, p.index, p.probability, p.logit) for p in response.predictions),
        attention=tuple(_attention(m, tokens, picture) for m in response.attention),
        features={name_of(FEATURES, f.kind): _feature(f) for f in response.features},
        grid=tokens,
        timings=Timings(times.queue, times.decode, times.compute, times.encode, times.total),
        served_by=ServedBy(by.model, by.version, by.weights_sha256, by.precision, by.device),
        batch=Batch(batch.images, batch.tokens, batch.grids, batch.id),
        index=index,
        source=picture.name,
        unsure=response.unsure,
        proto=response,
        _picture=picture,
    )


def _attention(proto: attention_pb2.AttentionMap, grid: Grid, picture: Picture) -> AttentionMap:
    types = {attention_pb2.FLOAT32: "<f4", attention_pb2.FLOAT16: "<f2", attention_pb2.UINT8: "u1"}
    values = _numbers(proto.values, types.get(proto.encoding, ""), (proto.rows, proto.columns))
    if proto.encoding == attention_pb2.UINT8:
        values = np.float32(proto.offset) + np.float32(proto.scale) * values
    return AttentionMap(
        kind=name_of(ATTENTION, proto.kind),
        layer=proto.layer if proto.layer >= 0 else None,
        head=proto.head if proto.head >= 0 else None,
        values=values,
        diverging=proto.diverging,
        covers=_rectangle(proto.covers) if proto.HasField("covers") else None,
        _grid=grid,
        _picture=picture,
    )


def _feature(proto: features_pb2.Feature) -> npt.NDArray[np.float32]:
    types = {features_pb2.FEATURE_FLOAT32: "<f4", features_pb2.FEATURE_FLOAT16: "<f2"}
    shape: Sequence[int] = (proto.rows, proto.columns, proto.width)
    if proto.kind == features_pb2.REGISTER_TOKENS:
        shape = (proto.columns, proto.width)
    elif proto.kind != features_pb2.PATCH_TOKENS:
        shape = (proto.rows * proto.columns * proto.width,)
    return _numbers(proto.values, types.get(proto.encoding, ""), shape)


def _numbers(content: bytes, kind: str, shape: Sequence[int]) -> npt.NDArray[np.float32]:
    expected = int(np.prod(shape)) * np.dtype(kind).itemsize if kind else -1
    if len(content) != expected:
        raise Internal("the server sent %d bytes for values of shape %s" % (len(content), "x".join(map(str, shape))))
    return np.frombuffer(content, dtype=kind).astype(np.float32).reshape(tuple(shape))


def _rectangle(proto: Any) -> Rectangle:
    return Rectangle(proto.left, proto.top, proto.width, proto.height)
