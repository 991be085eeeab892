# SPDX-License-Identifier: Apache-2.0
"""Models and versions of a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Tuple

from vitrine._kinds import ATTENTION, FEATURES, name_of
from vitrine.v1 import model_pb2, registry_pb2


@dataclass(frozen=True)
class AttentionOffer:
    """Number of layers and heads of a kind of attention."""

    layers: int
    heads: int


@dataclass(frozen=True)
class Metric:
    """A score measured with the stored weights; accuracies are fractions."""

    name: str
    split: str
    value: float
    images: int


@dataclass(frozen=True)
class Model:
    """One version of a model.

    Attributes:
        state: "loading", "ready", "retiring" or "failed".
        reason: why the version failed or retires. For a ready version: why it answers only requests that name it, why
            its changed files were not loaded, or that its folder is gone. For the version with the label `stable`, it
            may also be a list of the versions that were rolled back or unloaded. May be empty.
        input: description of the model's input.
        labels: class labels by index; empty unless returned by Client.model.
        attention: kinds that a request may name.
        features: kinds that a request may name. Their vectors have `feature_width` numbers; vectors of
            "projection" have the width that the model's configuration states.
        device_bytes: size of the weights in device memory.
        licence: licence of the weights, an SPDX identifier or text; empty if not stated.
        proto: the server's message, with everything else: configuration, provenance, ...
    """

    name: str
    version: int
    state: str
    reason: str
    input: str
    classes: int
    parameters: int
    device_bytes: int
    weights_sha256: str
    licence: str
    labels: Tuple[str, ...] = field(repr=False)
    attention: Mapping[str, AttentionOffer] = field(repr=False)
    features: Tuple[str, ...] = field(repr=False)
    feature_width: int = field(repr=False)
    metrics: Tuple[Metric, ...] = field(repr=False)
    proto: registry_pb2.ModelVersion = field(repr=False, compare=False)

    @property
    def ready(self) -> bool:
        return self.state == "ready"

    def __str__(self) -> str:
        return "%s@%d" % (self.name, self.version)


@dataclass(frozen=True)
class ModelEvent:
    """A change of one version. `removed` is True if the server no longer knows the version."""

    model: Model
    removed: bool


def of_version(proto: registry_pb2.ModelVersion) -> Model:
    states = registry_pb2.DESCRIPTOR.enum_types_by_name["ModelState"].values_by_number
    return Model(
        name=proto.model,
        version=proto.version,
        state=states[proto.state].name.lower() if proto.state in states else "unknown",
        reason=proto.reason,
        input=_describe(proto.config.preprocessing),
        classes=proto.config.classes,
        parameters=proto.parameters,
        device_bytes=proto.device_bytes,
        weights_sha256=proto.weights_sha256,
        licence=proto.provenance.licence or proto.provenance.origin.licence,
        labels=tuple(proto.labels),
        attention={name_of(ATTENTION, o.kind): AttentionOffer(o.layers, o.heads) for o in proto.attention},
        features=tuple(name_of(FEATURES, kind) for kind in proto.feature_kinds),
        feature_width=proto.feature_width,
        metrics=tuple(Metric(m.name, m.split, m.value, m.images) for m in proto.provenance.metrics),
        proto=proto,
    )


def _describe(config: model_pb2.Preprocessing) -> str:
    colour = "grey" if config.channels == 1 else "RGB"
    if config.HasField("fixed"):
        return "%dx%d %s" % (config.fixed.height, config.fixed.width, colour)
    if config.HasField("native"):
        native = config.native
        return "%d to %d tokens of %dx%d %s" % (native.min_tokens, native.max_tokens, native.cell, native.cell, colour)
    return colour
