# SPDX-License-Identifier: Apache-2.0
"""Checks custom resources against the fields in custom_resources.yaml."""
import pathlib
import re
from typing import Any, Iterator

import yaml

import manifests

SHAPES = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yaml").read_text())
DEFINITIONS = SHAPES.pop("definitions")
TYPES = {"number": int, "truth": bool}


def shape_of(document: manifests.Document) -> Any:
    """Returns the fields that this custom resource may have; None if the object is not a known custom resource."""
    return SHAPES.get(f"{document['apiVersion']} {document['kind']}")


def faults(value: Any, shape: Any, where: str) -> Iterator[str]:
    """Yields an error for each part of `value` that does not match `shape`."""
    shape = DEFINITIONS.get(shape, shape) if isinstance(shape, str) else shape
    if shape == "any":
        return
    if isinstance(shape, str):
        # Kubernetes accepts no number in place of a string, and no string in place of a number.
        if type(value) is not TYPES.get(shape, str) or (shape not in TYPES and not re.fullmatch(shape, value, re.S)):
            yield f"{where}: {value!r} is no {shape}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where}: {value!r} is no list"
            return
        for index, item in enumerate(value):
            yield from faults(item, shape[0], f"{where}[{index}]")
    elif not isinstance(value, dict):
        yield f"{where}: {value!r} has no fields"
    else:
        fields = {name.rstrip("!"): inner for name, inner in shape.items()}
        for name in shape:
            if name.endswith("!") and name[:-1] not in value:
                yield f"{where} lacks {name[:-1]}"
        for name, inner in value.items():
            if name not in fields and "*" not in fields:
                yield f"{where}: no field {name}"
                continue
            yield from faults(inner, fields.get(name, fields.get("*")), f"{where}.{name}")
