# SPDX-License-Identifier: Apache-2.0
"""Ensures that all features of a call for many images are from one version. Features of different versions are not
comparable."""

from __future__ import annotations

from typing import Optional, Tuple

from vitrine._result import Outcome, Refused
from vitrine.errors import FailedPrecondition
from vitrine.v1 import classifier_pb2, registry_pb2


def version_wanted(template: classifier_pb2.ClassifyRequest) -> Optional[registry_pb2.GetModelRequest]:
    """Returns the request that finds the version for a call; None if `template` has no features or sets a version."""
    if not template.features or template.HasField("version"):
        return None
    return registry_pb2.GetModelRequest(model=template.model, version_label=template.version_label)


def keep_to(template: classifier_pb2.ClassifyRequest, version: registry_pb2.ModelVersion) -> None:
    template.version = version.version
    template.ClearField("version_label")


class OneVersion:
    """Rejects a result if its version differs from the version of the first result of the call."""

    def __init__(self) -> None:
        self._first: Optional[Tuple[str, int, str]] = None

    def check(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Refused) or not outcome.features:
            return outcome
        by = outcome.served_by
        this = by.model, by.version, by.weights_sha256
        self._first = self._first or this
        if this == self._first:
            return outcome
        message = (
            "version %d (weights %.12s) computed these features, but version %d (weights %.12s) computed those before; "
            "name one with `version`" % (this[1], this[2], self._first[1], self._first[2])
        )
        return Refused(FailedPrecondition(message), outcome.index, outcome.source)
