# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments. Their errors name the argument and the form that it must have."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, Optional, Tuple

from vitrine.errors import InvalidArgument

# Longest deadline in seconds, about 31 years. If a deadline is more than about 200 years, gRPC fails the call
# immediately. A deadline that is longer than this value, such as float("inf"), is shortened to it.
LONGEST_DEADLINE = 1e9
# Ranges of the values of protobuf's int32 and int64 fields.
INT32, INT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)


def wrong_type(name: str, value: Any, form: str) -> TypeError:
    return TypeError("%s is %r, must be %s" % (name, value, form))


def text(name: str, value: Any, optional: bool = True) -> None:
    """Raises TypeError unless `value` is a string, or None if `optional`."""
    if not isinstance(value, str) and not (value is None and optional):
        raise wrong_type(name, value, "a string")


def file(name: str, value: Any, form: str = "a path", also: Tuple[type, ...] = ()) -> None:
    """Raises TypeError unless `value` is a path, None, or of one of the types `also`."""
    if value is not None and not isinstance(value, (str, os.PathLike, *also)):
        raise wrong_type(name, value, form)


def flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise wrong_type(name, value, "True or False")


def integer(
    name: str, value: Any, limits: Tuple[int, int] = INT32, form: str = "an integer", optional: bool = True
) -> None:
    """Raises TypeError unless `value` is an integer, or None if `optional`. InvalidArgument: it is outside `limits`."""
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise wrong_type(name, value, form)
    if not limits[0] <= int(value) <= limits[1]:
        raise InvalidArgument("%s is %d, must be %d to %d" % (name, value, *limits))


def integers(name: str, values: Any) -> Tuple[int, ...]:
    """Returns the values. TypeError: they are no sequence of integers."""
    form = "a sequence of integers, as in [0, 1]"
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise wrong_type(name, values, form)
    found = tuple(values)
    for value in found:
        integer("a number of " + name, value, optional=False)
    return found


def real(name: str, value: Any, form: str = "a number of seconds") -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_type(name, value, form)
    return float(value)


def deadline(value: Any) -> float:
    """Returns a deadline in seconds; at most LONGEST_DEADLINE. ValueError: it is not positive."""
    seconds = real("deadline", value, 'a number of seconds; float("inf") for no limit')
    if not seconds > 0:
        raise ValueError("the deadline is %r seconds, must be positive" % (value,))
    return min(seconds, LONGEST_DEADLINE)


def version(value: Any, form: str = "an integer", optional: bool = True) -> None:
    integer("version", value, INT64, form, optional)


def name_only(model: Any, optional: bool = True) -> None:
    """Checks the name of a model for a call that takes no version. InvalidArgument: the name has a version."""
    text("model", model, optional)
    if model is not None and "@" in model:
        raise InvalidArgument("model is %r, but this call takes the name without a version" % model)


def model_version(
    model: Any, number: Any = None, label: Any = None
) -> Tuple[Optional[str], Optional[int], Optional[str]]:
    """Returns name, version and version label of a model that may be given as NAME@VERSION or NAME@LABEL, as on the
    command line."""
    text("model", model)
    version(number, "a number, as in version=3; a label is given as version_label")
    text("version_label", label)
    if model is None or "@" not in model:
        return model, number, label
    name, _, which = model.partition("@")
    if number is not None or label is not None:
        other = "version %d" % number if number is not None else 'version_label "%s"' % label
        raise InvalidArgument('model is "%s", and %s is given as well; leave one of them out' % (model, other))
    if not name or not which:
        raise InvalidArgument('model is "%s", must be NAME, NAME@VERSION or NAME@LABEL' % model)
    if not (which.isascii() and which.isdigit()):
        return name, None, which
    integer("the version in model", int(which), (1, INT64[1]))
    return name, int(which), None
