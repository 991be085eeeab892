# SPDX-License-Identifier: Apache-2.0
import pickle
import socket
import time
from pathlib import Path

import pytest
from both import refusals
from conftest import MODEL
from scripted import Script, abort_full, answer, serve

import grpc
import vitrine


def test_the_servers_error_message_is_unchanged(client: vitrine.Client, cat: Path) -> None:
    with pytest.raises(vitrine.InvalidArgument) as refused:
        client.classify(cat.read_bytes()[:5000], MODEL)
    assert refused.value.code == "INVALID_ARGUMENT" and isinstance(refused.value, ValueError)
    with pytest.raises(vitrine.InvalidArgument, match="neither a JPEG nor a PNG"):
        client.classify(b"no picture", MODEL)
    with pytest.raises(vitrine.InvalidArgument):
        client.classify(b"", MODEL)
    with pytest.raises(vitrine.NotFound, match="no-such-model"):
        client.classify(cat, "no-such-model")
    with pytest.raises(vitrine.NotFound, match="77"):
        client.classify(cat, MODEL, version=77)
    with pytest.raises(vitrine.InvalidArgument, match="layer"):
        client.classify(cat, MODEL, attention=vitrine.Attention("mean", layers=[99]))
    with pytest.raises(vitrine.InvalidArgument, match="top_k"):
        client.classify(cat, MODEL, top_k=11)
    with pytest.raises(vitrine.ResourceExhausted, match="max_attention_bytes") as exhausted:
        client.classify(cat, MODEL, attention="weights", max_attention_bytes=10)
    assert exhausted.value.retry_after is None
    with pytest.raises(vitrine.NotFound):
        client.model("no-such-model")


def test_wrong_arguments_are_refused_before_sending(cat: Path) -> None:
    with vitrine.Client("127.0.0.1:1") as client:
        with pytest.raises(vitrine.InvalidArgument, match="'colour' is not known; there is class, mean"):
            client.classify(cat, MODEL, attention=["colour"])
        with pytest.raises(vitrine.InvalidArgument, match="'urgent' is not known; there is low, normal, high"):
            client.classify_many([cat], MODEL, priority="urgent")
        with pytest.raises(vitrine.InvalidArgument, match="there is class, mean, patches"):
            client.classify(cat, features="colour")
        with pytest.raises(TypeError, match="attention is True; give one of class, mean, .* or a sequence of them"):
            client.classify(cat, MODEL, attention=True)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="features is 5; give one of class, mean, patches, .* or a sequence of them"):
            client.classify_many([cat], MODEL, features=5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not int"):
            client.classify(5, MODEL)  # type: ignore[arg-type]
        with pytest.raises(IsADirectoryError):
            client.classify(cat.parent, MODEL)


def test_contradictory_options_are_refused() -> None:
    for options, sentence in [
        ({"cert": b"x"}, "must be given together"),
        ({"tls": False, "ca": b"x"}, "tls=False"),
        ({"max_in_flight": 65}, "1 to 64"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            vitrine.Client("example.org:443", **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1 to 20"):
        vitrine.RetryPolicy(max_attempts=0)
    with pytest.raises(ValueError, match="at most max_backoff"):
        vitrine.RetryPolicy(initial_backoff=9)


def test_an_unreachable_server_is_reported(cat: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % closed.getsockname()[1]
        quick = vitrine.RetryPolicy(max_attempts=3, initial_backoff=0.02)
        with vitrine.Client(address, retries=quick) as client:
            began = time.monotonic()
            with pytest.raises(vitrine.Unavailable, match="no server answers at " + address) as lost:
                client.classify(cat, MODEL)
            assert isinstance(lost.value, ConnectionError) and time.monotonic() - began < 5
            with pytest.raises(vitrine.Unavailable):
                client.models()
            with pytest.raises(vitrine.Unavailable):
                next(client.watch())


def test_a_too_short_deadline_is_exceeded(client: vitrine.Client, cat: Path) -> None:
    with pytest.raises(vitrine.DeadlineExceeded) as late:
        client.classify(cat, MODEL, deadline=0.0005)
    assert isinstance(late.value, TimeoutError)
    assert client.classify(cat, MODEL).ok, "the client is as good as before"


def test_a_deadline_includes_model_lookups() -> None:
    """The server never answers. The deadline of each call is shorter than the client's own deadline."""
    every = vitrine.Attention("mean", layers="all")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "127.0.0.1:%d" % silent.getsockname()[1]
        for call in (
            lambda client: client.classify(b"one", deadline=0.3),
            lambda client: client.classify(b"one", "m", attention=every, deadline=0.3),
            lambda client: client.embed(b"one", deadline=0.3),
            lambda client: client.embed(b"one", "m", deadline=0.3),
            lambda client: client.classify_many([b"one"], deadline=0.3),
            lambda client: client.embed_many([b"one"], "m", feature="class", deadline=0.3),
        ):
            began = time.monotonic()
            said = refusals(vitrine.DeadlineExceeded, call, address, deadline=60)
            assert said == "no answer within 0.3 s" and time.monotonic() - began < 30


def test_the_servers_retry_delay_is_respected() -> None:
    script = Script()
    script.classify = lambda request, context: (
        abort_full(context, 0.3) if len(script.requests) < 3 else answer(request)
    )
    with serve(script) as address, vitrine.Client(address) as client:
        began = time.monotonic()
        assert client.classify(b"one", "m").top1.label == "one"
        assert time.monotonic() - began >= 0.6 and len(script.requests) == 3


def test_retries_end_with_attempts_or_deadline() -> None:
    script = Script()
    script.classify = lambda request, context: abort_full(context, 0.05)
    policy = vitrine.RetryPolicy(max_attempts=2)
    with serve(script) as address, vitrine.Client(address, retries=policy) as client:
        with pytest.raises(vitrine.ResourceExhausted, match="the server is full") as full:
            client.classify(b"one", "m")
        assert full.value.retry_after == pytest.approx(0.05) and len(script.requests) == 2
        script.classify = lambda request, context: abort_full(context, 60)
        began = time.monotonic()
        with pytest.raises(vitrine.ResourceExhausted):
            client.classify(b"one", "m", deadline=5)
        assert time.monotonic() - began < 4, "a wait that uses up the deadline is not begun"


def test_missing_registry_access_is_explained() -> None:
    script = Script()
    script.registry = grpc.StatusCode.PERMISSION_DENIED
    every_head = vitrine.Attention("mean", heads="all")
    with serve(script) as address:
        assert refusals(vitrine.PermissionDenied, lambda client: client.classify(b"one"), address) == (
            'denied; name the model, as in model="NAME"'
        )
        assert refusals(vitrine.PermissionDenied, lambda client: client.embed(b"one", "m"), address) == (
            'denied; name a feature, as in feature="class"'
        )
        assert "give layers and heads as numbers" in refusals(
            vitrine.PermissionDenied, lambda client: client.classify(b"one", "m", attention=every_head), address
        )


def test_errors_can_be_pickled() -> None:
    for kind in (vitrine.ResourceExhausted, vitrine.Unavailable, vitrine.DeadlineExceeded, vitrine.NotFound):
        error = pickle.loads(pickle.dumps(kind("a sentence", retry_after=1.5)))
        assert type(error) is kind and str(error) == "a sentence" and error.retry_after == 1.5
