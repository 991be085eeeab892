# SPDX-License-Identifier: Apache-2.0
"""Names of the kinds of attention and features."""

from __future__ import annotations

import re
from typing import Dict, Mapping

from vitrine.v1 import attention_pb2, features_pb2

ATTENTION: Dict[str, int] = {
    "class": attention_pb2.CLASS_TOKEN_ROW,
    "mean": attention_pb2.MEAN_OVER_QUERIES,
    "rollout": attention_pb2.ROLLOUT,
    "class-attention": attention_pb2.CLASS_ATTENTION,
    "query": attention_pb2.QUERY_ROW,
    "scores": attention_pb2.SCORES,
    "weights": attention_pb2.WEIGHTS,
    "channels": attention_pb2.CROSS_COVARIANCE,
    "distance": attention_pb2.DISTANCE,
}
FEATURES: Dict[str, int] = {
    "class": features_pb2.CLASS_TOKEN,
    "mean": features_pb2.MEAN_TOKEN,
    "patches": features_pb2.PATCH_TOKENS,
    "registers": features_pb2.REGISTER_TOKENS,
    "projection": features_pb2.PROJECTION,
}


def name_of(names: Mapping[str, int], number: int) -> str:
    """Returns the name of a kind, or "kind-NUMBER" for a kind that only newer servers have."""
    return next((name for name, value in names.items() if value == number), "kind-%d" % number)


_OF_CONTRACT: Dict[str, str] = {
    **{attention_pb2.AttentionKind.Name(kind): name for name, kind in ATTENTION.items()},
    **{features_pb2.FeatureKind.Name(kind): name for name, kind in FEATURES.items()},
}
_WORDS = re.compile(r"\b(%s)\b" % "|".join(_OF_CONTRACT))


def with_own_names(message: str) -> str:
    """Replaces names of kinds in an error message of the server, such as CLASS_TOKEN_ROW, by this package's names."""
    return _WORDS.sub(lambda found: _OF_CONTRACT[found[0]], message)
