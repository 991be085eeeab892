# SPDX-License-Identifier: Apache-2.0
import io
import json
import subprocess
import warnings
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
from conftest import MODEL, Server, program
from PIL import Image, features

import vitrine
from vitrine._picture import MAX_BYTES, Picture, load
from vitrine.v1 import classifier_pb2 as pb


def encode(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def gradient(width: int, height: int) -> Image.Image:
    row = np.linspace(0, 255, width).astype(np.uint8)
    column = np.linspace(0, 255, height).astype(np.uint8)
    red = np.broadcast_to(row, (height, width))
    green = np.broadcast_to(column[:, np.newaxis], (height, width))
    return Image.fromarray(np.stack([red, green, np.full_like(red, 60)], axis=2))


def sent(picture: Picture) -> Image.Image:
    assert picture.encoded is not None
    return Image.open(io.BytesIO(picture.encoded))


@pytest.mark.parametrize(
    "kind, size, expected",
    [
        ("JPEG", (6000, 4000), (3000, 2000)),  # reduced by the decoder itself
        ("JPEG", (9000, 100), (4500, 50)),
        ("PNG", (8400, 90), (4200, 45)),
        ("PNG", (5000, 3500), (2500, 1750)),
    ],
)
def test_images_with_too_many_pixels_are_reduced(
    client: vitrine.Client, kind: str, size: Tuple[int, int], expected: Tuple[int, int]
) -> None:
    content = encode(gradient(*size), kind, **({"compress_level": 1} if kind == "PNG" else {}))
    with pytest.warns(vitrine.PictureWarning, match="%d x %d pixels, is larger.*JPEG of %d x %d" % (size + expected)):
        picture = load(content)
    assert sent(picture).size == expected
    corner = np.asarray(sent(picture))[-1, -1]
    assert abs(int(corner[0]) - 255) < 4 and abs(int(corner[1]) - 255) < 4
    if size[1] > 1000:  # for smaller sizes, no grid of the model fits the aspect ratio
        with pytest.warns(vitrine.PictureWarning):
            assert client.classify(content, MODEL).grid.image_width == expected[0]


def test_accepted_files_are_sent_unchanged(client: vitrine.Client) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        content = encode(gradient(4096, 4096), "JPEG")
        assert load(content).encoded == content
        assert client.classify(content, MODEL).grid.image_width == 4096
        assert load(b"\xff\xd8 no picture").encoded == b"\xff\xd8 no picture"
        cut = content[: len(content) // 2]
        assert load(cut).encoded == cut


def test_a_truncated_large_image_is_refused_by_the_server(client: vitrine.Client) -> None:
    content = encode(gradient(6000, 4000), "JPEG")
    with pytest.raises(vitrine.InvalidArgument):
        client.classify(content[: len(content) // 2], MODEL)


def test_images_with_too_many_bytes_are_reduced(client: vitrine.Client) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (2600, 2600, 3), dtype=np.uint8)
    content = encode(Image.fromarray(noise), "PNG", compress_level=0)
    assert len(content) > MAX_BYTES
    with pytest.warns(vitrine.PictureWarning, match="bytes, more than the server accepts"):
        assert sent(load(content)).size == (2600, 2600)
    with pytest.warns(vitrine.PictureWarning, match="sent as a JPEG"):
        assert client.classify(noise, MODEL).grid.image_width == 2600
    larger = np.random.default_rng(1).integers(0, 256, (4000, 4000, 3), dtype=np.uint8)  # also too large as a JPEG
    with pytest.warns(vitrine.PictureWarning, match="bytes, more than the server accepts"):
        assert sent(load(larger)).size == (2000, 2000)
    with pytest.warns(vitrine.PictureWarning):
        assert sent(load(gradient(5000, 5000))).size == (2500, 2500)
    with pytest.warns(vitrine.PictureWarning):
        assert sent(load(np.zeros((9000, 20), np.float32))).size == (10, 4500)


def test_pixels_above_16_mib_are_sent_losslessly(client: vitrine.Client, tmp_path: Path) -> None:
    image = gradient(2900, 2100)
    path = tmp_path / "large.png"
    image.save(path)
    assert np.asarray(image).nbytes > MAX_BYTES
    by_path, *others = [client.classify(source, MODEL, top_k=10) for source in (path, image, np.asarray(image))]
    for other in others:
        assert [one.logit for one in other.predictions] == [one.logit for one in by_path.predictions]


@pytest.mark.parametrize(
    "kind, mode", [("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "RGB"), ("PNG", "RGBA")]
)
@pytest.mark.parametrize("orientation", [1, 6])
def test_images_are_reduced_like_in_the_command_line(
    client: vitrine.Client, server: Server, tmp_path: Path, kind: str, mode: str, orientation: int
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / ("large." + kind.lower())
    image = gradient(8401, 1303)
    if mode == "RGBA":
        image.putalpha(image.getchannel("R"))
    image.convert(mode).save(path, kind, exif=exif, quality=90)
    with pytest.warns(vitrine.PictureWarning):
        here = client.classify(path, MODEL, top_k=10)
    command = [program("vitrine"), "classify", "--server", server.address, "--model", MODEL, "--top-k", "10"]
    ran = subprocess.run([*command, "--format", "json", str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    there = json.loads(ran.stdout)["predictions"]
    assert [one.logit for one in here.predictions] == [float(np.float32(one["logit"])) for one in there]


def test_exif_orientation_is_applied(client: vitrine.Client, cat: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees to the right
    with Image.open(cat) as image:
        turned = encode(image, "JPEG", exif=exif, quality=95)
    by_server = client.classify(turned, MODEL)
    by_client = client.classify(Image.open(io.BytesIO(turned)), MODEL)
    assert by_server.grid.image_width == by_client.grid.image_width == 300
    assert by_server.top1.logit == pytest.approx(by_client.top1.logit, abs=0.05)
    assert by_server.picture().size == (300, 451)
    with pytest.warns(vitrine.PictureWarning):
        assert sent(load(encode(gradient(6000, 4000), "JPEG", exif=exif))).size == (2000, 3000)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P", "L", "1", "I;16"])
def test_exif_orientation_is_applied_to_reduced_images(kind: str, mode: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees to the right
    pixels = np.full((40, 8400), 255, np.uint8)
    pixels[:, :4200] = 0  # the dark left half becomes the top
    if mode == "I;16":
        image = Image.fromarray(pixels.astype(np.uint16) * 257)
    else:
        image = Image.fromarray(pixels).convert(mode)
    with pytest.warns(vitrine.PictureWarning, match="pixels, is larger.*JPEG of 20 x 4200"):
        picture = load(encode(image, kind, exif=exif))
    shown = sent(picture)
    assert shown.size == (20, 4200)
    grey = np.asarray(shown.convert("L"))
    assert grey[:2000].max() < 8 and grey[-2000:].min() > 247


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_of_reduced_images_is_correct(orientation: int) -> None:
    """A reduced image has the same corners as a small image with the same orientation, which is not reduced."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    corners = np.array([[0, 80], [160, 255]], np.uint8)
    small = load(Image.open(io.BytesIO(encode(Image.fromarray(corners).convert("RGBA"), "PNG", exif=exif)))).pixels
    large = Image.fromarray(corners.repeat(40, 0).repeat(4200, 1)).convert("RGBA")
    with pytest.warns(vitrine.PictureWarning):
        shown = np.asarray(sent(load(encode(large, "PNG", exif=exif))).convert("L")).astype(int)
    assert small is not None
    np.testing.assert_allclose(shown[[0, 0, -1, -1], [0, -1, 0, -1]], small[:, :, 0].ravel(), atol=6)


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF"])
def test_other_formats_are_sent_as_pixels(client: vitrine.Client, cat: Path, kind: str) -> None:
    with Image.open(cat) as image:
        shown = image.convert("P") if kind == "GIF" else image
        content = encode(shown, kind)
        np.testing.assert_array_equal(load(content).pixels, np.asarray(shown.convert("RGB")))
    assert client.classify(content, MODEL).grid.image_width == 451


def test_a_damaged_file_of_another_format_is_refused(client: vitrine.Client) -> None:
    dds = bytearray(encode(gradient(8, 8), "DDS"))
    dds[80:84] = bytes(4)  # flags of the pixel format
    damaged = [bytes(dds)]
    if "avif" in features.get_supported_modules():
        avif = encode(gradient(64, 64), "AVIF")
        damaged += [avif[: len(avif) // 2], avif[:-9]]
    for file in damaged:
        with pytest.raises(vitrine.InvalidArgument):
            client.classify(file, MODEL)


@pytest.mark.parametrize("options", [{"quality": 70}, {"lossless": True}])
def test_webp_is_sent_unchanged_and_decoded_like_pillow(
    client: vitrine.Client, cat: Path, options: Dict[str, Any]
) -> None:
    with Image.open(cat) as image:
        content = encode(image, "WEBP", **options)
    assert load(content).encoded == content
    decoded = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    by_file, by_pixels = (client.classify(picture, MODEL, top_k=10) for picture in (content, decoded))
    assert [p.logit for p in by_file.predictions] == [p.logit for p in by_pixels.predictions]


def test_animated_webp_is_sent_as_its_first_frame(client: vitrine.Client, cat: Path) -> None:
    with Image.open(cat) as image:
        content = encode(image, "WEBP", lossless=True, save_all=True, append_images=[image.rotate(90)])
        np.testing.assert_array_equal(load(content).pixels, np.asarray(image))
    assert client.classify(content, MODEL).grid.image_width == 451


def test_every_pillow_mode_has_its_channels() -> None:
    grey = Image.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16))
    for mode, channels in [("L", 1), ("1", 1), ("RGB", 3), ("CMYK", 3), ("YCbCr", 3), ("P", 3)]:
        pixels = load(grey.convert(mode)).pixels
        assert pixels is not None and pixels.shape == (16, 16, channels) and pixels.dtype == np.uint8, mode
    deep = Image.fromarray((np.arange(256) * 257).astype(np.uint16).reshape(16, 16))
    np.testing.assert_array_equal(load(deep).pixels[:, :, 0], np.asarray(grey))  # type: ignore[index]
    clear = Image.new("RGBA", (2, 2), (255, 0, 0, 0))
    np.testing.assert_array_equal(load(clear).pixels, np.full((2, 2, 3), 255))
    with pytest.raises(vitrine.InvalidArgument, match="floats"):
        load(grey.convert("F"))


def test_arrays_are_sent_unchanged() -> None:
    array = np.random.default_rng(2).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    for view in (array, array[:, ::-1], np.asfortranarray(array), array[:, :, :1], array[:, :, 0]):
        request = pb.ClassifyRequest()
        load(view).put_into(request)
        back = np.frombuffer(request.tensor.data, np.uint8).reshape(request.tensor.height, request.tensor.width, -1)
        np.testing.assert_array_equal(back, view if view.ndim == 3 else view[:, :, np.newaxis])
    request = pb.ClassifyRequest()
    load((array / 255).astype(">f4")).put_into(request)
    assert request.tensor.data_type == pb.RawTensor.DATA_FLOAT32
    np.testing.assert_allclose(np.frombuffer(request.tensor.data, "<f4"), array.ravel() / 255, atol=1e-7)


@pytest.mark.parametrize(
    "shape, line",
    [
        ((3, 224, 224), "image.transpose(1, 2, 0)"),
        ((4, 224, 224), "image[:3].transpose(1, 2, 0)"),
        ((1, 224, 224), "image[0]"),
        ((1, 224, 224, 3), "image[0]"),
        ((1, 224, 224, 1), "image[0]"),
        ((1, 3, 224, 224), "image[0].transpose(1, 2, 0)"),
        ((1, 1, 224, 224), "image[0][0]"),
        ((224, 224, 4), "image[:, :, :3]"),
        ((1, 224, 224, 4), "image[0][:, :, :3]"),
        ((224, 224, 2), "image[:, :, 0]"),
    ],
)
def test_another_layout_is_refused_with_the_remedy(shape: Tuple[int, ...], line: str) -> None:
    image = np.zeros(shape, np.uint8)
    with pytest.raises(vitrine.InvalidArgument) as refused:
        load(image)
    written = str(refused.value).partition("; write ")[2].partition(", or")[0]
    assert written.startswith(line), refused.value
    assert load(eval(line)).pixels is not None


def test_batches_and_non_image_arrays_are_refused() -> None:
    with pytest.raises(vitrine.InvalidArgument, match=r"classify_many\(images\)"):
        load(np.zeros((2, 8, 8, 3), np.uint8))
    for shape in ((9,), (0, 8, 3), (7, 8, 9)):
        with pytest.raises(vitrine.InvalidArgument, match=r"\(RGB\), or x 1, or height x width$"):
            load(np.zeros(shape, np.uint8))


def test_doubtful_scales_of_values_give_a_warning() -> None:
    array = np.random.default_rng(3).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    ones = (array > 127).astype(np.uint8)
    doubtful: List[Any] = [array / 255 / 255, ones, array.astype(np.uint16), Image.fromarray(array[:, :, 0]).convert("I")]
    for source in doubtful:
        with pytest.warns(vitrine.PictureWarning, match="black"):
            load(source)
    for source in (array / 255, np.zeros((4, 4)), np.zeros((4, 4), np.uint8), np.zeros((4, 4), np.uint16), ones == 1):
        load(source)


def test_16_bit_and_boolean_arrays_are_read_like_pngs() -> None:
    deep = np.random.default_rng(4).integers(256, 65536, (5, 7), dtype=np.uint16)
    np.testing.assert_array_equal(load(deep).pixels[:, :, 0], deep >> 8)  # type: ignore[index]
    np.testing.assert_array_equal(load(Image.fromarray(deep)).pixels[:, :, 0], deep >> 8)  # type: ignore[index]
    truth = Image.fromarray((deep > 32768).astype(np.uint8) * 255).convert("1")
    np.testing.assert_array_equal(load(np.asarray(truth)).pixels, load(truth).pixels)


def test_a_float_image_is_read_like_its_array() -> None:
    shares = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(load(Image.fromarray(shares)).pixels, load(shares).pixels)
    with pytest.raises(vitrine.InvalidArgument, match="write image / 255"):
        load(Image.fromarray(shares * 255))


@pytest.mark.parametrize("mode", ["LA", "La", "RGBA", "RGBa", "PA", "P"])
def test_alpha_is_composited_over_white_in_every_mode(mode: str) -> None:
    clear = Image.new("RGBA", (3, 2), (200, 100, 50, 0))
    for step in {"La": ["LA", "La"], "PA": ["P", "PA"]}.get(mode, [mode]):
        clear = clear.convert(step)
    if mode == "PA":
        clear.putalpha(0)
    pixels = load(clear).pixels
    assert pixels is not None and pixels.min() == 255
    assert pixels.shape[2] == (1 if mode in ("LA", "La") else 3)


def test_pillow_gives_no_warning_for_reduced_images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20_000_000)
    path = tmp_path / "large.jpg"
    gradient(6000, 4000).save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", vitrine.PictureWarning)
        load(path)
        assert Picture("large", path=str(path)).open().size[0] <= 2048
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000_000)
    with pytest.raises(vitrine.InvalidArgument, match="more pixels than Pillow opens; scale it down"):
        load(path)


@pytest.mark.parametrize("block", [b"hello, no TIFF", b"II*\0", b"MM\0\x37\0\0\0\x08"])
def test_damaged_exif_is_ignored(client: vitrine.Client, block: bytes) -> None:
    content = encode(gradient(40, 30), "PNG", exif=b"Exif\0\0" + block)
    np.testing.assert_array_equal(load(Image.open(io.BytesIO(content))).pixels, np.asarray(gradient(40, 30)))
    assert client.classify(content, MODEL).grid.image_width == 40


def test_the_callers_array_can_change_afterwards(client: vitrine.Client) -> None:
    array = np.zeros((32, 32, 3), np.uint8)
    result = client.classify(array, MODEL)
    array[:] = 255
    assert np.asarray(result.picture()).max() == 0


def test_the_callers_image_does_not_change(large: bytes) -> None:
    image = Image.open(io.BytesIO(large))
    with pytest.warns(vitrine.PictureWarning):
        assert max(sent(load(image)).size) <= 8192
    assert image.size == (6000, 3000) and np.asarray(image).shape == (3000, 6000, 3)


def test_a_result_keeps_no_copy_of_a_file(client: vitrine.Client, cat: Path, tmp_path: Path) -> None:
    copy = tmp_path / "cat.jpg"
    copy.write_bytes(cat.read_bytes())
    result = client.classify(copy, MODEL, attention="mean")
    assert result._picture.encoded is None and result.picture().size == (451, 300)
    copy.unlink()
    assert "cannot be shown" in result._repr_html_()
    assert result.attention[0]._repr_png_() is None
