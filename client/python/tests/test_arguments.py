# SPDX-License-Identifier: Apache-2.0
"""Tests that wrong arguments raise errors before anything is sent, and arguments that may have several forms."""

import asyncio
import datetime
from fractions import Fraction
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
from both import finish, refusals, results
from conftest import MODEL, ROOT, Server
from scripted import Script, serve

import vitrine
import vitrine.aio
from vitrine.v1 import registry_pb2

DIGIT = ROOT / "samples/digits/digit-7.png"
NAME = "kv-pos-mnist"
INF = float("inf")


@pytest.mark.parametrize("seconds", [INF, 1e300, 1e10, 1e9, np.float32(60), Fraction(61, 2), 30])
def test_any_numeric_deadline_is_accepted(server: Server, seconds: Any) -> None:
    for call in (
        lambda client: client.classify(DIGIT, NAME, deadline=seconds).top1.label == "7",
        lambda client: client.embed(DIGIT, NAME, deadline=seconds).shape == (64,),
        lambda client: [r.ok for r in client.embed_many([DIGIT], NAME, deadline=seconds)] == [True],
        lambda client: client.is_ready(NAME, deadline=seconds),
        lambda client: client.wait_until_ready(deadline=seconds) is None,
    ):
        with vitrine.Client(server.address) as client:
            assert call(client)
    for of_client in (lambda client: client.models(), lambda client: client.classify(DIGIT, NAME)):
        assert all(results(of_client, server.address, deadline=seconds))
    ready = results(lambda client: client.wait_until_ready(NAME, deadline=seconds), server.address)
    many = results(lambda client: client.classify_many([DIGIT] * 2, NAME, deadline=seconds), server.address)
    assert ready == (None, None) and [r.ok for each in many for r in each] == [True] * 4


@pytest.mark.parametrize("seconds", [0, -1, -INF, float("nan")])
def test_a_deadline_must_be_positive(seconds: float) -> None:
    said = "the deadline is %r seconds, must be positive" % seconds
    assert refusals(ValueError, lambda client: client.wait_until_ready(deadline=seconds)) == said
    assert refusals(ValueError, lambda client: client.classify_many([DIGIT], NAME, deadline=seconds)) == said
    for kind in (vitrine.Client, vitrine.aio.Client, vitrine.AdminClient, vitrine.aio.AdminClient):
        with pytest.raises(ValueError, match="must be positive"):
            kind("127.0.0.1:1", deadline=seconds)


@pytest.mark.parametrize("wrong", ["5", True, datetime.timedelta(seconds=5), [5], 5j])
def test_a_deadline_must_be_a_number(wrong: Any) -> None:
    said = 'deadline is %r, must be a number of seconds; float("inf") for no limit' % (wrong,)
    assert refusals(TypeError, lambda client: client.classify(DIGIT, NAME, deadline=wrong)) == said
    assert refusals(TypeError, lambda client: client.embed_many([DIGIT], NAME, deadline=wrong)) == said
    assert refusals(TypeError, lambda client: client.is_ready(deadline=wrong)) == said


@pytest.mark.parametrize(
    "options, said",
    [
        ({"address": ["a:1"]}, "address is ['a:1'], must be a string, as \"a:8500\", or \"a:8500,b:8500\" for several"),
        ({"address": ("a:1", "b:2")}, "address is ('a:1', 'b:2'), must be a string"),
        ({"address": 5}, "address is 5, must be a string"),
        ({"address": b"a:1"}, "address is b'a:1', must be a string"),
        ({"deadline": None}, "deadline is None, must be a number of seconds"),
        ({"deadline": "5"}, "deadline is '5', must be a number of seconds"),
        ({"keepalive": "10"}, "keepalive is '10', must be a number of seconds"),
        ({"keepalive": None}, "keepalive is None, must be a number of seconds"),
        ({"retries": 3}, "retries is 3, must be a RetryPolicy, as vitrine.RetryPolicy(max_attempts=3)"),
        ({"max_in_flight": "8"}, "max_in_flight is '8', must be an integer"),
        ({"max_in_flight": None}, "max_in_flight is None, must be an integer"),
        ({"max_in_flight": 8.0}, "max_in_flight is 8.0, must be an integer"),
        ({"tls": "yes"}, "tls is 'yes', must be True or False"),
        ({"ca": 5}, "ca is 5, must be a path, or PEM as bytes"),
        ({"cert": True, "key": "k"}, "cert is True, must be a path, or PEM as bytes"),
        ({"server_name": 5}, "server_name is 5, must be a string"),
        ({"token": 5}, "token is of type int, must be a string"),
        ({"token": b"secret"}, "token is of type bytes, must be a string"),
        ({"token_file": 5}, "token_file is 5, must be a path"),
    ],
)
def test_client_options_of_wrong_type_are_refused(options: Dict[str, Any], said: str) -> None:
    for kind in (vitrine.Client, vitrine.aio.Client):
        with pytest.raises(TypeError) as caught:
            kind(**options)
        assert str(caught.value).startswith(said)
    if not {"keepalive", "retries", "max_in_flight"}.intersection(options):
        for admin in (vitrine.AdminClient, vitrine.aio.AdminClient):
            with pytest.raises(TypeError, match=next(iter(options))):
                admin(**{"address": "127.0.0.1:1", **options})


