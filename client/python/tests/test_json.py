# SPDX-License-Identifier: Apache-2.0
"""The JSON of an answer is equal over HTTP, from `vitrine` and from Python, and fits the schema."""

import copy
import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
from conftest import MODEL, ROOT, Server, program

import vitrine

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads((ROOT / "proto/vitrine/v1/answer.schema.json").read_text())
ATTENTION = [
    vitrine.Attention("class", layers=[0, -1], exact=True),
    vitrine.Attention("weights", heads=[1], exact=True),
    vitrine.Attention("distance", exact=True),
]
MAPS = "&attention=class:0,-1&attention=weights::1&attention=distance&attention_encoding=float"
MEASURED = ("request_id", "timings_ms", "batch")  # these members differ between two requests


def closed(schema: Any) -> Any:
    """Returns the schema, changed so that objects may only have the members that it lists."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {name: closed(value) for name, value in schema.items()}
    return {**shut, "additionalProperties": False} if "properties" in schema else shut


CHECK = jsonschema.Draft202012Validator(closed(SCHEMA))


def checked(answer: Any) -> Dict[str, Any]:
    CHECK.validate(answer)
    assert isinstance(answer, dict)
    return answer


def by_http(server: Server, content: bytes, query: str) -> Dict[str, Any]:
    url = "http://%s/v1/models/%s:classify?%s" % (server.address, MODEL, query)
    try:
        with urllib.request.urlopen(urllib.request.Request(url, content)) as answer:
            return checked(json.load(answer))
    except urllib.error.HTTPError as refused:
        return checked(json.load(refused))


def by_program(server: Server, command: str, *arguments: str) -> List[Dict[str, Any]]:
    line = [program("vitrine"), command, "--server", server.address, "--model", MODEL, "--format", "json", *arguments]
    ran = subprocess.run(line, stdout=subprocess.PIPE, text=True)
    return [checked(json.loads(answer)) for answer in ran.stdout.splitlines()]


def common(answer: Dict[str, Any], *without: str) -> Dict[str, Any]:
    """Returns the answer without measured members, which differ between two requests for one image, and without the
    members `without`."""
    kept = copy.deepcopy(answer)
    for name in (*MEASURED, *without):
        kept.pop(name, None)
    return kept


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_all_interfaces_give_equal_json(client: vitrine.Client, server: Server, cat: Path, tmp_path: Path) -> None:
    http = by_http(server, cat.read_bytes(), "top_k=3&features=class,patches" + MAPS)
    python = client.classify(cat, MODEL, top_k=3, attention=ATTENTION, features=["class", "patches"]).to_dict()
    assert checked(json.loads(json.dumps(python))) == python
    assert common(python, "image") == common(http) and python["image"] == str(cat)
    assert [name for name in python if name != "image"] == list(http), "the order is the same as well"
    values = np.float32(http["attention"][0]["values"])
    assert values.shape == (http["attention"][0]["rows"], http["attention"][0]["columns"])
    assert len(http["features"][1]["values"]) == 9 * 14 * 250
    for answer in (http, python):
        assert set(answer["timings_ms"]) == {"queue", "decode", "compute", "encode", "total"}
        assert 0 < answer["timings_ms"]["compute"] <= answer["timings_ms"]["total"] < 60_000
        assert answer["request_id"] == ""

    draw = ["--out", str(tmp_path), "--attention", "distance,class", "--top-k", "3"]
    (line,) = by_program(server, "classify", *draw, str(cat))
    http = by_http(server, cat.read_bytes(), "top_k=3&attention=distance&attention=class&attention_encoding=float")
    files = [shown.pop("file") for shown in line["attention"]]
    assert all(Path(file).parent == tmp_path and Path(file).exists() for file in files)
    del http["attention"][1]["values"]  # `vitrine` draws these values into a file instead
    assert common(line, "image") == common(http) and line["image"] == str(cat) and line["request_id"] == ""


def test_embed_program_equals_python(client: vitrine.Client, server: Server, cat: Path, tmp_path: Path) -> None:
    python = client.classify(cat, MODEL, top_k=0, features="mean", normalize=True).to_dict()
    command = ("embed", "--feature", "mean", "--normalize", str(cat))
    (line,) = by_program(server, *command)
    assert common(line) == common(python)
    file = str(tmp_path / "x.npy")
    (line,) = by_program(server, *command, "--out", file)
    (feature,) = line["features"]
    assert (feature.pop("file"), feature.pop("row")) == (file, 0)
    del python["features"][0]["values"]
    assert common(line) == common(python)


def test_errors_have_equal_json(client: vitrine.Client, server: Server, cat: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(cat.read_bytes()[:100])
    http = by_http(server, broken.read_bytes(), "")
    lines = by_program(server, "classify", str(broken), str(cat), str(tmp_path / "none.png"))
    python = [result.to_dict() for result in client.classify_many([broken, cat, tmp_path / "none.png"], MODEL)]
    for answers in (lines, python):
        assert [list(checked(answer)) for answer in (answers[0], answers[2])] == [["image", "error", "code"]] * 2
        assert answers[0] == {"image": str(broken), **http}
        assert checked(answers[1])["request_id"] == ""
    assert common(lines[1]) == common(python[1])
    assert (lines[2]["code"], python[2]["code"]) == ("NOT_FOUND", "UNREADABLE")


def test_http_returns_attention_as_png(server: Server, cat: Path) -> None:
    (shown,) = by_http(server, cat.read_bytes(), "attention=class")["attention"]
    assert shown["png"].startswith("iVBORw0KGgo")
