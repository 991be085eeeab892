# SPDX-License-Identifier: Apache-2.0
import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any, Iterator, List

import numpy as np
import pytest
from conftest import MODEL, ROOT, Server, program
from scripted import Script, serve

import vitrine
import vitrine.aio
from vitrine.v1 import classifier_pb2 as pb
from vitrine.v1 import features_pb2

DIGITS = [ROOT / ("samples/digits/digit-%d.png" % digit) for digit in range(4)]


def test_embed_equals_the_feature_of_classify(client: vitrine.Client, cat: Path) -> None:
    features = client.classify(cat, MODEL, features=["class", "mean", "patches"]).features
    for kind, expected in features.items():
        values = client.embed(cat, MODEL, feature=kind)
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(client.embed(cat, MODEL), features["class"])


def test_vectors_can_be_normalized(client: vitrine.Client, cat: Path) -> None:
    for kind in ("class", "mean", "patches"):
        plain = client.embed(cat, MODEL, feature=kind)
        unit = client.embed(cat, MODEL, feature=kind, normalize=True)
        lengths = np.linalg.norm(plain, axis=-1, keepdims=True)
        assert np.abs(lengths - 1).max() > 0.1
        np.testing.assert_allclose(unit, plain / lengths, rtol=1e-5, atol=1e-7)
    (many,) = client.embed_many([cat], MODEL, feature="patches", normalize=True)
    assert many.ok
    np.testing.assert_array_equal(many.values, unit)
    assert len(many.served_by.weights_sha256) == 64
    features = client.classify(cat, MODEL, features="patches", normalize=True).features
    np.testing.assert_array_equal(features["patches"], unit)


def test_a_server_without_normalize_is_reported() -> None:
    from vitrine._embedding import values_of
    from vitrine._picture import load
    from vitrine._result import of_response
    from vitrine.v1 import classifier_pb2, features_pb2

    response = classifier_pb2.ClassifyResponse()
    response.features.add(
        kind=features_pb2.MEAN_TOKEN, rows=1, columns=1, width=1, encoding=features_pb2.FEATURE_FLOAT32, values=bytes(4)
    )
    result = of_response(response, load(DIGITS[0]))
    assert values_of(result, False).tolist() == [0]
    with pytest.raises(vitrine.Internal, match="too old to support normalize"):
        values_of(result, True)


def test_default_feature_is_requested_once(client: vitrine.Client, cat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(name for name in client.model("xcit-n12-f-sne-cifar10").features if name != "patches")
    expected = client.embed(cat, "xcit-n12-f-sne-cifar10", feature=first)
    np.testing.assert_array_equal(client.embed(cat, "xcit-n12-f-sne-cifar10"), expected)
    monkeypatch.delattr(client._calls.servers._line.stubs, "get")
    np.testing.assert_array_equal(client.embed(cat, "xcit-n12-f-sne-cifar10"), expected)


def test_embed_refuses_invalid_arguments(client: vitrine.Client, cat: Path) -> None:
    with pytest.raises(vitrine.InvalidArgument, match="^feature 'colour' is not known; there is class, mean, patches"):
        client.embed(cat, MODEL, feature="colour")
    with pytest.raises(vitrine.NotFound, match="no-such-model"):
        client.embed(cat, "no-such-model")
    with pytest.raises(vitrine.NotFound, match="no-such-model"):
        client.embed_many([cat], "no-such-model")
    with pytest.raises(FileNotFoundError):
        client.embed("nowhere.jpg", MODEL)
    with pytest.raises(vitrine.ResourceExhausted, match="max_attention_bytes"):
        client.embed(cat, MODEL, feature="patches", max_attention_bytes=10)
    with pytest.raises(ValueError, match="deadline"):
        client.embed(cat, MODEL, deadline=0)
    with pytest.raises(vitrine.DeadlineExceeded):
        client.embed(cat, MODEL, feature="class", deadline=0.0005)


def test_a_model_without_a_vector_is_refused() -> None:
    from vitrine._embedding import first_vector
    from vitrine._models import of_version
    from vitrine.v1 import features_pb2, registry_pb2

    model = of_version(registry_pb2.ModelVersion(model="m", feature_kinds=[features_pb2.PATCH_TOKENS]))
    with pytest.raises(vitrine.InvalidArgument, match='model "m" has no vector; give one of its features: patches'):
        first_vector(model)


def test_embed_many_yields_vectors_in_order(client: vitrine.Client, cats: List[Path]) -> None:
    mixed: List[Any] = [*cats, "nowhere.jpg", b"nothing"]
    results = list(client.embed_many(mixed, MODEL, feature="mean"))
    assert [r.index for r in results] == list(range(14)) and [r.ok for r in results] == [True] * 12 + [False] * 2
    good = [r for r in results if isinstance(r, vitrine.Embedding)]
    assert [r.source for r in good] == [str(path) for path in cats]
    assert {r.feature for r in good} == {"mean"} and good[0].served_by.model == MODEL
    np.testing.assert_array_equal(np.stack(good)[2], client.embed(cats[2], MODEL, feature="mean"))
    assert np.asarray(good[0], dtype=np.float64).dtype == np.float64
    assert good[0].to_numpy() is good[0].values
    assert "mean, 250, %s@" % MODEL in repr(good[0])
    assert [r.code for r in results if isinstance(r, vitrine.Refused)] == ["UNREADABLE", "INVALID_ARGUMENT"]


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Server]:
    """Two versions of a model; the second gets half of the requests that name no version."""
    publish = [program("vitrine-repo"), "publish"]
    models = tmp_path / "models"
    for source in (ROOT / "models/bundled", models):
        subprocess.run([*publish, models, "kv-pos-mnist", "--from", source], check=True, capture_output=True)
    serving = tmp_path / "serving"
    serving.write_text(
        'models { model: "kv-pos-mnist" version_policy { all: true }\n'
        '  labels { label: "stable" version: 1 } traffic { version: 2 percent: 50 } }'
    )
    server = Server(tmp_path, models, options=["--serving-config", str(serving)])
    try:
        with vitrine.Client(server.address) as client:
            while len([model for model in client.models() if model.ready]) < 2:
                time.sleep(0.02)
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