@pytest.mark.parametrize(
    "options, kind, said",
    [
        ({"max_attempts": "3"}, TypeError, "max_attempts is '3', must be an integer"),
        ({"max_attempts": None}, TypeError, "max_attempts is None, must be an integer"),
        ({"max_attempts": 2.5}, TypeError, "max_attempts is 2.5, must be an integer"),
        ({"initial_backoff": "1"}, TypeError, "initial_backoff is '1', must be a number of seconds"),
        ({"max_backoff": None}, TypeError, "max_backoff is None, must be a number of seconds"),
        ({"max_backoff": INF}, ValueError, "max_backoff is inf seconds, must be at most 86400"),
        ({"initial_backoff": float("nan")}, ValueError, "initial_backoff must be positive"),
    ],
)
def test_invalid_retry_policies_are_refused(options: Dict[str, Any], kind: Any, said: str) -> None:
    with pytest.raises(kind) as caught:
        vitrine.RetryPolicy(**options)
    assert said in str(caught.value)


LABEL = "must be a number, as in version=3; a label is given as version_label"
ATTENTION: Any = vitrine.Attention
SIDES = "must be a number of pixels for both sides, or (height, width)"


@pytest.mark.parametrize(
    "options, said",
    [
        ({"model": 5}, "model is 5, must be a string"),
        ({"version": "stable"}, "version is 'stable', " + LABEL),
        ({"version": "2"}, "version is '2', " + LABEL),
        ({"version": 2.0}, "version is 2.0, " + LABEL),
        ({"version": True}, "version is True, " + LABEL),
        ({"version_label": 2}, "version_label is 2, must be a string"),
        ({"top_k": "1"}, "top_k is '1', must be an integer"),
        ({"top_k": 1.0}, "top_k is 1.0, must be an integer"),
        ({"top_k": True}, "top_k is True, must be an integer"),
        ({"resolution": "32x32"}, "resolution is '32x32', " + SIDES),
        ({"resolution": 32.5}, "resolution is 32.5, " + SIDES),
        ({"resolution": (32,)}, "resolution is (32,), " + SIDES),
        ({"resolution": (32, "32")}, "resolution is '32', " + SIDES),
        ({"resolution": True}, "resolution is True, " + SIDES),
        ({"normalize": 1, "features": "class"}, "normalize is 1, must be True or False"),
        ({"priority": 1}, "priority is 1; give one of low, normal, high"),
        ({"attention": [["mean"]]}, "attention is ['mean']; give one of class, mean"),
        ({"features": [{}]}, "features is {}; give one of class, mean, patches"),
        ({"max_attention_bytes": "1"}, "max_attention_bytes is '1', must be an integer"),
        ({"traceparent": 5}, "traceparent is 5, must be a string"),
        ({"attention": ATTENTION("mean", layers=3)}, "layers is 3, must be a sequence of integers"),
        ({"attention": ATTENTION("mean", heads=[1.5])}, "a number of heads is 1.5, must be an integer"),
        ({"attention": ATTENTION("query", query="3")}, "query is '3', must be an integer"),
        ({"attention": ATTENTION(5)}, "attention is 5; give one of class, mean"),
    ],
)
def test_call_options_of_wrong_type_are_refused(options: Dict[str, Any], said: str) -> None:
    given: Dict[str, Any] = {"model": NAME, **options}
    assert refusals(TypeError, lambda client: client.classify(DIGIT, **given)).startswith(said)
    assert refusals(TypeError, lambda client: client.classify_many([DIGIT], **given)).startswith(said)


