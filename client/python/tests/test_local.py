# SPDX-License-Identifier: Apache-2.0
"""Models in this process, compared with the server."""

import threading
from pathlib import Path
from typing import Any, Iterator, List

import numpy as np
import pytest
from conftest import MODEL, ROOT
from PIL import Image

import vitrine

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture()
def local() -> Iterator[vitrine.LocalModel]:
    with vitrine.load(MODEL, ROOT / "models/bundled") as loaded:
        yield loaded


def lasting(result: Any) -> bytes:
    """The bytes of an answer without its times and its batch."""
    proto = type(result.proto).FromString(result.proto.SerializeToString())
    proto.ClearField("timings")
    proto.ClearField("batch")
    return bytes(proto.SerializeToString(deterministic=True))


@pytest.mark.parametrize("model", sorted(path.name for path in (ROOT / "models/bundled").iterdir()))
def test_results_equal_the_servers_bit_for_bit(client: vitrine.Client, cats: List[Path], model: str) -> None:
    described = client.model(model)
    maps = [vitrine.Attention(kind, layers="all", exact=True) for kind in described.attention]
    wishes: Any = dict(top_k=described.classes, features=list(described.features), attention=maps[:3])
    with vitrine.load(model, ROOT / "models/bundled") as local:
        assert local.model() == described
        batch = list(local.classify_many(cats, **wishes))
        for path, many in zip(cats, batch):
            ours, theirs = local.classify(path, **wishes), client.classify(path, model, **wishes)
            assert lasting(ours) == lasting(theirs) == lasting(many)
            for mine, other in zip(ours.attention, theirs.attention):
                assert mine.values.tobytes() == other.values.tobytes()
            assert local.embed(path, normalize=True).tobytes() == client.embed(path, model, normalize=True).tobytes()


def test_every_kind_of_image_is_accepted(client: vitrine.Client, local: vitrine.LocalModel, cat: Path) -> None:
    with Image.open(cat) as opened:
        image = opened.convert("RGB")
    pixels = np.asarray(image)
    kinds: List[Any] = [cat, cat.read_bytes(), image, pixels, pixels[::2, ::3], pixels[:, :, 0], pixels / 255]
    for kind in kinds:
        assert lasting(local.classify(kind)) == lasting(client.classify(kind, MODEL))
    mine, theirs = local.classify(cat, MODEL).to_dict(), client.classify(cat, MODEL).to_dict()
    for answer in (mine, theirs):
        del answer["timings_ms"], answer["batch"]
    assert mine == theirs


def broken_after(images: List[Path], error: BaseException) -> Iterator[Path]:
    yield from images
    raise error


def test_classify_many_yields_results_in_order(local: vitrine.LocalModel, cats: List[Path]) -> None:
    images: List[Any] = [cats[0], b"no image", Path("nowhere.jpg"), *cats * 3]
    found = list(local.classify_many(images, top_k=1))
    assert [one.index for one in found] == list(range(len(images)))
    assert [one.ok for one in found[:4]] == [True, False, False, True]
    codes = [one.code for one in found if isinstance(one, vitrine.Refused)]
    assert codes == ["INVALID_ARGUMENT", "UNREADABLE"]
    with pytest.raises(KeyboardInterrupt):  # raised at once, as by Client
        next(local.classify_many(broken_after(cats[:3], KeyboardInterrupt())))
    broken = local.classify_many(broken_after(cats[:3], ZeroDivisionError()))
    assert [next(broken).ok for _ in range(3)] == [True] * 3
    with pytest.raises(ZeroDivisionError):
        next(broken)
    for one in local.embed_many(cats):
        assert one.ok and one.values.tobytes() == local.embed(cats[one.index]).tobytes()


def test_threads_can_share_a_model(local: vitrine.LocalModel, cats: List[Path]) -> None:
    alone = [lasting(local.classify(path)) for path in cats]
    same: List[bool] = []

    def run() -> None:
        same.extend(lasting(local.classify(path)) == bits for path, bits in zip(cats, alone))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 4 * len(cats)


def test_models_are_found_by_folder_name_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = ROOT / "models/bundled"
    (version,) = (path.name for path in (bundled / "kv-pos-mnist").iterdir())
    named = "%s/kv-pos-mnist@%s" % (bundled, version)
    for place in (bundled / "kv-pos-mnist", bundled / "kv-pos-mnist" / version, named):
        assert vitrine.load(place).name == "kv-pos-mnist"
    monkeypatch.delenv("VITRINE_REPOSITORY", raising=False)
    with pytest.raises(vitrine.NotFound, match="VITRINE_REPOSITORY"):
        vitrine.load("kv-pos-mnist")
    monkeypatch.setenv("VITRINE_REPOSITORY", str(bundled))
    assert str(vitrine.load("kv-pos-mnist", threads=1)) == "<vitrine.LocalModel kv-pos-mnist@%s>" % version


def test_errors_have_the_classes_of_the_client(local: vitrine.LocalModel, cat: Path) -> None:
    with pytest.raises(vitrine.InvalidArgument, match="precision"):
        vitrine.load(MODEL, ROOT / "models/bundled", precision="fp16")
    with pytest.raises(vitrine.NotFound, match="this object holds " + MODEL):
        local.classify(cat, "other")
    with pytest.raises(vitrine.InvalidArgument, match="version_label"):
        local.classify(cat, version_label="stable")
    with pytest.raises(vitrine.InvalidArgument, match="classes"):
        local.classify(cat, top_k=11)
    with pytest.raises(TypeError):
        local.classify(cat, heads=3)
    local.close()
    with pytest.raises(vitrine.Cancelled):
        local.classify(cat)
