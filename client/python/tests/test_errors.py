# SPDX-License-Identifier: Apache-2.0
"""Each code has its class, as in the guide's table."""

import builtins
import re
from typing import Dict, List, Tuple

import grpc
import pytest
from conftest import ROOT
from scripted import Script, serve, stream_error

import vitrine
from vitrine import errors

CODES = [code for code in grpc.StatusCode if code != grpc.StatusCode.OK]


def table() -> Dict[str, Tuple[str, List[str]]]:
    """Returns the class and its base classes by code."""
    text = (ROOT / "docs/how-to/python.md").read_text().split("## Errors")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([A-Z_]+(?:, [A-Z_]+)*) \| `(\w+)` \|([^|]*)\|", text, re.MULTILINE)
    return {
        code: (kind, re.findall(r"`(\w+)`", also)) for codes, kind, also in rows for code in codes.split(", ")
    }


def test_the_table_has_every_code() -> None:
    assert set(table()) == {code.name for code in CODES}
    named = {kind for kind, _ in table().values()}
    kinds = {n for n in vitrine.__all__ if isinstance(getattr(vitrine, n), type)}
    errors = {n for n in kinds if issubclass(getattr(vitrine, n), vitrine.VitrineError)}
    assert errors == named | {"NotReady", "HandshakeFailed"}


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_each_code_raises_its_class(code: grpc.StatusCode) -> None:
    name, also = table()[code.name]
    expected = getattr(vitrine, name)
    bases = {base for base in vars(builtins).values() if isinstance(base, type) and issubclass(expected, base)}
    own = {base.__name__ for base in bases} - {"object", "BaseException", "Exception"}
    assert set(also) <= own and (bool(also) == bool(own)), own
    script = Script()
    script.classify = lambda request, context: context.abort(code, "a sentence")
    script.stream = lambda requests, context: (stream_error(request, code) for request in requests)
    once = vitrine.RetryPolicy(max_attempts=1)

    with serve(script) as address, vitrine.Client(address, retries=once) as client:
        with pytest.raises(vitrine.VitrineError, match="^a sentence$") as error:
            client.classify(b"x", "m")
        (result,) = client.classify_many([b"x"], "m")
    assert type(error.value) is expected and error.value.code == code.name
    assert isinstance(result, vitrine.Refused) and result.code == code.name
    assert type(result.error) is expected and not result.ok


def test_errors_use_the_python_names_of_kinds() -> None:
    sentence = "this model has no %s of kind %s; it has %s"
    for own, contract in (
        (("attention", "rollout", "class, channels"), ("attention", "ROLLOUT", "CLASS_TOKEN_ROW, CROSS_COVARIANCE")),
        (("features", "projection", "class, patches"), ("features", "PROJECTION", "CLASS_TOKEN, PATCH_TOKENS")),
    ):
        assert str(errors.of_code("INVALID_ARGUMENT", sentence % contract)) == sentence % own
        assert str(errors.of_code("INTERNAL", sentence % contract)) == sentence % contract