def test_numbers_have_ranges_and_may_be_numpy(server: Server) -> None:
    said = refusals(ValueError, lambda client: client.classify(DIGIT, NAME, top_k=2**40))
    assert said == "top_k is 1099511627776, must be -2147483648 to 2147483647"
    assert "version is" in refusals(ValueError, lambda client: client.model(NAME, 2**80))
    with vitrine.Client(server.address) as client:
        numbers: Dict[str, Any] = {"version": np.int64(1), "top_k": np.int32(3)}
        assert len(client.classify(DIGIT, NAME, **numbers).predictions) == 3


def test_normalize_needs_features() -> None:
    said = 'normalize has no effect without features; add features, as in features="class"'
    assert refusals(vitrine.InvalidArgument, lambda client: client.classify(DIGIT, NAME, normalize=True)) == said
    many = refusals(vitrine.InvalidArgument, lambda client: client.classify_many([DIGIT], NAME, normalize=True))
    assert many == said


def test_a_model_can_include_its_version() -> None:
    script = Script()

    def asked(**given: Any) -> List[Tuple[str, int, str]]:
        script.requests.clear()
        results(lambda client: client.classify(b"one", **given), address)
        results(lambda client: client.classify_many([b"one"], **given), address)
        return [(request.model, request.version, request.version_label) for request in script.requests]

    with serve(script) as address:
        assert asked(model="m@2") == [("m", 2, "")] * 4
        assert asked(model="m@canary") == [("m", 0, "canary")] * 4
        assert asked(model="m", version=2) == [("m", 2, "")] * 4


def test_a_version_in_the_model_is_used(server: Server) -> None:
    assert [model.version for model in results(lambda client: client.model(NAME + "@1"), server.address)] == [1, 1]
    assert [x.shape for x in results(lambda client: client.embed(DIGIT, NAME + "@1"), server.address)] == [(64,)] * 2
    outcomes = results(lambda client: client.embed_many([DIGIT], NAME + "@1"), server.address)
    assert [outcome.served_by.version for each in outcomes for outcome in each] == [1, 1]
    said = refusals(vitrine.NotFound, lambda client: client.classify(DIGIT, NAME + "@7"), server.address)
    assert "no version 7" in said


@pytest.mark.parametrize(
    "model, options, said",
    [
        ("m@2", {"version": 3}, 'model is "m@2", and version 3 is given as well; leave one of them out'),
        ("m@2", {"version_label": "x"}, 'model is "m@2", and version_label "x" is given as well; leave one of them'),
        ("m@", {}, 'model is "m@", must be NAME, NAME@VERSION or NAME@LABEL'),
        ("@2", {}, 'model is "@2", must be NAME, NAME@VERSION or NAME@LABEL'),
        ("m@0", {}, "the version in model is 0, must be 1 to 9223372036854775807"),
    ],
)
def test_invalid_models_with_version_are_refused(model: str, options: Dict[str, Any], said: str) -> None:
    for call in ("classify", "classify_many", "embed", "embed_many"):
        images: Any = [DIGIT] if call.endswith("many") else DIGIT
        asked = refusals(vitrine.InvalidArgument, lambda client: getattr(client, call)(images, model, **options))
        assert asked.startswith(said)
    assert refusals(vitrine.InvalidArgument, lambda client: client.model(model, **options)).startswith(said)


def test_some_calls_refuse_a_version_in_the_model() -> None:
    said = "model is 'm@2', but this call takes the name without a version"
    for call in ("is_ready", "wait_until_ready", "watch"):
        assert refusals(vitrine.InvalidArgument, lambda client: getattr(client, call)("m@2")) == said
        assert refusals(TypeError, lambda client: getattr(client, call)(5)) == "model is 5, must be a string"
    assert refusals(TypeError, lambda client: client.model(None)) == "name is None, must be a string"


