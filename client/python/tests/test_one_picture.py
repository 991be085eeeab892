# SPDX-License-Identifier: Apache-2.0
"""Every kind of image file, passed in every form, gives the same pixels as Pillow."""

import base64
import io
import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import generated
import numpy as np
import PIL
import pytest
from conftest import MODEL, ROOT, Server, program
from generated import File
from PIL import Image

import vitrine
from vitrine._picture import load

if int(PIL.__version__.partition(".")[0]) < 12:
    pytest.skip("an older Pillow reads the orientation in fewer places", allow_module_level=True)
FILES = generated.files()
Logits = List[float]


def logits(result: vitrine.Result) -> Logits:
    return [prediction.logit for prediction in sorted(result.predictions, key=lambda one: one.index)]


def posted(address: str, body: bytes, kind: str) -> Any:
    request = urllib.request.Request("http://" + address, body, {"Content-Type": kind})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def by_http(server: Server, content: bytes) -> Logits:
    url = "%s/v1/models/%s:classify?top_k=10" % (server.address, MODEL)
    predictions = posted(url, content, "application/octet-stream")["predictions"]
    return [float(np.float32(one["logit"])) for one in sorted(predictions, key=lambda one: one["index"])]


def by_oip(server: Server, content: bytes) -> Logits:
    text = base64.b64encode(content).decode()
    image: Dict[str, Any] = {"name": "image", "datatype": "BYTES", "shape": [1], "data": [text]}
    image["parameters"] = {"content_type": "base64"}
    body = json.dumps({"inputs": [image], "outputs": [{"name": "logits"}]}).encode()
    answer = posted("%s/v2/models/%s/infer" % (server.address, MODEL), body, "application/json")
    return [float(np.float32(value)) for value in answer["outputs"][0]["data"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files as a data set of one class."""
    place = tmp_path_factory.mktemp("generated")
    for split in ("train", "test"):
        (place / split / "all").mkdir(parents=True)
    for file in FILES:
        (place / "train/all" / file.name).write_bytes(file.content)
    (place / "test/all/one.png").write_bytes(FILES[0].content)
    return place


def read_for_training(folder: Path) -> Iterator[Tuple[str, Any]]:
    """Yields for each file its name, and its pixels or the error message."""
    tool = program("../tests/dump_images")
    out = subprocess.run([tool, "imagefolder:%s" % folder], capture_output=True, check=True).stdout
    stream = io.BytesIO(out)
    for line in stream:
        name, *rest = line.decode().rstrip("\n").split("\t")
        if len(rest) != 3:
            yield Path(name).name, rest[0]
            continue
        height, width, channels = map(int, rest)
        pixels = np.frombuffer(stream.read(height * width * channels), np.uint8)
        yield Path(name).name, pixels.reshape((height, width) if channels == 1 else (height, width, channels))


def test_there_are_hundreds_of_image_files() -> None:
    assert len(FILES) > 250 and len({file.name for file in FILES}) == len(FILES)


def test_training_reads_the_expected_pixels(folder: Path) -> None:
    read = dict(read_for_training(folder))
    wrong = []
    for file in FILES:
        pixels = read[file.name]
        if isinstance(pixels, str) or not np.array_equal(pixels, file.pixels):
            wrong.append((file.name, pixels if isinstance(pixels, str) else pixels.shape))
    assert not wrong, "%d of %d: %s" % (len(wrong), len(FILES), wrong)


def test_a_pillow_image_has_the_expected_pixels() -> None:
    for file in FILES:
        pixels = load(Image.open(io.BytesIO(file.content))).pixels
        assert pixels is not None
        np.testing.assert_array_equal(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels, file.pixels, file.name)


def test_every_interface_gives_the_same_answer(client: vitrine.Client, server: Server, folder: Path) -> None:
    wrong = []
    for file in FILES:
        expected = logits(client.classify(file.pixels, MODEL, top_k=10))
        path = folder / "train/all" / file.name
        ways: Dict[str, Logits] = {
            "/v1": by_http(server, file.content),
            "/v2": by_oip(server, file.content),
            "path": logits(client.classify(path, MODEL, top_k=10)),
            "bytes": logits(client.classify(file.content, MODEL, top_k=10)),
            "PIL": logits(client.classify(Image.open(path), MODEL, top_k=10)),
        }
        wrong += [(file.name, way) for way, answer in ways.items() if answer != expected]
    assert not wrong, "%d: %s" % (len(wrong), wrong)


def test_the_command_line_gives_the_same_answer(client: vitrine.Client, server: Server, folder: Path) -> None:
    command = [program("vitrine"), "classify", "--server", server.address, "--model", MODEL, "--top-k", "10"]
    command += ["--format", "json", str(folder / "train/all")]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    assert len(lines) == len(FILES)
    answers = {Path(one["image"]).name: one["predictions"] for one in map(json.loads, lines)}
    for file in FILES:
        expected = logits(client.classify(file.pixels, MODEL, top_k=10))
        got = [float(np.float32(one["logit"])) for one in sorted(answers[file.name], key=lambda one: one["index"])]
        assert got == expected, file.name


@pytest.mark.parametrize("kind, name", [("GIF", "a GIF"), ("BMP", "a BMP"), ("TIFF", "a TIFF"), ("PPM", "a PPM")])
def test_other_formats_are_named_for_any_file_name(
    client: vitrine.Client, server: Server, tmp_path: Path, kind: str, name: str
) -> None:
    path = tmp_path / "picture.jpg"
    image = generated.smooth(np.random.default_rng(1), (32, 32), "RGB")
    image.save(path, kind)
    with pytest.raises(urllib.error.HTTPError) as refused:
        by_http(server, path.read_bytes())
    assert "the body is %s" % name in json.load(refused.value)["error"]
    ran = subprocess.run(
        [program("vitrine"), "classify", "--server", server.address, "--model", MODEL, str(path)],
        capture_output=True,
        text=True,
    )
    assert ran.returncode != 0 and "the image is %s" % name in ran.stderr and "regardless of its name" in ran.stderr
    assert client.classify(path, MODEL).top1 == client.classify(np.asarray(Image.open(path).convert("RGB")), MODEL).top1


DRAW = """async urls => {
  const shown = [];
  for (const url of urls) {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    const context = canvas.getContext("2d", {willReadFrequently: true});
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0);
    const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
    shown.push([canvas.height, canvas.width, btoa(String.fromCharCode(...data))]);
  }
  return shown;
}"""


def test_chromium_shows_the_expected_pixels() -> None:
    """docs/reference/errors.md lists the intended differences from Chromium."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not Path("/usr/bin/chromium").exists():
        pytest.skip("there is no /usr/bin/chromium")
    compared = [file for file in FILES if file.browser >= 0]
    urls = ["data:;base64," + base64.b64encode(file.content).decode() for file in compared]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        drawn = browser.new_page().evaluate(DRAW, urls)
        browser.close()
    wrong = []
    for file, (height, width, data) in zip(compared, drawn):
        seen = np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[:, :, :3].astype(int)
        expected = file.pixels[:, :, np.newaxis] if file.pixels.ndim == 2 else file.pixels
        if seen.shape[:2] != expected.shape[:2]:
            wrong.append((file.name, "shape"))
        elif np.abs(seen - expected).max() > file.browser:
            wrong.append((file.name, str(np.abs(seen - expected).max())))
    assert not wrong, "%d of %d: %s" % (len(wrong), len(compared), wrong)
