# SPDX-License-Identifier: Apache-2.0
import asyncio
import pickle
import socket
import threading
import time
from pathlib import Path

import pytest
from conftest import MODEL, ROOT, Server, free_port
from scripted import Script, serve

import vitrine
import vitrine.aio


def test_a_serving_server_is_ready(client: vitrine.Client) -> None:
    assert client.is_ready() and client.is_ready(MODEL)
    assert not client.is_ready("no-such-model")
    client.wait_until_ready()
    client.wait_until_ready("kv-pos-mnist", deadline=5)


def test_the_error_names_the_model_that_is_not_ready(client: vitrine.Client, server: Server) -> None:
    began = time.monotonic()
    with pytest.raises(vitrine.NotReady) as late:
        client.wait_until_ready("no-such-model", deadline=2)
    assert 1 < time.monotonic() - began < 20
    sentence = 'model "no-such-model" at %s was not ready within 2 s: the server has no such model' % server.address
    assert str(late.value).startswith(sentence) and late.value.model == "no-such-model"
    assert isinstance(late.value, vitrine.DeadlineExceeded) and late.value.code == "DEADLINE_EXCEEDED"
    again = pickle.loads(pickle.dumps(late.value))
    assert type(again) is vitrine.NotReady and again.model == "no-such-model" and str(again) == str(late.value)
    with pytest.raises(ValueError, match="deadline"):
        client.wait_until_ready(deadline=0)


def test_an_unreachable_server_is_not_ready() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % closed.getsockname()[1]
        with vitrine.Client(address) as client:
            assert not client.is_ready()
            with pytest.raises(vitrine.NotReady, match="the server at %s .* no server answers" % address) as late:
                client.wait_until_ready(deadline=2)
            assert late.value.model is None


def test_waits_for_a_server_that_starts_later(tmp_path: Path) -> None:
    port = free_port()
    started = []
    thread = threading.Timer(0.5, lambda: started.append(Server(tmp_path, ROOT / "models/bundled", port=port)))
    with vitrine.Client("127.0.0.1:%d" % port) as client:
        thread.start()
        client.wait_until_ready("kv-pos-mnist", deadline=60)
        assert client.classify(ROOT / "samples/digits/digit-7.png", "kv-pos-mnist").top1.label == "7"
    thread.join()
    started[0].stop()


def test_a_server_that_reports_not_serving_is_not_ready() -> None:
    script = Script()
    script.serving = False
    with serve(script) as address, vitrine.Client(address) as client:
        assert not client.is_ready()
        with pytest.raises(vitrine.NotReady, match="reports that it is not serving"):
            client.wait_until_ready(deadline=2)
        threading.Timer(0.2, lambda: setattr(script, "serving", True)).start()
        client.wait_until_ready(deadline=20)


def test_a_server_without_health_service_is_an_error() -> None:
    with serve(Script()) as address, vitrine.Client(address) as client:
        with pytest.raises(vitrine.Unimplemented):
            client.is_ready()
        with pytest.raises(vitrine.Unimplemented):
            client.wait_until_ready(deadline=20)


def test_asyncio_client_waits_until_ready(server: Server) -> None:
    async def use() -> None:
        async with vitrine.aio.Client(server.address) as client:
            assert await client.is_ready() and not await client.is_ready("no-such-model")
            await client.wait_until_ready(MODEL, deadline=5)
            with pytest.raises(vitrine.NotReady, match='model "no-such-model"'):
                await client.wait_until_ready("no-such-model", deadline=0.2)

    asyncio.run(asyncio.wait_for(use(), 60))
