# SPDX-License-Identifier: Apache-2.0
"""Arguments that look like several images, and arrays whose numbers are not pixels."""

import asyncio
import io
import os
import warnings
from pathlib import Path
from typing import Any, List

import numpy as np
import pytest
from conftest import MODEL, ROOT
from PIL import Image
from scripted import Script, serve

import vitrine
import vitrine.aio
from vitrine._names import escaped, unescaped
from vitrine._picture import load
from vitrine._sources import pictures

ONE: List[Any] = [
    "samples/cat.jpg",
    Path("samples/cat.jpg"),
    b"bytes",
    bytearray(b"bytes"),
    io.BytesIO(b"a file"),
    Image.new("L", (2, 2)),
    np.zeros((4, 4), np.uint8),
    np.zeros((4, 5, 3), np.uint8),
    np.zeros((4, 5, 1), np.uint8),
]


@pytest.mark.parametrize("one", ONE, ids=lambda one: type(one).__name__)
def test_a_single_image_is_refused_as_a_list(one: Any) -> None:
    with vitrine.Client("127.0.0.1:1") as client:
        with pytest.raises(TypeError, match=r"^images is .*write \[image\] for a list of one, or classify\(image\)"):
            client.classify_many(one, MODEL)
        with pytest.raises(TypeError, match=r"write \[image\]"):
            client.embed_many(one, MODEL, feature="mean")


def test_an_array_of_paths_is_a_list() -> None:
    for paths in (np.array(["a.jpg", "b.jpg"]), np.array([Path("a.jpg"), "b.jpg"], dtype=object)):
        with serve(Script()) as address, vitrine.Client(address) as client:
            assert [result.source for result in client.classify_many(paths, "m")] == ["a.jpg", "b.jpg"]


def test_a_non_iterable_is_refused() -> None:
    with vitrine.Client("127.0.0.1:1") as client, pytest.raises(TypeError, match="images is int; give an iterable"):
        client.classify_many(5, MODEL)  # type: ignore[arg-type]


def test_a_folder_is_expanded_to_its_images(tmp_path: Path) -> None:
    for name in ("b.png", "A.JPG", "c.jpeg", "e.jfif", "._b.png", ".f.png", "Thumbs.db"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "inside/empty").mkdir(parents=True)
    (tmp_path / "System Volume Information").mkdir()
    (tmp_path / "inside/e.png").write_bytes(b"e")
    (tmp_path / "g.png").symlink_to("/nowhere/g.png")
    (tmp_path / "notes.TXT").write_bytes(b"notes")
    with serve(Script()) as address, vitrine.Client(address) as client:
        for folder in (tmp_path, str(tmp_path)):
            with pytest.warns(vitrine.PictureWarning, match=r"skipped in .*: 1 \.txt, 1 folders") as warned:
                results = list(client.classify_many(folder, "m"))
            assert [warning.filename for warning in warned] == [__file__]
            assert [Path(r.source).name for r in results] == ["A.JPG", "b.png", "c.jpeg", "e.jfif", "g.png"]
            assert [r.ok for r in results] == [True] * 4 + [False], "a link that leads nowhere is not left out"
    with pytest.raises(FileNotFoundError, match="has no picture"):
        pictures(tmp_path / "inside/empty")

    async def use(address: str) -> None:
        async with vitrine.aio.Client(address) as other:
            with pytest.warns(vitrine.PictureWarning, match="skipped in") as warned:
                assert len([result async for result in other.classify_many(tmp_path, "m")]) == 5
            assert [warning.filename for warning in warned] == [__file__]

    with serve(Script()) as address:
        asyncio.run(use(address))


def test_invalid_utf8_names_can_be_recovered(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \\.png")
    (tmp_path / name).write_bytes(b"a picture")
    written = escaped(str(tmp_path / name))
    assert written == str(tmp_path) + r"/caf\xe9 \x5c.png"
    assert load(written).encoded == b"a picture"
    assert unescaped(written) == str(tmp_path / name)
    assert escaped("caf\u00e9.png") == "caf\u00e9.png"
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / r"other\xe9.png"))


def test_a_folder_of_samples_is_classified(client: vitrine.Client) -> None:
    labels = [r.top1.label for r in client.classify_many(ROOT / "samples/digits", "kv-pos-mnist") if r.ok]
    assert labels == sorted(labels) and len(labels) == 10


def test_a_stack_of_arrays_is_a_list(client: vitrine.Client) -> None:
    with Image.open(ROOT / "samples/digits/digit-3.png") as image:
        grey = np.asarray(image.convert("L"))
    for stack in (np.stack([grey] * 5), np.stack([grey[:, :, np.newaxis]] * 5)):
        assert [r.top1.label for r in client.classify_many(stack, "kv-pos-mnist") if r.ok] == ["3"] * 5