def test_a_closed_client_reports_that_it_is_closed(server: Server) -> None:
    said = "this client is closed; create another one"
    calls: List[Any] = [
        lambda client: client.classify(DIGIT, NAME),
        lambda client: client.classify_many([DIGIT], NAME),
        lambda client: client.embed(DIGIT, NAME),
        lambda client: client.models(),
        lambda client: client.model(NAME),
        lambda client: client.is_ready(),
        lambda client: client.wait_until_ready(),
        lambda client: client.watch(),
    ]
    client = vitrine.Client(server.address)
    assert client.models()
    client.close()
    client.close()
    for call in calls:
        with pytest.raises(vitrine.Cancelled) as caught:
            next(iter(result)) if hasattr(result := call(client), "__next__") else result
        assert str(caught.value) == said
    with vitrine.Client(server.address) as client, pytest.raises(vitrine.Cancelled, match=said):
        with client._calls.servers.calls() as stubs:
            client.close()  # as another thread may do between these two lines
            stubs.list(registry_pb2.ListModelsRequest())

    async def use() -> None:
        client = vitrine.aio.Client(server.address)
        assert await client.models()
        await client.close()
        for call in calls:
            with pytest.raises(vitrine.Cancelled, match=said):
                await finish(call(client))

    asyncio.run(asyncio.wait_for(use(), 60))


def test_admin_arguments_are_validated() -> None:
    with vitrine.AdminClient("127.0.0.1:1") as admin:
        wrong: Any
        for wrong, said in (
            (lambda: admin.load("m", "2"), "version is '2', must be a number"),
            (lambda: admin.load(None), "model is None, must be a string"),
            (lambda: admin.reset(5), "model is 5, must be a string"),
            (lambda: admin.set_label("m", 5, 2), "label is 5, must be a string"),
            (lambda: admin.set_label("m", "stable", None), "version is None, must be an integer"),
            (lambda: admin.rollback("m", reason=5), "reason is 5, must be a string"),
            (lambda: admin.set_traffic("m", [(2, 5)]), "shares is [(2, 5)], must be a mapping"),
            (lambda: admin.set_traffic("m", {"2": 5}), "a version in shares is '2', must be an integer"),
            (lambda: admin.set_traffic("m", {2: "5"}), "the share of version 2 is '5', must be a number of percents"),
            (lambda: admin.load("m", deadline="5"), "deadline is '5', must be a number of seconds"),
            (lambda: vitrine.VersionPolicy(latest="2"), "latest is '2', must be an integer"),
            (lambda: vitrine.VersionPolicy(specific=3), "specific is 3, must be a sequence of integers"),
        ):
            with pytest.raises(TypeError) as mistyped:
                wrong()
            assert str(mistyped.value).startswith(said)
        for wrong, said in (
            (lambda: admin.set_traffic("m", {2: 500}), "the share of version 2 is 500 %; it must be above"),
            (lambda: admin.set_traffic("m", {2: 0}), "the share of version 2 is 0 %; it must be above"),
            (lambda: admin.unload("m@canary"), 'model is "m@canary", but this call takes a version by its number'),
            (lambda: admin.load("m@2", 3), 'model is "m@2", and version 3 is given as well'),
            (lambda: admin.reset("m@2"), "model is 'm@2', but this call takes the name without a version"),
        ):
            with pytest.raises(vitrine.InvalidArgument) as refused:
                wrong()
            assert str(refused.value).startswith(said)
    with pytest.raises(vitrine.Cancelled, match="this client is closed"):
        admin.serving()


def test_admin_accepts_versions_in_models_and_any_deadline(tmp_path: Any) -> None:
    server = Server(tmp_path, ROOT / "models/bundled", options=["--admin", "127.0.0.1:0"])

    async def use() -> None:
        async with vitrine.aio.AdminClient(server.ports["admin"], deadline=INF) as admin:
            assert (await admin.load(MODEL + "@2", deadline=1e300)).serving.model == MODEL
            with pytest.raises(vitrine.InvalidArgument, match="500 %"):
                await admin.set_traffic(MODEL, {2: 500})
        with pytest.raises(vitrine.Cancelled):
            await admin.serving()

    with vitrine.AdminClient(server.ports["admin"], deadline=INF) as admin:
        assert admin.load(NAME + "@1").serving.model == NAME
        assert admin.serving(deadline=1e300).models
    asyncio.run(asyncio.wait_for(use(), 60))
    server.stop()
