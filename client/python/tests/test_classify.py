# SPDX-License-Identifier: Apache-2.0
import io
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
from conftest import MODEL, ROOT, Server
from PIL import Image

import vitrine


def test_every_kind_of_image_gives_the_same_answer(client: vitrine.Client) -> None:
    path = ROOT / "samples/cifar/bird-lark.png"  # lossless, so that every form of the image has the same pixels
    image = Image.open(path)
    expected = client.classify(path, model=MODEL)
    assert expected.top1.label == "bird"
    sources = [str(path), path.read_bytes(), bytearray(path.read_bytes()), io.BytesIO(path.read_bytes()), image]
    sources += [np.asarray(image), np.asarray(image).astype(np.float64) / 255, np.asarray(image)[::-1][::-1]]
    for source in sources:
        result = client.classify(source, model=MODEL)
        assert [p.label for p in result.predictions] == [p.label for p in expected.predictions], source
        assert result.top1.logit == pytest.approx(expected.top1.logit, abs=1e-3)
    with path.open("rb") as file:
        assert client.classify(file, model=MODEL).top1 == expected.top1


def test_result_has_predictions_and_provenance(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL, top_k=10)
    assert result.ok and len(result.predictions) == 10
    assert sum(p.probability for p in result.predictions) == pytest.approx(1, abs=1e-4)
    logits = [p.logit for p in result.predictions]
    assert logits == sorted(logits, reverse=True)
    assert (result.served_by.model, result.served_by.precision, result.served_by.device) == (MODEL, "fp32", "cpu")
    assert len(result.served_by.weights_sha256) == 64
    assert (result.grid.image_width, result.grid.image_height) == (451, 300)
    assert result.batch.images == 1 and result.timings.total >= result.timings.compute > 0
    assert result.source == str(cat)
    assert "cat-chelsea.jpg" in repr(result) and len(repr(result)) < 200


def test_an_unsure_result_is_marked(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL)
    assert result.unsure and "unsure: " in repr(result) and "unsure" in result._repr_html_()
    sure = client.classify(ROOT / "samples/cifar/horse-bay.jpg", MODEL)
    assert not sure.unsure and "unsure" not in repr(sure) + sure._repr_html_()
    assert not client.classify(cat, MODEL, top_k=0).unsure


def test_digits_are_recognized(client: vitrine.Client) -> None:
    for digit in range(10):
        path = ROOT / ("samples/digits/digit-%d.png" % digit)
        assert client.classify(path, "kv-pos-mnist", 1).top1.index == digit
        assert client.classify(np.asarray(Image.open(path)), "kv-pos-mnist").top1.index == digit


def test_attention_maps_are_returned(client: vitrine.Client, cat: Path) -> None:
    wishes = ["mean", vitrine.Attention("class", layers=[0, -1], heads=[2]), "weights", "distance"]
    result = client.classify(cat, MODEL, attention=wishes)
    assert [(m.kind, m.layer, m.head) for m in result.attention] == [
        ("mean", 4, None),
        ("class", 0, 2),
        ("class", 4, 2),
        ("weights", 4, None),
        ("distance", None, None),
    ]
    mean, _, _, weights, distance = result.attention
    tokens = result.grid.rows * result.grid.columns
    assert mean.values.shape == (result.grid.rows, result.grid.columns) and mean.values.dtype == np.float32
    assert weights.values.shape == (tokens + 1, tokens + 1)
    np.testing.assert_allclose(weights.values.sum(axis=1), 1, atol=2e-2)
    np.testing.assert_allclose(weights.values.mean(axis=0)[1:], mean.values.ravel(), atol=2e-4)
    assert distance.values.shape == (5, 10) and (distance.values > 0).all()
    exact = client.classify(cat, MODEL, attention=vitrine.Attention("mean", exact=True)).attention[0]
    assert 0 < np.abs(exact.values - mean.values).max() < 1e-3


def test_query_row_is_a_row_of_the_weights(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL, attention=[vitrine.Attention("query", query=17), "weights"])
    row, weights = result.attention
    np.testing.assert_allclose(row.values.ravel(), weights.values[18, 1:], atol=1e-4)


def test_features_are_returned(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL, features=["class", "mean", "patches"], top_k=0)
    assert result.predictions == ()
    with pytest.raises(ValueError, match="top_k=0"):
        result.top1
    assert result.features["class"].shape == (250,) and result.features["class"].dtype == np.float32
    assert result.features["patches"].shape == (result.grid.rows, result.grid.columns, 250)
    np.testing.assert_allclose(result.features["patches"].mean(axis=(0, 1)), result.features["mean"], atol=1e-4)


def test_resolution_changes_the_grid(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL, resolution=(24, 40))
    assert (result.grid.rows, result.grid.columns) == (6, 10)
    assert client.classify(cat, MODEL, resolution=32).grid.rows == 8


def test_the_model_defaults_to_the_only_one(tmp_path: Path, server: Server) -> None:
    with vitrine.Client(server.address) as client, pytest.raises(vitrine.InvalidArgument, match="eit.*, kv-pos-mnist"):
        client.classify(ROOT / "samples/digits/digit-7.png")
    shutil.copytree(ROOT / "models/bundled/kv-pos-mnist", tmp_path / "models/kv-pos-mnist")
    other = Server(tmp_path, tmp_path / "models")
    with vitrine.Client(other.address) as client:
        assert client.classify(ROOT / "samples/digits/digit-7.png").top1.label == "7"
        assert [r.ok for r in client.classify_many([ROOT / "samples/digits/digit-7.png"])] == [True]
    other.stop()


def test_threads_can_share_a_client(client: vitrine.Client, cats: List[Path]) -> None:
    expected = [client.classify(path, MODEL).top1 for path in cats]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda path: client.classify(path, MODEL).top1, cats * 3))
    assert [p.label for p in found] == [p.label for p in expected] * 3


class Forgetful(Dict[Any, Any]):
    """A cache that keeps no value, as if another thread cleared it after each write."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


def test_another_thread_can_clear_the_cache(client: vitrine.Client, cat: Path) -> None:
    client._calls._known = Forgetful()
    assert client.embed(cat, MODEL).ndim == 1
