# SPDX-License-Identifier: Apache-2.0
import shutil
from pathlib import Path

from conftest import MODEL, ROOT, Server

import vitrine


def test_models_are_listed_with_their_properties(client: vitrine.Client) -> None:
    models = client.models()
    by_name = {model.name: model for model in models}
    assert [(m.name, m.version) for m in models] == sorted((m.name, m.version) for m in models)
    eit, kv = by_name[MODEL], by_name["kv-pos-mnist"]
    assert str(kv) == "kv-pos-mnist@1"
    assert eit.ready and eit.state == "ready" and eit.reason == ""
    assert eit.input == "36 to 144 tokens of 4x4 RGB" and kv.input == "28x28 grey"
    assert eit.attention["mean"] == vitrine.AttentionOffer(5, 10) and "scores" in kv.attention
    assert eit.features == ("class", "mean", "patches") and eit.feature_width == 250
    assert eit.metrics[0].name == "top1" and 0.7 < eit.metrics[0].value < 1 and eit.metrics[0].images == 10000
    assert eit.labels == ()
    assert eit.licence == "Apache-2.0"


def test_model_describes_one_version(client: vitrine.Client) -> None:
    model = client.model(MODEL)
    assert len(model.labels) == model.classes == 10 and model.labels[0] == "airplane"
    assert client.model(MODEL, model.version) == model
    assert model.proto.provenance.data != ""


def test_watch_yields_changes_of_models(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    shutil.copytree(ROOT / "models/bundled/kv-pos-mnist", models / "kv-pos-mnist")
    server = Server(tmp_path, models, options=["--poll-interval", "50ms"])
    with vitrine.Client(server.address) as client:
        events = client.watch("kv-pos-mnist")
        assert next(events).model.version == 1
        shutil.copytree(ROOT / "models/bundled/kv-pos-mnist/1", tmp_path / "2")
        manifest = tmp_path / "2/manifest.textproto"
        manifest.write_text(manifest.read_text().replace("version: 1", "version: 2"))
        (tmp_path / "2").rename(models / "kv-pos-mnist/2")
        seen = []
        for event in events:
            seen.append((event.model.version, event.model.state))
            if seen[-1] == (2, "ready"):
                break
        assert (2, "loading") in seen
        events.close()
    server.stop()
