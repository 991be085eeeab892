# SPDX-License-Identifier: Apache-2.0
"""Everything that a user may call a picture, as what the server takes."""

from __future__ import annotations

import io
import os
import warnings
from dataclasses import dataclass, replace
from typing import IO, Any, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from vitrine.errors import InvalidArgument
from vitrine.v1 import classifier_pb2 as pb

ImageSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IO[bytes], Image.Image, npt.NDArray[Any]]

# What the server takes (docs/reference/errors.md, docs/operations/serving.md).
MAX_PIXELS = 16 << 20
MAX_SIDE = 8192
# The server's default for a message, less what the request holds besides its picture.
MAX_BYTES = (16 << 20) - (64 << 10)
_MAGIC = (b"\xff\xd8", b"\x89PNG\r\n\x1a\n")
_JPEG_QUALITY = 95
_ORIENTATION = 0x0112  # in EXIF


class PictureWarning(UserWarning):
    """The server would refuse the picture as it is, so something else was sent: a smaller one, or a JPEG."""


@dataclass(frozen=True)
class Picture:
    """A picture as it is sent: a file in memory, or pixels; and as much of its origin as it takes to draw it."""

    name: str  # a path, or what kind of thing it was
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
        """For keeping beside a result: a picture that lies in a file is not kept in memory as well."""
        return self if self.path is None else replace(self, encoded=None, pixels=None)

    def open(self, longest: int = 1024) -> Image.Image:
        """RGB as a person sees it, not much larger than `longest` pixels a side. OSError: the file is gone."""
        if self.pixels is not None:
            pixels = self.pixels
            if pixels.dtype == np.float32:
                pixels = np.clip(np.nan_to_num(pixels) * 255 + 0.5, 0, 255).astype(np.uint8)
            image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
        else:
            encoded = self.encoded if self.encoded is not None else _read(str(self.path))
            image = Image.open(io.BytesIO(encoded))
            image.draft("RGB", (longest, longest))
        image = _upright(image)
        if max(image.size) > 2 * longest:
            image.thumbnail((longest, longest))
        return image.convert("RGB")


