# SPDX-License-Identifier: Apache-2.0
"""Models in this process, without a server."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Iterable, Iterator, List, Optional, Tuple, Type, Union

import numpy as np
import numpy.typing as npt

from vitrine import _arguments, _models
from vitrine._embedding import Embedded, first_vector, of_outcome, values_of
from vitrine._engine import Engine
from vitrine._picture import ImageSource, Picture, load as load_picture
from vitrine._request import Ask, checked_feature
from vitrine._result import Outcome, Refused, Result, of_response
from vitrine._sources import pictures
from vitrine.errors import InvalidArgument, NotFound, VitrineError

# Maximum number of images in a call of the engine, which computes them in batches on all its threads.
_IMAGES_PER_CALL = 16


def load(
    model: Union[str, "os.PathLike[str]"],
    repository: Union[str, "os.PathLike[str]", None] = None,
    *,
    threads: int = 0,
    precision: Optional[str] = None,
) -> LocalModel:
    """Loads a model into this process. Needs the package vitrine-engine: pip install 'vitrine[engine]'.

    Args:
        model: NAME or NAME@VERSION of the `repository`. Without `repository`: the path of a version's folder,
            REPOSITORY/NAME[@VERSION], or NAME[@VERSION] of the repository $VITRINE_REPOSITORY. NAME without a version
            means the newest version.
        repository: a folder of models.
        threads: number of worker threads; 0: one per core that this process may use.
        precision: "fp32" (default), "bf16" or "int8"; for bf16 and int8, the version's manifest must have a
            PrecisionPlan.
    Raises:
        NotFound, FailedPrecondition, InvalidArgument: there is no such version, it is damaged, or an argument is wrong.
        ImportError: the engine is not installed.
    """
    _arguments.file("model", model)
    _arguments.file("repository", repository)
    _arguments.integer("threads", threads, optional=False)
    _arguments.text("precision", precision)
    place = None if repository is None else os.fspath(repository)
    return LocalModel(Engine(os.fspath(model), place, threads, precision))


class LocalModel:
    """A model in this process. It has the methods of `Client`, for one model. On the same kind of CPU, a server gives
    bit-identical answers.

    The keyword arguments are the same as in `Client.classify`, without `deadline` and `traceparent`. `model` and
    `version` may be given, but must name this model. Threads may share the object. A process that forks must load its
    model after the fork.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._described = _models.of_version(engine.describe())

    @property
    def name(self) -> str:
        return self._described.name

    @property
    def version(self) -> int:
        return self._described.version

    def classify(
        self, image: ImageSource, model: Optional[str] = None, version: Optional[int] = None, **options: Any
    ) -> Result:
        """Classifies one image. Raises the errors of `Client.classify`, except errors of a connection."""
        request = self._template(model, version, options)
        picture = load_picture(image)
        (answer,) = self._engine.run(request, [picture])
        if isinstance(answer, VitrineError):
            raise answer
        return of_response(answer, picture)

    def classify_many(
        self,
        images: Union[Iterable[ImageSource], str, "os.PathLike[str]"],
        model: Optional[str] = None,
        version: Optional[int] = None,
        **options: Any,
    ) -> Iterator[Outcome]:
        """Yields one Result or Refused for each image, in order. `images` is an iterable, which may be endless, or a
        folder. At most 16 images are read ahead; images of any size share batches. If the iteration of `images` raises
        an exception, it is raised after the results of all earlier images."""
        return self._outcomes(iter(pictures(images)), self._template(model, version, options))

    def embed(
        self,
        image: ImageSource,
        model: Optional[str] = None,
        version: Optional[int] = None,
        *,
        feature: Optional[str] = None,
        normalize: bool = False,
        **options: Any,
    ) -> npt.NDArray[np.float32]:
        """Returns one feature of an image, like `Client.embed`."""
        options.update(top_k=0, features=self._feature(feature), normalize=normalize)
        return values_of(self.classify(image, model, version, **options), normalize)

    def embed_many(
        self,
        images: Union[Iterable[ImageSource], str, "os.PathLike[str]"],
        model: Optional[str] = None,
        version: Optional[int] = None,
        *,
        feature: Optional[str] = None,
        normalize: bool = False,
        **options: Any,
    ) -> Iterator[Embedded]:
        """Yields one Embedding or Refused for each image, in order."""
        options.update(top_k=0, features=self._feature(feature), normalize=normalize)
        return (of_outcome(found, normalize) for found in self.classify_many(images, model, version, **options))

    def model(self, name: Optional[str] = None, version: Optional[int] = None) -> _models.Model:
        """Returns the version with its class labels."""
        self._check(name, version)
        return self._described

    def models(self) -> List[_models.Model]:
        return [self._described]

    def close(self) -> None:
        """Frees the model. No call may be in progress. A closed model cannot be used again."""
        self._engine.close()

    def __enter__(self) -> LocalModel:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<vitrine.LocalModel %s>" % self._described

    def _check(self, model: Optional[str], version: Optional[int], label: Optional[str] = None) -> None:
        model, version, label = _arguments.model_version(model, version, label)
        if label is not None:
            raise InvalidArgument("a model in this process has no version labels; leave version_label out")
        if model not in (None, self.name) or version not in (None, self.version):
            asked = (model or self.name, "" if version is None else "@%d" % version)
            raise NotFound("this object holds %s, not %s%s; load it" % (self._described, *asked))

    def _feature(self, feature: Optional[str]) -> str:
        return first_vector(self._described) if feature is None else checked_feature(feature)

    def _template(self, model: Optional[str], version: Optional[int], options: Any) -> Any:
        self._check(model, version, options.pop("version_label", None))
        options.setdefault("top_k", None)
        return Ask(**options).template(self.name, self._described.attention)

    def _outcomes(self, images: Iterator[ImageSource], request: Any) -> Iterator[Outcome]:
        index = 0
        ended: Optional[Exception] = None
        while ended is None:
            batch: List[Tuple[Union[Picture, Exception], str]] = []
            try:
                while len(batch) < _IMAGES_PER_CALL:
                    batch.append(_read(next(images)))
            except Exception as error:  # the end of `images`, or its error, which is raised after these results
                ended = error
            answers = iter(self._engine.run(request, [one for one, _ in batch if isinstance(one, Picture)]))
            for picture, name in batch:
                answer = next(answers) if isinstance(picture, Picture) else picture
                if isinstance(answer, Exception):
                    yield Refused(answer, index, name)
                else:
                    assert isinstance(picture, Picture)
                    yield of_response(answer, picture, index)
                index += 1
        if not isinstance(ended, StopIteration):
            raise ended


def _read(image: ImageSource) -> Tuple[Union[Picture, Exception], str]:
    """Returns two values: first the image, or the exception from reading it; then the image's name."""
    try:
        picture = load_picture(image)
        return picture, picture.name
    except Exception as error:  # any exception: read() may be user code, and warnings may be errors
        return error, str(image) if isinstance(image, (str, os.PathLike)) else type(image).__name__
