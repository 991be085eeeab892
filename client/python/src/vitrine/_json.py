# SPDX-License-Identifier: Apache-2.0
"""Answers in the form that proto/vitrine/v1/answer.schema.json describes."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import numpy.typing as npt

from vitrine._kinds import ATTENTION, FEATURES, name_of
from vitrine.v1 import classifier_pb2

Array = npt.NDArray[np.float32]


def of_answer(
    image: str, proto: classifier_pb2.ClassifyResponse, maps: Sequence[Array], features: Sequence[Array]
) -> Dict[str, Any]:
    """Returns the answer for an image as a dict. `maps` and `features` are the decoded values of the answer."""
    by = proto.served_by
    return {
        "image": image,
        "model": by.model,
        "version": by.version,
        "request_id": proto.request_id,
        "predictions": [_members(p, "index", "label", "probability", "logit") for p in proto.predictions],
        "unsure": proto.unsure,
        "timings_ms": {
            stage: _number(np.float32(math.floor(getattr(proto.timings, stage) * 1e6 + 0.5) / 1e3))
            for stage in ("queue", "decode", "compute", "encode", "total")
        },
        "served_by": _members(by, "precision", "device", "weights_sha256"),
        "grid": {
            **_members(
                proto.grid, "rows", "columns", "input_height", "input_width", "image_height", "image_width"
            ),
            **_covers(proto.grid),
        },
        "batch": _members(proto.batch, "images", "tokens", "grids", "id"),
        "features": [
            {
                "kind": name_of(FEATURES, feature.kind),
                **_members(feature, "rows", "columns", "width", "normalized"),
                "values": _numbers(values),
            }
            for feature, values in zip(proto.features, features)
        ],
        "attention": [
            {
                "kind": name_of(ATTENTION, shown.kind),
                "layer": shown.layer if shown.layer >= 0 else None,
                "head": shown.head if shown.head >= 0 else None,
                **_members(shown, "rows", "columns", "diverging"),
                **_covers(shown),
                "values": [_numbers(row) for row in values],
            }
            for shown, values in zip(proto.attention, maps)
        ],
    }


def _members(message: Any, *names: str) -> Dict[str, Any]:
    values = {name: getattr(message, name) for name in names}
    return {name: _number(np.float32(value)) if isinstance(value, float) else value for name, value in values.items()}


def _covers(message: Any) -> Dict[str, Any]:
    return {"covers": _members(message.covers, "left", "top", "width", "height")} if message.HasField("covers") else {}


def _numbers(values: Array) -> List[Optional[float]]:
    return [_number(value) for value in values.ravel()]


def _number(value: np.float32) -> Optional[float]:
    """Returns the float with the fewest digits that rounds to `value` as float32; None if `value` is not finite."""
    return float(str(value)) if math.isfinite(value) else None
