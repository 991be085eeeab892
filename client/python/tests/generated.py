# SPDX-License-Identifier: Apache-2.0
"""Image files of every kind that the server accepts, with the expected pixels of each."""

import io
import struct
import zlib
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

Pixels = npt.NDArray[np.uint8]
Sizes = Tuple[Tuple[int, int], ...]
SIZES: Sizes = ((32, 32), (37, 29))  # width, height: the model's size, and a size that is resized
EVEN: Sizes = SIZES[:1]

XMP = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>'
ADAM7 = ((0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1))


@dataclass(frozen=True)
class File:
    name: str
    content: bytes
    pixels: Pixels  # [height, width] for grey images, else [height, width, 3]; transparency over white
    browser: int = 0  # allowed difference from Chromium's pixels; -1: Chromium intentionally differs


def exif(orientation: int) -> bytes:
    return b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01" + struct.pack(">HHI", orientation, 0, 0)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def packed(samples: npt.NDArray[np.uint16], depth: int) -> bytes:
    """Returns the image data of a PNG before compression: the rows of `samples`, [height, width, samples per pixel],
    each with filter type "none"."""
    rows = samples.reshape(samples.shape[0], -1)
    if depth == 16:
        lines = [row.astype(">u2").tobytes() for row in rows]
    else:
        bits = (rows[:, :, np.newaxis] >> np.arange(depth - 1, -1, -1)) & 1
        lines = [np.packbits(row.reshape(-1)).tobytes() for row in bits.astype(np.uint8)]
    return b"".join(b"\0" + line for line in lines)


def png(
    samples: npt.NDArray[np.uint16], depth: int, colour: int, interlaced: bool, before: bytes, after: bytes
) -> bytes:
    """Returns a PNG of `samples`, [height, width, samples per pixel]. `before` and `after` are chunks before and after
    the pixels."""
    height, width = samples.shape[:2]
    data = packed(samples, depth) if not interlaced else b""
    for top, down, left, right in ADAM7 if interlaced else ():
        part = samples[top::down, left::right]
        data += packed(part, depth) if part.size else b""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    pixels = zlib.compress(data)
    cut = len(pixels) // 2
    chunks = chunk(b"IHDR", header) + before + chunk(b"IDAT", pixels[:cut]) + chunk(b"IDAT", pixels[cut:]) + after
    return b"\x89PNG\r\n\x1a\n" + chunks + chunk(b"IEND", b"")