def test_one_array_uses_one_version_despite_a_canary(canary: Server) -> None:
    with vitrine.Client(canary.address) as client:
        divided = list(client.classify_many(DIGITS * 3, "kv-pos-mnist"))
        assert {r.served_by.version for r in divided if isinstance(r, vitrine.Result)} == {1, 2}
        for label, version in ((None, 1), ("stable", 1), ("canary", 2)):
            embedded = list(client.embed_many(DIGITS * 3, "kv-pos-mnist", version_label=label))
            assert {r.served_by.version for r in embedded if isinstance(r, vitrine.Embedding)} == {version}
            assert all(r.ok for r in embedded)
        features = list(client.classify_many(DIGITS * 3, features="mean"))
        assert {r.served_by.version for r in features if isinstance(r, vitrine.Result)} == {1}
        two = list(client.embed_many(DIGITS, "kv-pos-mnist", 2))
        assert {r.served_by.version for r in two if isinstance(r, vitrine.Embedding)} == {2}


def test_a_second_version_is_an_error_without_registry_access() -> None:
    def divided(requests: Iterator[pb.ClassifyRequest], context: Any) -> Iterator[pb.ClassifyStreamResponse]:
        for place, request in enumerate(requests):
            response = pb.ClassifyStreamResponse(request_id=request.request_id)
            feature = response.response.features.add(
                kind=features_pb2.MEAN_TOKEN, rows=1, columns=1, width=1, encoding=features_pb2.FEATURE_FLOAT32
            )
            feature.values = b"\0\0\0\0"
            response.response.served_by.version = 2 + place % 2
            yield response

    script = Script()
    script.stream = divided
    with serve(script) as address, vitrine.Client(address) as client:
        results = list(client.embed_many(DIGITS, "m", feature="mean"))
    assert [r.ok for r in results] == [True, False, True, False]
    assert isinstance(results[1], vitrine.Refused) and results[1].code == "FAILED_PRECONDITION"
    assert "version 3" in str(results[1].error) and "name one with `version`" in str(results[1].error)


def test_an_answer_without_the_feature_is_refused() -> None:
    with serve(Script()) as address, vitrine.Client(address) as client:
        with pytest.raises(vitrine.Internal, match="0 features instead of one"):
            client.embed(b"one", "m", feature="mean")
        (result,) = client.embed_many([b"one"], "m", feature="mean")
    assert isinstance(result, vitrine.Refused) and result.code == "INTERNAL"


def test_asyncio_client_embeds_images(server: Server, client: vitrine.Client) -> None:
    async def use() -> None:
        async with vitrine.aio.Client(server.address) as other:
            one = await other.embed(DIGITS[3], "kv-pos-mnist")
            np.testing.assert_array_equal(one, client.embed(DIGITS[3], "kv-pos-mnist"))
            several = [r async for r in other.embed_many([*DIGITS, "nowhere.png"], "kv-pos-mnist")]
            assert [r.ok for r in several] == [True] * 4 + [False]
            np.testing.assert_array_equal(np.asarray(several[3]), one)
            folder = [r async for r in other.embed_many(ROOT / "samples/digits", "kv-pos-mnist")]
            assert all(r.ok for r in folder) and len(folder) == len(list((ROOT / "samples/digits").glob("*.png")))
            wrong = other.embed_many(b"a picture", "kv-pos-mnist")  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="write \\[image\\]"):
                await wrong.__anext__()

    asyncio.run(asyncio.wait_for(use(), 60))