def test_floats_of_another_range_are_refused() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (6, 7, 3)).astype(np.float64)
    with pytest.raises(vitrine.InvalidArgument, match=r'from 0 to 2\d\d, .* image / 255 or image.ast'):
        load(pixels)
    with pytest.raises(vitrine.InvalidArgument, match=r"write image.clip\(0, 255\) / 255"):
        load(pixels - 20)
    with pytest.raises(vitrine.InvalidArgument, match=r"from -1 to 1, .*image.clip\(0, 1\)"):
        load(np.array([[-1.0, 1.0]]))
    with pytest.raises(vitrine.InvalidArgument, match=r"image.clip\(0, 1\)"):
        load(np.array([[0.0, 1.001]], np.float32))
    for low, high, words in ((0.02439, 1.0001, "0.02439 to 1.0001"), (-1e-9, 0.99999, "-1e-09 to 0.99999")):
        with pytest.raises(vitrine.InvalidArgument, match="floats from %s, must be 0 to 1" % words):
            load(np.array([[low, high]]))
    with pytest.raises(vitrine.InvalidArgument, match=r'type int64.*image.astype\("uint8"\)'):
        load(np.zeros((4, 4), np.int64))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("side", [4, 2400])
def test_nan_and_infinity_are_refused(wrong: float, side: int) -> None:
    """Also tests a large array, which would be sent as JPEG."""
    pixels = np.zeros((side, side, 3))
    pixels[1, 1, 1] = wrong
    with warnings.catch_warnings(), pytest.raises(vitrine.InvalidArgument, match="NaN or infinite"):
        warnings.simplefilter("error")
        load(pixels)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4"])
def test_floats_from_0_to_1_are_accepted(kind: str) -> None:
    values = np.linspace(0, 1, 48).reshape(4, 4, 3).astype(kind)
    loaded = load(values).pixels
    assert loaded is not None and loaded.dtype == np.float32
    np.testing.assert_allclose(loaded, values.astype("f4"))


def test_a_refused_array_keeps_its_position() -> None:
    with serve(Script()) as address, vitrine.Client(address) as client:
        first, second = client.classify_many([np.full((4, 4, 3), 200.0), b"fine"], "m")
    assert isinstance(first, vitrine.Refused) and "image / 255" in str(first.error) and second.ok


def test_integers_of_either_byte_order_are_accepted() -> None:
    values = np.random.default_rng(5).integers(256, 65536, (4, 5, 3), dtype=np.uint16)
    for kind in ("<u2", ">u2"):
        np.testing.assert_array_equal(load(values.astype(kind)).pixels, values >> 8)


class Pipe(io.BytesIO):
    """A stream that cannot seek, like a socket."""

    def seek(self, *place: int) -> int:
        raise io.UnsupportedOperation("seek")


def test_a_file_object_is_read_from_its_start() -> None:
    """Pillow's `save` leaves a file object's position at the end. The test reads the object twice, as a user may."""
    file = io.BytesIO()
    Image.new("RGB", (3, 2)).save(file, "PNG")
    assert load(file).encoded == load(file).encoded == file.getvalue()
    file.seek(8)
    assert load(file).encoded == file.getvalue()
    pipe = Pipe(b"to skip, an image")
    pipe.read(9)
    assert load(pipe).encoded == b"an image"


def test_file_objects_must_return_bytes() -> None:
    with pytest.raises(TypeError, match="opened as text; open it with mode 'rb'"):
        load(io.StringIO("text"))  # type: ignore[arg-type]

    class Odd:
        def read(self) -> bytearray:
            return bytearray(b"an image")

    with pytest.raises(TypeError, match="returned bytearray, must be bytes"):
        load(Odd())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.png",
        Path("https://example.org/a.png"),
        "file:///tmp/a.png",
        "s3://bucket/a.png",
        "data:image/png;base64," + "A" * 5000,
    ],
)
def test_a_url_is_refused_with_the_remedy(url: Any) -> None:
    with pytest.raises(vitrine.InvalidArgument, match=r"is a URL, .*urllib.request.urlopen\(URL\).read\(\)") as refused:
        load(url)
    assert len(str(refused.value)) < 250


def test_base64_is_refused_with_the_remedy() -> None:
    with pytest.raises(vitrine.InvalidArgument, match=r"give base64.b64decode\(text\)") as refused:
        load("/9j/4AAQ" + "A" * 50_000)
    assert len(str(refused.value)) < 250


def test_a_home_folder_is_not_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """open, pathlib and Pillow do not expand `~` either. The error message tells the user to expand it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.png").write_bytes(b"an image")
    for path in ("~/a.png", Path("~/a.png")):
        with pytest.raises(FileNotFoundError, match=r"~ is not expanded, write os.path.expanduser\('~/a.png'\)"):
            load(path)
    assert load(os.path.expanduser("~/a.png")).encoded == b"an image"
    with pytest.raises(TypeError, match=r"os.path.expanduser\('~'\)"):
        pictures("~")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~").mkdir()
    (tmp_path / "~/a.png").write_bytes(b"another")
    assert load("~/a.png").encoded == b"another"
    with pytest.raises(FileNotFoundError) as plain:
        load("~a.png")
    assert "expanded" not in str(plain.value)