def load(source: ImageSource) -> Picture:
    """Reads and, where the server would refuse it for its size, shrinks a picture.

    Files are sent as they are, JPEG, PNG and WebP, also damaged ones: the server names what is wrong. Other formats that
    Pillow reads are sent as pixels.
    """
    if isinstance(source, Image.Image):
        return _of_image(source, "a PIL image")
    if isinstance(source, np.ndarray):
        return _of_array(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _of_file(bytes(source), "bytes", None)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return _of_file(_read(path), path, path)
    if hasattr(source, "read"):
        content = source.read()
        if not isinstance(content, bytes):
            raise TypeError("the file was opened as text; open it with mode 'rb'")
        return _of_file(content, str(getattr(source, "name", "a file object")), None)
    raise TypeError(
        "a picture is a path, bytes, a file object, a PIL.Image or a NumPy array, not %s" % type(source).__name__
    )


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _of_file(content: bytes, name: str, path: Optional[str]) -> Picture:
    as_it_is = Picture(name, encoded=content, path=path)
    try:
        image = Image.open(io.BytesIO(content))
    except UnidentifiedImageError:
        return as_it_is
    except Image.DecompressionBombError as error:
        raise InvalidArgument("%s: %s" % (name, error)) from error
    except (OSError, SyntaxError, ValueError):  # what Pillow raises for damaged headers, depending on the format
        return as_it_is
    known = _is_taken(content, image)
    if known and _fits(image.size) and len(content) <= MAX_BYTES:
        return as_it_is
    try:
        if _fits(image.size) and not known:
            return replace(_of_image(image, name), path=path)
        return replace(_shrunk(image, name, len(content)), path=path)
    except (OSError, SyntaxError, ValueError) as error:
        if known:
            return as_it_is
        raise InvalidArgument("%s: cannot be decoded: %s" % (name, error)) from error


def _is_taken(content: bytes, image: Image.Image) -> bool:
    """Whether the server decodes such files. Of an animated WebP the first frame goes as pixels."""
    is_webp = content.startswith(b"RIFF") and content[8:12] == b"WEBP"
    return content.startswith(_MAGIC) or (is_webp and not getattr(image, "is_animated", False))


def _of_image(image: Image.Image, name: str) -> Picture:
    if image.width < 1 or image.height < 1:
        raise InvalidArgument("%s has no pixels" % name)
    if not _fits(image.size):
        return _shrunk(image, name, 0)
    return _of_pixels(np.asarray(_plain(_upright(image))), name)


def _of_array(array: npt.NDArray[Any]) -> Picture:
    shape = "x".join(map(str, array.shape))
    pixels = array[:, :, np.newaxis] if array.ndim == 2 else array
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or 0 in pixels.shape:
        raise InvalidArgument("the array has shape %s, must be height x width x 3, or x 1, or height x width" % shape)
    if pixels.dtype.kind == "f":
        with np.errstate(over="ignore"):  # infinity is refused
            pixels = pixels.astype(np.float32)
        _check_floats(pixels)
    elif pixels.dtype != np.uint8:
        form = 'the array has type %s, must be uint8 (0 to 255), as of image.astype("uint8"), or float (0 to 1)'
        raise InvalidArgument(form % array.dtype)
    name = "an array of %s" % shape
    if _fits((pixels.shape[1], pixels.shape[0])) and pixels.nbytes <= MAX_BYTES:
        return Picture(name, pixels=np.array(pixels, order="C"))  # the caller may go on changing his own
    return _of_pixels(_bytes(pixels), name) if pixels.dtype == np.float32 else _of_pixels(pixels, name)


def _check_floats(pixels: npt.NDArray[Any]) -> None:
    """InvalidArgument: not 0 to 1. Nothing is guessed: 0 to 255 may be meant, or -1 to 1, or what a model takes."""
    low, high = float(pixels.min()), float(pixels.max())  # NaN if there is one
    if not np.isfinite(low) or not np.isfinite(high):
        form = "the array has NaN or infinite values, which no picture has; write numpy.nan_to_num(image) if they are 0"
        raise InvalidArgument(form)
    if 0 <= low and high <= 1:
        return
    found = "the array has floats from %.4g to %.4g, must be 0 to 1" % (low, high)
    if high > 4:  # what was normalised by mean and deviation stays below 3
        whole = "image" if 0 <= low and high <= 255 else "image.clip(0, 255)"
        raise InvalidArgument('%s; write %s / 255 or %s.astype("uint8")' % (found, whole, whole))
    raise InvalidArgument("%s; write image.clip(0, 1), or undo how it was normalised" % found)


def _bytes(pixels: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.asarray(np.clip(np.nan_to_num(pixels), 0, 1) * 255 + 0.5, dtype=np.uint8)


def _of_pixels(pixels: npt.NDArray[Any], name: str) -> Picture:
    """uint8 [height, width] or [height, width, 1 or 3]."""
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if _fits((pixels.shape[1], pixels.shape[0])) and pixels.nbytes <= MAX_BYTES:
        return Picture(name, pixels=np.ascontiguousarray(pixels))
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    if not _fits(image.size):
        return _shrunk(image, name, 0)
    _warn("%s has %d bytes of pixels, the server takes 16 MiB: sent as a JPEG" % (name, pixels.nbytes))
    return _as_jpeg(image, name)


def _fits(size: Tuple[int, int]) -> bool:
    return size[0] * size[1] <= MAX_PIXELS and max(size) <= MAX_SIDE


def _largest(size: Tuple[int, int]) -> Tuple[int, int]:
    """What the server takes of a picture that does not fit."""
    scale = min((MAX_PIXELS / (size[0] * size[1])) ** 0.5, MAX_SIDE / max(size))
    return max(1, int(size[0] * scale)), max(1, int(size[1] * scale))


def _shrunk(image: Image.Image, name: str, file_bytes: int) -> Picture:
    """`file_bytes` of the file that the image was opened from; 0: it is the caller's own."""
    width, height = image.size
    larger = not _fits(image.size)
    # A JPEG is decoded at a half, a quarter or an eighth. draft() never goes below what it is asked for, and the
    # largest size that the server takes is always more than enough; so half of that is asked for. It changes the image,
    # so not one of the caller's.
    if larger and file_bytes:
        half = [max(1, side // 2) for side in _largest(image.size)]
        image.draft(None, (half[0], half[1]))
    image = _upright(image)  # first: what EXIF says is lost with everything else that is done to an image
    if not _fits(image.size):
        image = _plain(image).resize(_largest(image.size), Image.Resampling.BOX, reducing_gap=2.0)
    picture = _as_jpeg(image, name)
    sent = Image.open(io.BytesIO(picture.encoded or b"")).size
    why = "is larger than the server takes (16 megapixels, 8192 pixels a side)"
    if not larger:
        why = "has %d bytes, more than the server takes (16 MiB)" % file_bytes
    _warn("%s, %d x %d pixels, %s: sent as a JPEG of %d x %d" % ((name, width, height, why) + sent))
    return picture


def _as_jpeg(image: Image.Image, name: str) -> Picture:
    image = _plain(image)
    while True:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=_JPEG_QUALITY, subsampling=0)
        if file.tell() <= MAX_BYTES:
            return Picture(name, encoded=file.getvalue())
        image = image.reduce(2)  # noise, say


def _upright(image: Image.Image) -> Image.Image:
    """As the server does: turned as EXIF says; the same image if it says nothing."""
    if image.getexif().get(_ORIENTATION, 1) == 1:
        return image
    turned: Optional[Image.Image] = ImageOps.exif_transpose(image)
    return image if turned is None else turned


def _plain(image: Image.Image) -> Image.Image:
    """As the server does: grey stays grey, transparency lies over white, everything else becomes RGB; 8 bits."""
    if image.mode in ("L", "RGB"):
        return image
    if image.mode == "F":
        raise InvalidArgument("what the floats of the image mean is not known; give an array with values of 0 to 1")
    if image.mode.startswith("I"):  # 16 bits: Pillow's own conversion would cut them
        values = np.asarray(image, dtype=np.float64)
        if values.min() < 0 or values.max() > 65535:
            raise InvalidArgument("the image has mode %s and values outside 0 to 65535" % image.mode)
        return Image.fromarray((values / 257 + 0.5).astype(np.uint8))
    if "A" in image.getbands() or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("L" if image.mode in ("LA", "La") else "RGB")
    return image.convert("L" if image.mode == "1" else "RGB")


def _warn(text: str) -> None:
    warnings.warn(text, PictureWarning, stacklevel=2)
