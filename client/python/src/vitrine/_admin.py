# SPDX-License-Identifier: Apache-2.0
"""Requests to the Admin service, and its answers as plain objects (proto/vitrine/v1/admin.proto)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple

from vitrine import _arguments, _descriptors, errors
from vitrine._connection import Settings, TimeLeft
from vitrine._models import Model, of_version
from vitrine.v1 import admin_pb2, serving_pb2

# Default deadline in seconds, equal to the server's own limit. It is long, because a load waits until other loads end.
PATIENCE = 600.0


@dataclass(frozen=True)
class VersionPolicy:
    """Selects the versions of a model that are loaded. Set exactly one attribute, as in VersionPolicy(latest=2).

    Attributes:
        latest: number of newest valid versions, 1 to 100.
        all: every version in the repository.
        specific: exactly these versions.
    """

    latest: Optional[int] = None
    all: bool = False
    specific: Tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _arguments.integer("latest", self.latest)
        _arguments.flag("all", self.all)
        _arguments.integers("specific", self.specific)
        if (self.latest is not None) + bool(self.all) + bool(self.specific) != 1:
            raise ValueError("a VersionPolicy is one of latest=N, all=True and specific=(N, ...), not %r" % (self,))


@dataclass(frozen=True)
class PutAway:
    """A version that was rolled back or unloaded, and the reason."""

    version: int
    reason: str


@dataclass(frozen=True)
class CanaryStatus:
    """Measurements of the canary guard for one version.

    Attributes:
        requests: number of answers in the window.
        errors: number of these answers with a server error.
        golden_drift: drift of the golden outputs when they were last computed; None: not computed yet.
        compute_ratio: the canary's compute time divided by the stable version's; None: no comparison yet.
        compared: number of images from which the ratio was computed.
    """

    version: int
    requests: int
    errors: int
    golden_drift: Optional[float]
    compute_ratio: Optional[float]
    compared: int


@dataclass(frozen=True)
class ModelServing:
    """Serving state of a model.

    Attributes:
        stable_version: version for requests without version and label; None: no version is ready.
        policy: selects the versions that are loaded; None: the server's default.
        labels: version by label, if set explicitly; without default labels.
        traffic: percent of requests by version, if set explicitly.
        versions: every known version, without its class labels.
        put_away: versions that were rolled back or unloaded.
        unloaded: True if the whole model was unloaded.
        memory_bytes: size of the loaded weights.
        changed_by_admin: True if any setting was made through the Admin service.
        proto: the server's message, with everything else: limits, batching, precision, ...
    """

    model: str
    stable_version: Optional[int]
    policy: Optional[VersionPolicy]
    labels: Mapping[str, int]
    traffic: Mapping[int, float]
    versions: Tuple[Model, ...]
    put_away: Tuple[PutAway, ...]
    unloaded: bool
    memory_bytes: int
    changed_by_admin: bool
    canaries: Tuple[CanaryStatus, ...]
    proto: admin_pb2.ModelServingStatus = field(repr=False, compare=False)


@dataclass(frozen=True)
class ServingChange:
    """Result of a change: the new serving state of the model, and sentences about side effects."""

    serving: ModelServing
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class ServingStatus:
    """Serving state of models.

    Attributes:
        models: in the order of their names.
        serving_config, admin_state: paths of the server's files; "": none. Without admin_state, changes are lost when
            the server ends.
        serving_config_fault: why the server rejects the current file and still uses an older one; "": no fault.
        memory_bytes, max_memory_bytes: size of the loaded weights, and its limit; None: no limit.
    """

    models: Tuple[ModelServing, ...]
    serving_config: str
    serving_config_fault: str
    admin_state: str
    memory_bytes: int
    max_memory_bytes: Optional[int]


class AdminStubs:
    """The calls of the Admin service over a grpc.Channel or a grpc.aio.Channel."""

    def __init__(self, channel: Any) -> None:
        def method(name: str) -> Any:
            return _descriptors.call(channel, "vitrine.v1.Admin", name)

        self.load = method("LoadModel")
        self.unload = method("UnloadModel")
        self.rollback = method("RollbackModel")
        self.set_version_policy = method("SetVersionPolicy")
        self.set_traffic = method("SetTraffic")
        self.set_label = method("SetLabel")
        self.clear_label = method("ClearLabel")
        self.reset = method("ResetServing")
        self.serving = method("GetServing")


def address_of(address: Optional[str]) -> str:
    """Returns the address. ValueError: no address is given. There is no default address, because the listener is off by
    default."""
    found = address or os.environ.get("VITRINE_ADMIN")
    if not found:
        raise ValueError("the Admin address is missing; give it or set $VITRINE_ADMIN (vitrine-server --admin)")
    return found


def error_of(error: errors.VitrineError, method: str, setting: Settings, time: TimeLeft) -> errors.VitrineError:
    if isinstance(error, errors.Unimplemented) and "does not speak gRPC" not in str(error):
        form = "there is no Admin service at %s, which serves other clients; give the address of vitrine-server --admin"
        return errors.Unimplemented(form % setting.address)
    if isinstance(error, errors.DeadlineExceeded):
        form = "the server did not finish the change within %g s; it may still finish: serving() shows it"
        if method == "serving":
            form = "no answer within %g s"
        return errors.DeadlineExceeded(form % time.seconds)
    return error


def version_request(kind: Any, model: str, version: Optional[int]) -> Any:
    """Returns a request of the class `kind` for one version. `model` may contain the version, as NAME@VERSION."""
    name, number, label = _arguments.model_version(model, version)
    _arguments.text("model", name, optional=False)
    if label is not None:
        raise errors.InvalidArgument('model is "%s", but this call takes a version by its number, not a label' % model)
    return kind(model=name, version=number)


def model_request(kind: Any, model: str, **fields: Any) -> Any:
    """Returns a request of the class `kind` for a model."""
    _arguments.name_only(model, optional=False)
    return kind(model=model, **fields)


def policy_request(model: str, policy: VersionPolicy) -> admin_pb2.SetVersionPolicyRequest:
    if not isinstance(policy, VersionPolicy):
        raise TypeError("policy is %r; give a vitrine.VersionPolicy, as VersionPolicy(latest=2)" % (policy,))
    request: admin_pb2.SetVersionPolicyRequest = model_request(admin_pb2.SetVersionPolicyRequest, model)
    if policy.latest is not None:
        request.policy.latest = policy.latest
    elif policy.all:
        request.policy.all = True
    else:
        request.policy.specific.versions.extend(policy.specific)
    return request


def traffic_request(model: str, shares: Mapping[int, float]) -> admin_pb2.SetTrafficRequest:
    if not isinstance(shares, Mapping):
        raise _arguments.wrong_type("shares", shares, "a mapping from versions to percents, as {4: 5}")
    request: admin_pb2.SetTrafficRequest = model_request(admin_pb2.SetTrafficRequest, model)
    for version, percent in shares.items():
        _arguments.integer("a version in shares", version, _arguments.INT64, optional=False)
        if not 0 < _arguments.real("the share of version %d" % version, percent, "a number of percents") <= 100:
            form = "the share of version %d is %g %%; it must be above 0 and at most 100"
            raise errors.InvalidArgument(form % (version, percent))
        request.shares.add(version=version, percent=percent)
    return request


def of_change(proto: admin_pb2.ServingChange) -> ServingChange:
    return ServingChange(_of_model(proto.serving), tuple(proto.notes))


def of_status(proto: admin_pb2.ServingStatus) -> ServingStatus:
    return ServingStatus(
        models=tuple(map(_of_model, proto.models)),
        serving_config=proto.serving_config,
        serving_config_fault=proto.serving_config_fault,
        admin_state=proto.admin_state,
        memory_bytes=proto.memory_bytes,
        max_memory_bytes=proto.max_memory_bytes if proto.HasField("max_memory_bytes") else None,
    )


def _of_model(proto: admin_pb2.ModelServingStatus) -> ModelServing:
    return ModelServing(
        model=proto.model,
        stable_version=proto.stable_version or None,
        policy=_of_policy(proto.serving.version_policy),
        labels={label.label: label.version for label in proto.serving.labels},
        traffic={share.version: share.percent for share in proto.serving.traffic},
        versions=tuple(map(of_version, proto.versions)),
        put_away=tuple(PutAway(away.version, away.reason) for away in proto.put_away),
        unloaded=proto.unloaded,
        memory_bytes=proto.memory_bytes,
        changed_by_admin=proto.changed_by_admin,
        canaries=tuple(_of_canaries(proto.canaries)),
        proto=proto,
    )


def _of_policy(proto: serving_pb2.VersionPolicy) -> Optional[VersionPolicy]:
    kind = proto.WhichOneof("policy")
    if kind is None:
        return None
    of_kind: Dict[str, Any] = {"latest": proto.latest, "all": proto.all, "specific": tuple(proto.specific.versions)}
    return VersionPolicy(**{kind: of_kind[kind]})


def _of_canaries(protos: Iterable[admin_pb2.CanaryStatus]) -> Iterable[CanaryStatus]:
    for seen in protos:
        drift = seen.golden_drift if seen.golden_drift >= 0 else None
        yield CanaryStatus(
            seen.version, seen.requests, seen.errors, drift, seen.compute_ratio or None, seen.compared
        )