def over_white(colour: npt.NDArray[Any], alpha: npt.NDArray[Any]) -> Pixels:
    values, share = colour.astype(np.uint32), alpha.astype(np.uint32)
    if values.ndim == 3:
        share = share[:, :, np.newaxis]
    return ((values * share + 255 * (255 - share) + 127) // 255).astype(np.uint8)


def png_of(
    random: np.random.Generator, size: Tuple[int, int], depth: int, colour: int, clear: bool, interlaced: bool
) -> File:
    """Returns a PNG of noise with these properties. `clear`: it has a tRNS chunk."""
    width, height = size
    per_pixel = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    samples = random.integers(0, 2**depth, (height, width, per_pixel), dtype=np.uint16)
    full = samples >> 8 if depth == 16 else samples * (255 // (2**depth - 1))
    palette = random.integers(0, 256, (2**depth, 3), dtype=np.uint8) if colour == 3 else None
    alphas = random.integers(0, 256, 2**depth, dtype=np.uint8)
    alpha = np.full((height, width), 255, np.uint8)
    key = samples[height // 2, width // 2]
    before = b"" if palette is None else chunk(b"PLTE", palette.tobytes())
    if clear and palette is None:
        before += chunk(b"tRNS", key.astype(">u2").tobytes())
        alpha[(samples == key).all(axis=2)] = 0
    elif clear:
        before += chunk(b"tRNS", alphas.tobytes())
        alpha = alphas[samples[:, :, 0]]
    if colour in (4, 6):
        alpha = full[:, :, -1].astype(np.uint8)
    shown = palette[samples[:, :, 0]] if palette is not None else full[:, :, : 3 if colour in (2, 6) else 1]
    if (depth, colour) == (16, 4):  # Pillow opens it as RGBA, because it has no grey mode for it
        shown = shown.repeat(3, 2)
    shown = over_white(shown[:, :, 0] if shown.shape[2] == 1 else shown, alpha)
    name = "png-%dbit-colour%d%s%s-%dx%d" % ((depth, colour, "-trns" * clear, "-interlaced" * interlaced) + size)
    partly = colour in (4, 6) or (clear and colour == 3)
    return File(name + ".png", png(samples, depth, colour, interlaced, before, b""), shown, 2 if partly else 0)


def pngs(random: np.random.Generator) -> Iterator[File]:
    kinds = [(depth, 0) for depth in (1, 2, 4, 8, 16)] + [(depth, 3) for depth in (1, 2, 4, 8)]
    kinds += [(depth, colour) for colour in (2, 4, 6) for depth in (8, 16)]
    for depth, colour in kinds:
        for clear in (False, True) if colour in (0, 2, 3) else (False,):
            for interlaced in (False, True):
                for size in SIZES:
                    yield png_of(random, size, depth, colour, clear, interlaced)


def turned(pixels: Pixels, orientation: int) -> Pixels:
    image = Image.fromarray(pixels)
    image.getexif()[0x0112] = orientation
    return np.asarray(ImageOps.exif_transpose(image))


def turned_pngs(random: np.random.Generator) -> Iterator[File]:
    """Yields PNGs for each orientation and for each place where Pillow reads the orientation."""
    pixels = random.integers(0, 256, (20, 36, 3), dtype=np.uint8)
    for orientation in range(1, 9):
        block = exif(orientation)
        profile = "\nexif\n%8d\n%s\n" % (len(block) + 6, (b"Exif\0\0" + block).hex())
        xmp = XMP % orientation
        places: Dict[str, Tuple[bytes, int]] = {
            "exif": (chunk(b"eXIf", block), 0),
            "exif-prefix": (chunk(b"eXIf", b"Exif\0\0" + block), -1),
            "raw-profile": (chunk(b"tEXt", b"Raw profile type exif\0" + profile.encode()), -1),
            "raw-profile-z": (chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(profile.encode())), -1),
            "xmp": (chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp.encode()), -1),
            "xmp-z": (chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(xmp.encode())), -1),
        }
        for place, (text, browser) in places.items():
            for late in (False, True):
                content = png(pixels.astype(np.uint16), 8, 2, False, b"" if late else text, text if late else b"")
                name = "png-%s-%s-%d.png" % (place, "late" if late else "early", orientation)
                yield File(name, content, turned(pixels, orientation), -1 if late else browser)


