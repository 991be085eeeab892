# SPDX-License-Identifier: Apache-2.0
"""The asyncio client of the Admin service, which changes what a server serves."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Mapping, Optional, Type, Union

import grpc

from vitrine import _admin, _arguments
from vitrine._admin import ServingChange, ServingStatus, VersionPolicy
from vitrine._aio._servers import Servers
from vitrine._connection import Pem, settings, time_left
from vitrine.v1 import admin_pb2


class AdminClient:
    """A connection to the Admin service of one server, which has a separate listener (vitrine-server --admin).

    The last ready version of a model is removed only by `unload` of the whole model. A call that loads versions
    returns when they are loaded. A failed change has no effect, but after DeadlineExceeded the change may still happen.
    A call is repeated only if its token was rejected and the token file now has another token. After a lost call,
    `serving` shows whether the change was made. For one event loop: create it inside the loop.

    Args:
        address: address of the Admin listener, in a form that vitrine.aio.Client accepts; default $VITRINE_ADMIN.
        tls, ca, cert, key, server_name, token, token_file: as in vitrine.aio.Client.
        deadline: timeout of one call in seconds. The default is the server's own limit, because loading a version may
            have to wait until other versions are loaded.

    Raises:
        TypeError, ValueError: options are wrong or contradict each other, or there is no address. OSError: a file
            cannot be read.
    """

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        tls: Optional[bool] = None,
        ca: Optional[Pem] = None,
        cert: Optional[Pem] = None,
        key: Optional[Pem] = None,
        server_name: Optional[str] = None,
        token: Optional[str] = None,
        token_file: Union[str, "os.PathLike[str]", None] = None,
        deadline: float = _admin.PATIENCE,
    ) -> None:
        security = tls, ca, cert, key, server_name, token, token_file
        self._settings = settings(_admin.address_of(address), *security, deadline, 0.0, None, 1)
        self._servers = Servers(self._settings, _admin.AdminStubs)

    async def close(self) -> None:
        """Cancels the calls in flight. A closed client cannot be used again."""
        await self._servers.close()

    async def __aenter__(self) -> AdminClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return "<vitrine.aio.AdminClient of %s>" % self._settings.address

    async def load(
        self, model: str, version: Optional[int] = None, *, deadline: Optional[float] = None
    ) -> ServingChange:
        """Loads a version, even one that was rolled back or unloaded, and keeps it loaded regardless of the policy.

        Without a version: loads an unloaded model again, with the versions that its policy selects. Here, in `unload`
        and in `rollback`, `model` may also be NAME@VERSION.

        Raises, like every change:
            TypeError, InvalidArgument: an argument is invalid. NotFound: there is no such model or version.
            FailedPrecondition: the model would be without a version, or a version was rejected; the message gives the
            reason. Unavailable: no server answers, the server is shutting down, loading takes too long, or the server
            cannot write its state. DeadlineExceeded: the change may still happen.
        """
        return await self._change("load", _admin.version_request(admin_pb2.LoadModelRequest, model, version), deadline)

    async def unload(
        self, model: str, version: Optional[int] = None, *, deadline: Optional[float] = None
    ) -> ServingChange:
        """Unloads a version; it stays unloaded until `load`. Without a version: unloads the whole model."""
        request = _admin.version_request(admin_pb2.UnloadModelRequest, model, version)
        return await self._change("unload", request, deadline)

    async def rollback(
        self, model: str, version: Optional[int] = None, *, reason: str = "", deadline: Optional[float] = None
    ) -> ServingChange:
        """Rolls back a version, by default the canary. If there is no canary, rolls back the stable version, and the
        previous version replaces it. `reason`, at most 200 bytes, is shown in the log and by `serving`."""
        _arguments.text("reason", reason, optional=False)
        request = _admin.version_request(admin_pb2.RollbackModelRequest, model, version)
        request.reason = reason
        return await self._change("rollback", request, deadline)

    async def set_version_policy(
        self, model: str, policy: VersionPolicy, *, deadline: Optional[float] = None
    ) -> ServingChange:
        """Sets which versions are loaded."""
        return await self._change("set_version_policy", _admin.policy_request(model, policy), deadline)

    async def set_traffic(
        self, model: str, shares: Mapping[int, float], *, deadline: Optional[float] = None
    ) -> ServingChange:
        """Distributes the requests that name neither version nor label: {4: 5} sends 5 % to version 4 and the rest to
        `stable`; {} sends all to `stable`. If shares are given and no version has the label `stable`, the version that
        answered these requests before the call gets this label. If that version itself gets a share, the newest older
        READY version without a share gets the label."""
        return await self._change("set_traffic", _admin.traffic_request(model, shares), deadline)

    async def set_label(
        self, model: str, label: str, version: int, *, deadline: Optional[float] = None
    ) -> ServingChange:
        """Gives a label to a version, loading it first if needed. The label `stable` pins the model to this version."""
        _arguments.text("label", label, optional=False)
        _arguments.version(version, optional=False)
        request = _admin.model_request(admin_pb2.SetLabelRequest, model, label=label, version=version)
        return await self._change("set_label", request, deadline)

    async def clear_label(self, model: str, label: str, *, deadline: Optional[float] = None) -> ServingChange:
        """Removes a label."""
        _arguments.text("label", label, optional=False)
        request = _admin.model_request(admin_pb2.ClearLabelRequest, model, label=label)
        return await self._change("clear_label", request, deadline)

    async def reset(self, model: str, *, deadline: Optional[float] = None) -> ServingChange:
        """Discards all changes that this service made to a model. The file of --serving-config applies again."""
        return await self._change("reset", _admin.model_request(admin_pb2.ResetServingRequest, model), deadline)

    async def serving(self, model: Optional[str] = None, *, deadline: Optional[float] = None) -> ServingStatus:
        """Returns the serving state of all models, or of `model`."""
        request = _admin.model_request(admin_pb2.GetServingRequest, model or "")
        return _admin.of_status(await self._call("serving", request, deadline))

    async def _change(self, method: str, request: Any, deadline: Optional[float]) -> ServingChange:
        return _admin.of_change(await self._call(method, request, deadline))

    async def _call(self, method: str, request: Any, deadline: Optional[float]) -> Any:
        time = time_left(self._settings, deadline)
        while True:
            metadata = self._settings.metadata()
            try:
                with self._servers.calls() as stubs:
                    return await getattr(stubs, method)(request, timeout=time.remaining, metadata=metadata)
            except grpc.RpcError as rpc:
                error = self._settings.error(rpc)
                if not self._settings.renewed(error.code, metadata):
                    await self._servers.follow(error)
                    raise _admin.error_of(error, method, self._settings, time) from rpc
