# SPDX-License-Identifier: Apache-2.0
"""The engine's C API (vitrine_engine.h), called with ctypes."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_void_p
from typing import Any, Iterator, List, Optional, Sequence, Union

import numpy as np

from vitrine import errors
from vitrine._picture import Picture
from vitrine.errors import VitrineError
from vitrine.v1 import classifier_pb2, registry_pb2

# Value of VITRINE_ENGINE_API that this module is written for.
_API = 1
_FILE, _UINT8, _FLOAT32 = 0, 1, 2


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("threads", c_int32), ("precision", c_char_p)]


class _Image(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("size", c_size_t),
        ("height", c_int32),
        ("width", c_int32),
        ("channels", c_int32),
        ("input", c_int32),
    ]


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    """Returns the library. ImportError: it is not installed, or has another version of the API."""
    try:
        import vitrine_engine
    except ImportError as error:
        raise ImportError("vitrine.load needs the engine: pip install 'vitrine[engine]'") from error
    library = ctypes.CDLL(vitrine_engine.LIBRARY)
    if library.vitrine_engine_api() != _API:
        form = "vitrine_engine has the API %d, but this version of vitrine needs %d; install the same version of both"
        raise ImportError(form % (library.vitrine_engine_api(), _API))
    message: Any = [POINTER(c_void_p), POINTER(c_size_t)]
    library.vitrine_engine_last_error.restype = c_char_p
    library.vitrine_engine_load.argtypes = [c_char_p, c_char_p, POINTER(_Options), POINTER(c_void_p)]
    library.vitrine_engine_free.argtypes = library.vitrine_engine_answers_free.argtypes = [c_void_p]
    library.vitrine_engine_free.restype = library.vitrine_engine_answers_free.restype = None
    library.vitrine_engine_describe_message.argtypes = [c_void_p, *message]
    run: Any = [c_void_p, POINTER(_Image), c_size_t, c_char_p, c_size_t, POINTER(c_void_p)]
    library.vitrine_engine_run.argtypes = run
    library.vitrine_engine_answer_message.argtypes = [c_void_p, c_size_t, *message]
    return library


def _error(library: Any, code: int) -> VitrineError:
    """Returns the error of this thread's latest call."""
    return errors.of_number(code, library.vitrine_engine_last_error().decode("utf-8", "replace"), 0)


class Engine:
    """A loaded model version. Threads may share it, but close does not wait for their calls."""

    def __init__(self, model: str, repository: Optional[str], threads: int, precision: Optional[str]) -> None:
        self._library = _library()
        self._model = c_void_p()
        options = _Options(ctypes.sizeof(_Options), threads, precision.encode() if precision else None)
        place = os.fsencode(repository) if repository is not None else None
        code = self._library.vitrine_engine_load(place, os.fsencode(model), byref(options), byref(self._model))
        if code != 0:
            raise _error(self._library, code)

    def describe(self) -> registry_pb2.ModelVersion:
        data, size = c_void_p(), c_size_t()
        self._library.vitrine_engine_describe_message(self._model, byref(data), byref(size))
        return registry_pb2.ModelVersion.FromString(ctypes.string_at(data, size.value))

    def run(
        self, request: classifier_pb2.ClassifyRequest, pictures: Sequence[Picture]
    ) -> List[Union[classifier_pb2.ClassifyResponse, VitrineError]]:
        """Returns an answer or an error for each image. Raises VitrineError if the request is invalid."""
        if not self._model:
            raise errors.Cancelled("the model is closed")
        images = (_Image * len(pictures))()
        kept = [_fill(image, picture) for image, picture in zip(images, pictures)]
        wanted, answers = request.SerializeToString(), c_void_p()
        arguments = images, len(pictures), wanted, len(wanted), byref(answers)
        code = self._library.vitrine_engine_run(self._model, *arguments)
        del kept  # the arrays and bytes to which the images point; the call needed them
        if code != 0:
            raise _error(self._library, code)
        try:
            return list(self._read(answers, len(pictures)))
        finally:
            self._library.vitrine_engine_answers_free(answers)

    def _read(
        self, answers: c_void_p, count: int
    ) -> Iterator[Union[classifier_pb2.ClassifyResponse, VitrineError]]:
        data, size = c_void_p(), c_size_t()
        for i in range(count):
            code = self._library.vitrine_engine_answer_message(answers, i, byref(data), byref(size))
            if code != 0:
                yield _error(self._library, code)
            else:
                yield classifier_pb2.ClassifyResponse.FromString(ctypes.string_at(data, size.value))

    def close(self) -> None:
        model, self._model = self._model, c_void_p()
        self._library.vitrine_engine_free(model)

    def __del__(self) -> None:
        if getattr(self, "_model", None):
            self.close()


def _fill(image: _Image, picture: Picture) -> Any:
    """Points `image` to the bytes of `picture`. Returns the owner of the bytes. The caller must keep the owner until
    the bytes are read."""
    if picture.encoded is not None:
        owner = c_char_p(picture.encoded)
        image.data, image.size, image.input = ctypes.cast(owner, c_void_p), len(picture.encoded), _FILE
        return owner
    assert picture.pixels is not None
    pixels = np.ascontiguousarray(picture.pixels)
    image.data, image.size = pixels.ctypes.data, pixels.nbytes
    image.height, image.width, image.channels = pixels.shape
    image.input = _FLOAT32 if pixels.dtype == np.float32 else _UINT8
    return pixels
