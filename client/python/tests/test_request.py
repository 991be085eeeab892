# SPDX-License-Identifier: Apache-2.0
"""Tests two fields of a request: the label of a version, and the caller's trace context."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Server
from scripted import Script, serve

import vitrine

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
DIGIT = ROOT / "samples/digits/digit-7.png"


def ask(address: str, image: Any, model: str, **requested: Any) -> None:
    """Calls classify, then classify_many."""
    with vitrine.Client(address) as client:
        client.classify(image, model, **requested)
        assert [result.ok for result in client.classify_many([image], model, **requested)] == [True]


def test_the_traceparent_is_sent_only_with_its_call() -> None:
    script = Script()
    with serve(script) as address:
        ask(address, b"one", "m", traceparent=PARENT)
        ask(address, b"one", "m")
        with vitrine.Client(address, token="secret") as client:
            client.classify(b"one", "m", traceparent=PARENT)
    for metadata in (script.metadata, script.stream_metadata):
        assert [call.get("traceparent") for call in metadata[:2]] == [PARENT, None]
    assert script.metadata[2]["traceparent"] == PARENT
    assert script.metadata[2]["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    "value",
    ["", "x", PARENT[:-1], PARENT + "0", PARENT + "-x", PARENT.upper(), "ff" + PARENT[2:], PARENT + "\n"]
    + ["00-" + "0" * 32 + PARENT[35:], PARENT[:36] + "0" * 16 + "-01", "cc" + PARENT[2:] + "-\n"],
)
def test_an_invalid_traceparent_is_refused(value: str) -> None:
    with vitrine.Client("127.0.0.1:1") as client:
        for call in (client.classify, client.classify_many):
            with pytest.raises(vitrine.InvalidArgument, match="is no traceparent; the form is VERSION-TRACEID"):
                call(b"one", "m", traceparent=value)  # type: ignore[operator]


def test_a_longer_traceparent_of_a_later_version_is_accepted() -> None:
    script = Script()
    value = "cc" + PARENT[2:] + "-what-the-future-will-be-like"
    with serve(script) as address, vitrine.Client(address) as client:
        client.classify(b"one", "m", traceparent=value)
    assert script.metadata[0]["traceparent"] == value


def test_the_version_label_is_sent_to_the_server(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "models/bundled/kv-pos-mnist", tmp_path / "models/kv-pos-mnist")
    serving = tmp_path / "serving.textproto"
    serving.write_text('models { model: "kv-pos-mnist" labels { label: "canary" version: 1 } }')
    server = Server(tmp_path, tmp_path / "models", options=["--serving-config", str(serving)])
    ask(server.address, DIGIT, "kv-pos-mnist", version_label="canary")
    with vitrine.Client(server.address) as client:
        assert client.model("kv-pos-mnist", version_label="canary").version == 1
        with pytest.raises(vitrine.NotFound, match="other"):
            client.classify(DIGIT, "kv-pos-mnist", version_label="other")
        with pytest.raises(vitrine.NotFound, match="other"):
            client.model("kv-pos-mnist", version_label="other")
        with pytest.raises(vitrine.InvalidArgument, match="version_label"):
            client.classify(DIGIT, "kv-pos-mnist", 1, version_label="canary")
    server.stop()
