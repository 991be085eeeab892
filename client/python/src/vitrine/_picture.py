# SPDX-License-Identifier: Apache-2.0
"""Converts every supported type of image to the form that the server accepts."""

from __future__ import annotations

import io
import os
import threading
import warnings
from dataclasses import dataclass, replace
from typing import IO, Any, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFile, UnidentifiedImageError

from vitrine._files import read_path, read_stream
from vitrine.errors import InvalidArgument
from vitrine.v1 import classifier_pb2 as pb

ImageSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IO[bytes], Image.Image, npt.NDArray[Any]]

# Limits of the server (docs/reference/errors.md, docs/operations/serving.md).
MAX_PIXELS = 16 << 20
MAX_SIDE = 8192
# Maximum size of an image: the server's default maximum size of a message, minus room for the rest of the request.
MAX_BYTES = (16 << 20) - (64 << 10)
_MAGIC = (b"\xff\xd8", b"\x89PNG\r\n\x1a\n")
_JPEG_QUALITY = 95
_ORIENTATION = 0x0112  # tag in EXIF
_TURNS = {  # operation by value of this tag
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# Errors of Pillow for damaged files, depending on the format; AVIF raises RuntimeError.
_DAMAGED = (OSError, SyntaxError, ValueError, RuntimeError)
_opening = threading.Lock()  # warnings.catch_warnings changes state shared by all threads


class PictureWarning(UserWarning):
    """Warns of one of these: an image was reduced or converted to JPEG because the server would reject it; the values of
    an image look as if they were scaled twice, or never scaled to the range of their type; files and folders in a
    folder were ignored."""


@dataclass(frozen=True)
class Picture:
    """An image in the form that is sent: a file in memory, or pixels. Drawings read the file `path` again, if set."""

    name: str  # a path, or the type of the image
    encoded: Optional[bytes] = None  # a JPEG, PNG or WebP file
    pixels: Optional[npt.NDArray[Any]] = None  # uint8 or float32 [height, width, channels]
    path: Optional[str] = None

    def put_into(self, request: pb.ClassifyRequest) -> None:
        if self.encoded is not None:
            request.image = self.encoded
            return
        assert self.pixels is not None
        tensor = request.tensor
        tensor.height, tensor.width, tensor.channels = self.pixels.shape
        is_float = self.pixels.dtype == np.float32
        tensor.data_type = pb.RawTensor.DATA_FLOAT32 if is_float else pb.RawTensor.DATA_UINT8
        tensor.data = self.pixels.astype(self.pixels.dtype.newbyteorder("<"), copy=False).tobytes()

    def without_copy(self) -> Picture:
        """Returns the Picture to keep with a result. An image from a file is not kept in memory."""
        return self if self.path is None else replace(self, encoded=None, pixels=None)

    def open(self, longest: int = 1024) -> Image.Image:
        """Returns the upright image, RGB, not much larger than `longest` pixels per side. OSError: the file is
        missing."""
        if self.pixels is not None:
            pixels = self.pixels
            if pixels.dtype == np.float32:
                pixels = np.clip(np.nan_to_num(pixels) * 255 + 0.5, 0, 255).astype(np.uint8)
            image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
        else:
            encoded = self.encoded if self.encoded is not None else read_path(str(self.path))
            image = _open(encoded)
            image.draft("RGB", (longest, longest))
        image = _upright(image)
        if max(image.size) > 2 * longest:
            image.thumbnail((longest, longest))
        return image.convert("RGB")


def load(source: ImageSource) -> Picture:
    """Reads an image, and reduces it if the server would reject its size.

    JPEG, PNG and WebP files within the server's limits are sent unchanged. This includes damaged files, since the
    server reports the cause. Other formats that Pillow reads, and animated WebP files, are sent as pixels. If a WebP,
    GIF or TIFF has several images, only the first one is sent.
    """
    if isinstance(source, Image.Image):
        return _of_image(source, "a PIL image")
    if isinstance(source, np.ndarray):
        return _of_array(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _of_file(bytes(source), "bytes", None)
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        return _of_file(read_path(path), path, path)
    if hasattr(source, "read"):
        return _of_file(read_stream(source), str(getattr(source, "name", "a file object")), None)
    raise TypeError(
        "a picture is a path, bytes, a file object, a PIL.Image or a NumPy array, not %s" % type(source).__name__
    )


def _open(content: bytes) -> Image.Image:
    """Calls Image.open without warnings: this module reduces large images, and the server reports invalid ones."""
    with _opening, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Image.open(io.BytesIO(content))


def _of_file(content: bytes, name: str, path: Optional[str]) -> Picture:
    as_it_is = Picture(name, encoded=content, path=path)
    try:
        image = _open(content)
    except UnidentifiedImageError:
        return as_it_is
    except Image.DecompressionBombError as error:
        form = "%s has more pixels than Pillow opens; scale it down, or raise PIL.Image.MAX_IMAGE_PIXELS: %s"
        raise InvalidArgument(form % (name, error)) from error
    except _DAMAGED:
        return as_it_is
    known = _is_taken(content, image)
    if known and _fits(image.size) and len(content) <= MAX_BYTES:
        return as_it_is
    try:
        picture = _shrunk(image, name, len(content)) if known else _of_image(image, name)
        return replace(picture, path=path)
    except InvalidArgument:
        raise
    except _DAMAGED as error:
        if known:
            return as_it_is
        raise InvalidArgument("%s: cannot be decoded: %s" % (name, error)) from error


def _is_taken(content: bytes, image: Image.Image) -> bool:
    """Returns True if the server decodes the file; False for an animated WebP, whose first frame is sent as pixels."""
    is_webp = content.startswith(b"RIFF") and content[8:12] == b"WEBP"
    return content.startswith(_MAGIC) or (is_webp and not getattr(image, "is_animated", False))


def _of_image(image: Image.Image, name: str) -> Picture:
    if image.width < 1 or image.height < 1:
        raise InvalidArgument("%s has no pixels" % name)
    if image.mode == "F":  # _of_array checks the range of the floats
        return _of_array(np.asarray(_turned(image, _turn(image))))
    if not _fits(image.size):
        return _shrunk(image, name, 0)
    return _of_pixels(np.asarray(_upright(image)), name)


def _of_array(array: npt.NDArray[Any]) -> Picture:
    shape = "x".join(map(str, array.shape))
    pixels = array[:, :, np.newaxis] if array.ndim == 2 else array
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or 0 in pixels.shape:
        found = "the array has shape %s, must be height x width x 3 (RGB), or x 1, or height x width" % shape
        raise InvalidArgument(found + _other_layout(array.shape))
    if pixels.dtype.kind == "f":
        with np.errstate(over="ignore"):  # a value that overflows becomes infinity, which is rejected
            pixels = pixels.astype(np.float32)
        _check_floats(pixels)
    elif pixels.dtype.newbyteorder("=") == np.uint16:
        pixels = _upper_bits(pixels)
    elif pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    elif pixels.dtype != np.uint8:
        form = 'the array has type %s, must be uint8 (0 to 255), as of image.astype("uint8"), float (0 to 1)'
        raise InvalidArgument((form + ", uint16 or bool") % array.dtype)
    elif pixels.max() == 1:
        line = '(image * 255).astype("uint8")'
        _warn("the array's largest value is 1 of 255, which is black; if its range is 0 to 1, write %s" % line)
    name = "an array of %s" % shape
    if _fits((pixels.shape[1], pixels.shape[0])) and pixels.nbytes <= MAX_BYTES:
        return Picture(name, pixels=np.array(pixels, order="C"))  # a copy, because the caller may change the original
    return _of_pixels(_bytes(pixels), name) if pixels.dtype == np.float32 else _of_pixels(pixels, name)


def _other_layout(shape: Tuple[int, ...]) -> str:
    """Returns the end of the error message: Python code that converts an array of this shape to an image, or ""."""
    image = "image"
    if len(shape) == 4 and shape[0] > 1:
        return "; for several pictures write client.classify_many(images)"
    if len(shape) == 4 or (len(shape) == 3 and shape[0] == 1):
        image, shape = "image[0]", shape[1:]
    if len(shape) == 3 and shape[2] == 4:
        return "; write {0}[:, :, :3], or PIL.Image.fromarray({0}) to lay it over white".format(image)
    if len(shape) == 3 and shape[2] == 2:
        return "; write %s[:, :, 0]" % image
    if len(shape) == 3 and shape[2] not in (1, 3) and shape[0] in (1, 3, 4):
        planes = {1: "[0]", 3: ".transpose(1, 2, 0)", 4: "[:3].transpose(1, 2, 0)"}
        return "; write %s%s" % (image, planes[shape[0]])
    return "" if image == "image" else "; write " + image


def _upper_bits(pixels: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Returns the upper 8 of 16 bits, as the server and Pillow do for a 16-bit PNG."""
    high = int(pixels.max())
    if 0 < high <= 255:
        form = 'the largest value is %d of 65535, which is black; if 255 is white, give image.astype("uint8")'
        _warn(form % high + ', or image.convert("L") of a PIL image')
    return np.asarray(pixels >> 8, dtype=np.uint8)


def _check_floats(pixels: npt.NDArray[Any]) -> None:
    """Raises InvalidArgument for values outside 0 to 1, because their range (0 to 255, -1 to 1, ...) is unknown."""
    low, high = float(pixels.min()), float(pixels.max())  # NaN if there is one
    if not np.isfinite(low) or not np.isfinite(high):
        form = "the array has NaN or infinite values, which are invalid; write numpy.nan_to_num(image) to replace them"
        raise InvalidArgument(form)
    if 0 <= low and high <= 1:
        if 0 < high < 2 / 255:
            form = "the array has floats up to %.3g, where 1 is white: it is black; was it divided by 255 twice?"
            _warn(form % high)
        return
    found = "the array has floats from %s to %s, must be 0 to 1" % (_digits(low), _digits(high))
    if high > 4:  # values normalised by mean and deviation are below 3
        whole = "image" if 0 <= low and high <= 255 else "image.clip(0, 255)"
        raise InvalidArgument('%s; write %s / 255 or %s.astype("uint8")' % (found, whole, whole))
    raise InvalidArgument("%s; write image.clip(0, 1), or undo how it was normalised" % found)


def _digits(value: float) -> str:
    """Returns the value with four digits, or with all digits if four digits would round it to 0 or 1."""
    text = "%.4g" % value
    return str(np.float32(value)) if float(text) in (0, 1) and float(text) != value else text


def _bytes(pixels: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.asarray(np.clip(np.nan_to_num(pixels), 0, 1) * 255 + 0.5, dtype=np.uint8)


def _of_pixels(pixels: npt.NDArray[Any], name: str) -> Picture:
    """Converts uint8 [height, width] or [height, width, 1 or 3]."""
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if _fits((pixels.shape[1], pixels.shape[0])) and pixels.nbytes <= MAX_BYTES:
        return Picture(name, pixels=np.ascontiguousarray(pixels))
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    if _fits(image.size):
        encoded = _encoded(image, "PNG", compress_level=1)  # lossless
        if len(encoded) <= MAX_BYTES:
            return Picture(name, encoded=encoded)
    return _shrunk(image, name, pixels.nbytes)


def _fits(size: Tuple[int, int]) -> bool:
    return size[0] * size[1] <= MAX_PIXELS and max(size) <= MAX_SIDE


def _shrunk(image: Image.Image, name: str, file_bytes: int) -> Picture:
    """Returns a JPEG with the full, half, quarter or eighth length of each side: the largest JPEG that fits, like
    `vitrine classify`.

    `file_bytes` is the size of the file or pixels; 0: `image` may be the caller's own object and must not change.
    """
    width, height = image.size
    drafted = 1
    for divisor in (1, 2, 4, 8):
        if not _fits((-(-width // divisor), -(-height // divisor))):
            continue
        # Uses the decoder's own reduction if possible. This changes `image`, so it is done once, and not for the
        # caller's image.
        if divisor > 1 and file_bytes and drafted == 1:
            image.draft(None, (max(1, width // divisor), max(1, height // divisor)))
            drafted = -(-width // image.width)
        turn = _turn(image)
        small = _plain(image)
        small = _turned(small if drafted == divisor else small.reduce(divisor // drafted), turn)
        encoded = _encoded(small, "JPEG", quality=_JPEG_QUALITY)
        if len(encoded) > MAX_BYTES:  # possible for noise, for example
            continue
        why = "is larger than the server accepts (16 megapixels, 8192 pixels a side)"
        if _fits((width, height)):
            why = "has %d bytes, more than the server accepts (16 MiB)" % file_bytes
        _warn("%s, %d x %d pixels, %s: sent as a JPEG of %d x %d" % ((name, width, height, why) + small.size))
        return Picture(name, encoded=encoded)
    form = "%s has %d x %d pixels; even an eighth of it is more than the server accepts, so scale it down yourself"
    raise InvalidArgument(form % (name, width, height))


def _encoded(image: Image.Image, kind: str, **options: int) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _turn(image: Image.Image) -> Optional[Image.Transpose]:
    """Returns the rotation that the metadata states. Loads the image first, because only then does Pillow
    rotate a TIFF itself, and read the metadata at the end of a PNG."""
    image.load()
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # any error of Pillow for damaged metadata, which the server ignores
        return None
    return _TURNS.get(value) if isinstance(value, int) else None


def _turned(image: Image.Image, turn: Optional[Image.Transpose]) -> Image.Image:
    return image if turn is None else image.transpose(turn)


def _upright(image: Image.Image) -> Image.Image:
    """Returns `_plain(image)` with the rotation in the metadata applied, like the server."""
    turn = _turn(image)
    return _turned(_plain(image), turn)


def _plain(image: Image.Image) -> Image.Image:
    """Converts to 8 bits like the server: grey stays grey, transparency is composited over white, and everything else
    becomes RGB."""
    if image.mode == "F":
        raise InvalidArgument("the range of the image's floats is unknown; give an array with values of 0 to 1")
    key = _key(image)
    if image.mode.startswith("I"):  # 16 bits: Pillow's own conversion would clip them
        values = np.asarray(image)
        if values.min() < 0 or values.max() > 65535:
            raise InvalidArgument("the image has mode %s and values outside 0 to 65535" % image.mode)
        pixels = _upper_bits(values)
        return Image.fromarray(pixels if key is None else np.where(values == key, np.uint8(255), pixels))
    if image.mode in ("1", "L"):
        grey = image.convert("L")
        return grey if key is None else _without_grey(grey, 255 if image.mode == "1" and key else key)
    if image.mode == "RGB":
        return image if key is None else _without_colour(image, key)
    if image.mode in ("LA", "La"):
        return _over_white(image.convert("LA")).convert("L")
    try:
        if image.mode in ("PA", "RGBA", "RGBa") or (image.mode == "P" and (key is not None or _has_alphas(image))):
            return _over_white(image)
        return _without_key(image).convert("RGB")
    except ValueError as error:
        raise InvalidArgument("the image has mode %s; convert it to RGB" % image.mode) from error


def _key(image: Image.Image) -> Any:
    """Returns the transparency key: a grey value, colour or palette index, or the palette's alphas; None without one.

    Pillow keeps a file's key when it converts, resizes or copies the image. After a conversion, opaque pixels may have
    the key's colour too. So a key that is a grey value or a colour is used only for the object that Image.open
    returned.
    """
    if image.mode != "P" and not isinstance(image, ImageFile.ImageFile):
        return None
    key = image.info.get("transparency")
    kinds: Any = {"P": (int, bytes), "RGB": tuple}.get(image.mode, int)  # other keys belong to images of another mode
    return key if isinstance(key, kinds) else None


def _has_alphas(palette_image: Image.Image) -> bool:
    return palette_image.palette is not None and palette_image.palette.mode.endswith("A")


def _without_key(image: Image.Image) -> Image.Image:
    """Returns the image without its transparency key. The key may belong to another mode than the image has now, and
    Pillow may fail to convert an image with such a key."""
    if "transparency" not in image.info:
        return image
    copy = image.copy()
    del copy.info["transparency"]
    return copy


def _over_white(image: Image.Image) -> Image.Image:
    layer = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")


def _without_grey(image: Image.Image, key: int) -> Image.Image:
    """Makes pixels of value `key` white. `key` has the PNG's bit depth, but Pillow has scaled pixels of 2 or 4 bits to
    8 bits."""
    pixels = np.asarray(image)
    for step in (85, 17):
        if key <= 255 // step and not np.any(pixels % step):
            key *= step
            break
    return Image.fromarray(np.where(pixels == key, np.uint8(255), pixels))


def _without_colour(image: Image.Image, key: Tuple[int, int, int]) -> Image.Image:
    """Makes pixels of colour `key` white. In a 16-bit PNG `key` has 16 bits; Pillow keeps the upper 8 of a pixel."""
    colour = np.array([value >> 8 for value in key] if max(key) > 255 else key, np.uint8)
    pixels = np.array(image)
    pixels[(pixels == colour).all(axis=2)] = 255
    return Image.fromarray(pixels)


def _warn(text: str) -> None:
    warnings.warn(text, PictureWarning, stacklevel=2)