def shown_by_pillow(content: bytes) -> Pixels:
    """Returns the pixels that Pillow shows, for files without transparency by key or palette."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
    if image.mode in ("RGBA", "LA"):
        white = Image.new("RGBA", image.size, "white")
        return np.asarray(Image.alpha_composite(white, image.convert("RGBA")).convert("RGB"))
    return np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"))


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def smooth(random: np.random.Generator, size: Tuple[int, int], mode: str) -> Image.Image:
    bands = len(mode)
    small = random.integers(0, 256, (5, 5, bands), dtype=np.uint8)
    planes = [Image.fromarray(small[:, :, band]).resize(size, Image.Resampling.BICUBIC) for band in range(bands)]
    return planes[0] if bands == 1 else Image.merge(mode, planes)


def with_ids(content: bytes, ids: bytes) -> bytes:
    """Returns the baseline JPEG `content`, with `ids` as the ids of its three components. Removes the JFIF segment,
    which would define the colour space regardless of the ids."""
    content = content[:2] + content[2 + 2 + struct.unpack(">H", content[4:6])[0] :]
    frame, scan = content.index(b"\xff\xc0"), content.index(b"\xff\xda")
    data = bytearray(content)
    for place, number in enumerate(ids):
        data[frame + 10 + 3 * place] = number
        data[scan + 5 + 2 * place] = number
    return bytes(data)


def without_adobe(content: bytes) -> bytes:
    at = content.index(b"\xff\xee")
    return content[:at] + content[at + 2 + struct.unpack(">H", content[at + 2 : at + 4])[0] :]


def jpegs(random: np.random.Generator) -> Iterator[File]:
    contents: List[Tuple[str, bytes, int]] = []
    for size in SIZES + ((48, 21),):
        for progressive in (False, True):
            end = "%s-%dx%d" % (("-progressive" if progressive else "",) + size)
            options: Dict[str, Any] = {"quality": 85, "progressive": progressive}
            contents.append(("L" + end, saved(smooth(random, size, "L"), "JPEG", **options), 4))
            for subsampling in (0, 1, 2):
                image = smooth(random, size, "RGB")
                content = saved(image, "JPEG", subsampling=subsampling, **options)
                contents.append(("RGB-%d%s" % (subsampling, end), content, 24))
            cmyk = saved(smooth(random, size, "CMYK"), "JPEG", **options)
            contents.append(("CMYK" + end, cmyk, 24))
            contents.append(("CMYK-no-adobe" + end, without_adobe(cmyk), 24))
    base = saved(smooth(random, (32, 32), "RGB"), "JPEG", quality=85, subsampling=0)
    for ids in (b"\1\1\1", b"\0\1\2", b"\1\2\2", b"\7\7\11", b"RGB", b"\2\1\3"):
        contents.append(("ids-" + "-".join(str(number) for number in ids), with_ids(base, ids), 24))
    turn = smooth(random, (36, 20), "RGB")
    for orientation in range(1, 9):
        block = b"Exif\0\0" + exif(orientation)
        contents.append(("exif-%d" % orientation, saved(turn, "JPEG", quality=85, exif=block), 24))
        plain = saved(turn, "JPEG", quality=85)
        text = b"http://ns.adobe.com/xap/1.0/\0" + (XMP % orientation).encode()
        segment = b"\xff\xe1" + struct.pack(">H", len(text) + 2) + text
        contents.append(("xmp-%d" % orientation, plain[:2] + segment + plain[2:], -1))
    contents.append(("stored-as-RGB", saved(turn, "JPEG", quality=85, keep_rgb=True), 24))
    contents.append(("restarts", saved(turn, "JPEG", quality=85, restart_marker_blocks=2), 24))
    for name, content, browser in contents:
        yield File("jpeg-%s.jpg" % name, content, shown_by_pillow(content), browser)
    two = saved(turn, "MPO", quality=85, save_all=True, append_images=[turn.rotate(180)])
    yield File("mpo.jpg", two, shown_by_pillow(two), 24)


def webps(random: np.random.Generator) -> Iterator[File]:
    for size in SIZES:
        for mode in ("RGB", "RGBA"):
            for lossless in (False, True):
                content = saved(smooth(random, size, mode), "WEBP", quality=80, lossless=lossless, exact=True)
                name = "webp-%s%s-%dx%d.webp" % ((mode, "-lossless" * lossless) + size)
                yield File(name, content, shown_by_pillow(content), 24 if not lossless else 2)
    turn = smooth(random, (36, 20), "RGB")
    for orientation in range(1, 9):
        for prefix in (b"", b"Exif\0\0"):
            content = saved(turn, "WEBP", lossless=True, exif=prefix + exif(orientation))
            name = "webp-exif%s-%d.webp" % ("-prefix" * bool(prefix), orientation)
            yield File(name, content, shown_by_pillow(content), -1)
        content = saved(turn, "WEBP", lossless=True, xmp=(XMP % orientation).encode())
        yield File("webp-xmp-%d.webp" % orientation, content, shown_by_pillow(content), -1)


def files(only: Optional[str] = None) -> List[File]:
    random = np.random.default_rng(5)
    made = [*pngs(random), *turned_pngs(random), *jpegs(random), *webps(random)]
    return [file for file in made if only is None or file.name.startswith(only)]
