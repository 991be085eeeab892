# SPDX-License-Identifier: Apache-2.0
"""Transparency of Pillow's images. Pillow keeps a file's transparent colour through conversions. Afterwards, opaque
pixels may have that colour too."""

import copy
import io
import pickle
import warnings
from typing import Any, Callable, Dict, List

import numpy as np
import numpy.typing as npt
import pytest
from generated import chunk, png
from PIL import Image, ImageOps

from vitrine._picture import load

BLACK = 7  # a palette's entry that is black and opaque; the transparent entry is black as well


def photograph() -> Image.Image:
    """Returns random pixels with the values 0, 85, 170 and 255. They include the transparent colours of the files
    below, so that a wrong use of these colours is detected."""
    values = np.random.default_rng(1).integers(0, 4, (24, 32, 3), dtype=np.uint8) * 85
    return Image.fromarray(values)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def with_two_blacks() -> Image.Image:
    indices = np.random.default_rng(2).integers(0, 8, (24, 32), dtype=np.uint8)
    image = Image.fromarray(indices).convert("P")
    image.putdata(indices.ravel().tolist())
    colours = np.arange(24, dtype=np.uint8).reshape(8, 3) * 10 + 20
    colours[[0, BLACK]] = 0
    image.putpalette(colours.ravel().tolist())
    return image


def deep_grey() -> bytes:
    samples = np.random.default_rng(3).integers(0, 4, (24, 32, 1), dtype=np.uint16) * 21845
    return png(samples, 16, 0, False, chunk(b"tRNS", b"\0\0"), b"")


GREY = photograph().convert("L")
FILES: Dict[str, bytes] = {
    "GIF": saved(with_two_blacks(), "GIF", transparency=0, optimize=False),
    "GIF-grey": saved(GREY, "GIF", transparency=0),
    "PNG-palette-entry": saved(with_two_blacks(), "PNG", transparency=0),
    "PNG-palette-alphas": saved(with_two_blacks(), "PNG", transparency=bytes([0, 128, 255, 7])),
    "PNG-colour": saved(photograph(), "PNG", transparency=(0, 0, 0)),
    "PNG-grey": saved(GREY, "PNG", transparency=int(np.asarray(GREY)[0, 0])),
    "PNG-bit": saved(GREY.convert("1"), "PNG", transparency=0),
    "PNG-bit-white": saved(GREY.convert("1"), "PNG", transparency=255),
    "PNG-deep": deep_grey(),
}
CHANGES: Dict[str, Callable[[Image.Image], Image.Image]] = {
    "copy": lambda image: image.copy(),
    "crop": lambda image: image.crop((1, 2, 20, 21)),
    "resize": lambda image: image.resize((16, 12)),
    "turn": lambda image: image.transpose(Image.Transpose.ROTATE_90),
    "upright": lambda image: ImageOps.exif_transpose(image) or image,
}
COLOUR_SPACES = ["RGB", "L", "1", "I", "CMYK", "YCbCr", "HSV", "LAB"]


def sent(image: Any) -> npt.NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning about values that look black
        pixels = load(image).pixels
    assert pixels is not None
    return pixels


def over_white(image: Image.Image) -> npt.NDArray[Any]:
    layer = image.convert("RGBA")
    return np.asarray(Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB"))


def own_pixels(image: Image.Image) -> npt.NDArray[Any]:
    """Returns the expected pixels: the array of the image. RGBA and palette images are drawn over white, and images of
    rare modes become RGB."""
    if image.mode in ("1", "L", "RGB", "I;16", "I"):
        return sent(np.asarray(image).astype(np.uint16) if image.mode == "I" else np.asarray(image))
    return over_white(image) if image.mode in ("P", "RGBA") else np.asarray(image.convert("RGB"))


@pytest.mark.parametrize("name", FILES)
def test_a_converted_image_is_sent_as_its_pixels(name: str) -> None:
    wrong: List[str] = []
    for mode in COLOUR_SPACES:
        image = Image.open(io.BytesIO(FILES[name]))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow warns about lost alphas
                image = image.convert(mode) if mode not in ("HSV", "LAB") else image.convert("RGB").convert(mode)
        except ValueError:  # Pillow does not convert every mode to every other
            continue
        for change in ("as it is", *CHANGES):
            seen = CHANGES.get(change, lambda same: same)(image)
            if not np.array_equal(sent(seen), own_pixels(seen)):
                wrong.append("%s, %s" % (mode, change))
    assert not wrong


@pytest.mark.parametrize("name", FILES)
def test_an_opened_image_has_the_transparency_of_its_file(name: str) -> None:
    """Transparent pixels are white, also after the image was loaded. A changed copy has the pixels of `own_pixels`."""
    image = Image.open(io.BytesIO(FILES[name]))
    before = sent(image)
    assert (before == 255).all(axis=2).any()
    image.load()
    for same in (image, pickle.loads(pickle.dumps(image))):
        np.testing.assert_array_equal(sent(same), before)
    for change, made in CHANGES.items():
        changed = made(image)
        np.testing.assert_array_equal(sent(changed), own_pixels(changed), change)


def test_opaque_black_stays_black_beside_transparent_black() -> None:
    for name in ("GIF", "PNG-palette-entry"):
        image = Image.open(io.BytesIO(FILES[name]))
        indices, pixels = np.asarray(image), sent(image)
        assert (pixels[indices == 0] == 255).all() and (pixels[indices == BLACK] == 0).all()
        assert (sent(image.convert("RGB"))[indices == BLACK] == 0).all()


def test_a_palette_from_converted_pixels_is_opaque() -> None:
    """Pillow leaves the transparent colour in `info`, and its own conversions then reject the image."""
    image = Image.open(io.BytesIO(FILES["GIF"])).convert("RGB").quantize(16)
    assert isinstance(image.info.get("transparency"), tuple)
    plain = copy.copy(image)
    del plain.info["transparency"]
    np.testing.assert_array_equal(sent(image), np.asarray(plain.convert("RGB")))


def test_the_a_channel_of_lab_is_not_alpha() -> None:
    lab = photograph().convert("LAB")
    np.testing.assert_array_equal(sent(lab), np.asarray(lab.convert("RGB")))
    np.testing.assert_array_equal(sent(saved(lab, "TIFF")), np.asarray(lab.convert("RGB")))
