# SPDX-License-Identifier: Apache-2.0
"""Every call of the Admin service, against a real server with two versions."""

import asyncio
import shutil
import socket
from pathlib import Path
from typing import Iterator, List

import pytest
from conftest import ROOT, Server
from scripted import Script, serve

import vitrine
import vitrine.aio

NAME = "kv-pos-mnist"
DIGIT = ROOT / "samples/digits/digit-7.png"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the Admin listener of a server with versions 1 and 2 of a model."""
    scratch = tmp_path_factory.mktemp("admin")
    models = scratch / "models"
    for version in ("1", "2"):
        shutil.copytree(ROOT / "models/bundled" / NAME / "1", models / NAME / version)
    manifest = models / NAME / "2/manifest.textproto"
    manifest.write_text(manifest.read_text().replace("version: 1", "version: 2"))
    server = Server(scratch, models, options=["--admin", "127.0.0.1:0"])
    yield server.ports["admin"]
    server.stop()


@pytest.fixture()
def admin(place: str) -> Iterator[vitrine.AdminClient]:
    """A client of the Admin service; changes are discarded after each test."""
    with vitrine.AdminClient(place) as connected:
        yield connected
        connected.reset(NAME)


def ready(serving: vitrine.ModelServing) -> List[int]:
    return [model.version for model in serving.versions if model.ready]


def test_serving_describes_models_and_settings(admin: vitrine.AdminClient) -> None:
    status = admin.serving()
    (model,) = status.models
    assert status == admin.serving(NAME)
    assert model.model == NAME and model.stable_version == 2 and ready(model) == [2]
    assert model.policy == vitrine.VersionPolicy(latest=1)
    assert model.labels == {} and model.traffic == {} and model.canaries == ()
    assert not model.changed_by_admin and not model.unloaded and model.put_away == ()
    assert 0 < model.memory_bytes == status.memory_bytes and status.max_memory_bytes is None
    assert (status.serving_config, status.serving_config_fault, status.admin_state) == ("", "", "")


def test_a_version_can_be_loaded_and_unloaded(admin: vitrine.AdminClient) -> None:
    change = admin.load(NAME, 1)
    assert isinstance(change, vitrine.ServingChange) and all(isinstance(note, str) for note in change.notes)
    assert ready(change.serving) == [1, 2] and change.serving.changed_by_admin
    assert change.serving.stable_version == 2
    after = admin.unload(NAME, 1).serving
    assert ready(after) == [2] and [away.version for away in after.put_away] == [1]


def test_a_model_can_be_unloaded_and_loaded(admin: vitrine.AdminClient) -> None:
    gone = admin.unload(NAME).serving
    assert gone.unloaded and ready(gone) == [] and gone.stable_version is None
    assert ready(admin.load(NAME).serving) == [2]


def test_rollback_serves_the_previous_version(admin: vitrine.AdminClient) -> None:
    serving = admin.rollback(NAME, reason="it is worse").serving
    assert serving.stable_version == 1 and ready(serving) == [1]
    ((version, reason),) = [(away.version, away.reason) for away in serving.put_away]
    assert version == 2 and "it is worse" in reason


@pytest.mark.parametrize(
    "policy, expected",
    [
        (vitrine.VersionPolicy(latest=2), [1, 2]),
        (vitrine.VersionPolicy(all=True), [1, 2]),
        (vitrine.VersionPolicy(specific=(1,)), [1]),
    ],
)
def test_version_policy_applies(admin: vitrine.AdminClient, policy: vitrine.VersionPolicy, expected: List[int]) -> None:
    serving = admin.set_version_policy(NAME, policy).serving
    assert serving.policy == policy and ready(serving) == expected


def test_labels_and_traffic_can_be_set(admin: vitrine.AdminClient) -> None:
    admin.load(NAME, 1)
    assert admin.set_label(NAME, "stable", 1).serving.stable_version == 1
    serving = admin.set_traffic(NAME, {2: 12.5}).serving
    assert serving.labels == {"stable": 1} and serving.traffic == {2: 12.5}
    assert [canary.version for canary in serving.canaries] in ([], [2])
    assert admin.set_traffic(NAME, {}).serving.traffic == {}
    serving = admin.clear_label(NAME, "stable").serving
    assert serving.labels == {} and serving.stable_version == 2
    assert not admin.reset(NAME).serving.changed_by_admin


def test_invalid_changes_are_refused(admin: vitrine.AdminClient) -> None:
    with pytest.raises(vitrine.NotFound, match="no-such-model"):
        admin.load("no-such-model")
    with pytest.raises(vitrine.NotFound, match="7"):
        admin.load(NAME, 7)
    admin.load(NAME, 1)
    admin.unload(NAME, 1)
    with pytest.raises(vitrine.FailedPrecondition, match="no version before it that could serve"):
        admin.rollback(NAME)
    with pytest.raises(vitrine.InvalidArgument):
        admin.set_label(NAME, "NO LABEL", 2)
    with pytest.raises(TypeError, match="as VersionPolicy"):
        admin.set_version_policy(NAME, 2)  # type: ignore[arg-type]
    for wrong in ({}, {"latest": 1, "all": True}, {"latest": 1, "specific": (1,)}):
        with pytest.raises(ValueError, match="one of latest=N, all=True and specific"):
            vitrine.VersionPolicy(**wrong)
    with pytest.raises(ValueError, match="deadline"):
        admin.reset(NAME, deadline=0)


def test_an_exceeded_deadline_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the connection and never answers
        with vitrine.AdminClient("127.0.0.1:%d" % silent.getsockname()[1]) as waiting:
            with pytest.raises(vitrine.DeadlineExceeded, match=r"may still finish: serving\(\) shows it"):
                waiting.load(NAME, 1, deadline=0.2)
            with pytest.raises(vitrine.DeadlineExceeded, match="^no answer within 0.2 s$"):
                waiting.serving(deadline=0.2)


def test_the_address_can_come_from_the_environment(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VITRINE_ADMIN", raising=False)
    with pytest.raises(ValueError, match=r"Admin address is missing.*VITRINE_ADMIN"):
        vitrine.AdminClient()
    monkeypatch.setenv("VITRINE_ADMIN", place)
    with vitrine.AdminClient() as client:
        assert client.serving().models and repr(client) == "<vitrine.AdminClient of %s>" % place


def test_a_server_without_admin_is_unimplemented() -> None:
    with serve(Script()) as address, vitrine.AdminClient(address) as client:
        with pytest.raises(vitrine.Unimplemented):
            client.serving()


def test_asyncio_client_changes_models(place: str) -> None:
    async def use() -> None:
        async with vitrine.aio.AdminClient(place) as client:
            assert ready((await client.load(NAME, 1)).serving) == [1, 2]
            assert (await client.set_label(NAME, "stable", 1)).serving.labels == {"stable": 1}
            assert (await client.set_traffic(NAME, {2: 5})).serving.traffic == {2: 5.0}
            assert (await client.set_traffic(NAME, {})).serving.traffic == {}
            assert (await client.clear_label(NAME, "stable")).serving.labels == {}
            policy = vitrine.VersionPolicy(latest=1)
            assert (await client.set_version_policy(NAME, policy)).serving.policy == policy
            assert ready((await client.unload(NAME, 1)).serving) == [2]
            assert not (await client.reset(NAME)).serving.changed_by_admin
            assert ready((await client.rollback(NAME, reason="as a test")).serving) == [1]
            assert not (await client.reset(NAME)).serving.changed_by_admin
            assert (await client.serving(NAME)).models[0].model == NAME
            with pytest.raises(vitrine.NotFound):
                await client.reset("no-such-model")

    asyncio.run(asyncio.wait_for(use(), 120))
