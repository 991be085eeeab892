# SPDX-License-Identifier: Apache-2.0
import itertools
import os
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Iterator, List

import grpc
import numpy as np
import pytest
from conftest import MODEL, ROOT, Server, free_port
from scripted import Script, Unreadable, serve, stream_answer, stream_error

import vitrine


def test_the_remaining_deadline_is_sent_to_the_server() -> None:
    script = Script()
    with serve(script) as address, vitrine.Client(address, deadline=30) as client:
        list(client.classify_many([np.zeros((4, 4), np.uint8)] * 2, "m"))
        list(client.classify_many([np.zeros((4, 4), np.uint8)], "m", deadline=7))
    told = [request.time_limit for request in script.requests]
    assert told == [pytest.approx(30, abs=1), pytest.approx(30, abs=1), pytest.approx(7, abs=1)]


def test_results_come_in_order(client: vitrine.Client, cats: List[Path]) -> None:
    expected = [client.classify(path, MODEL).top1.label for path in cats]
    results = list(client.classify_many(cats * 5, MODEL, attention="mean", features="class"))
    assert [r.index for r in results] == list(range(60))
    assert [r.source for r in results] == [str(path) for path in cats * 5]
    assert [r.top1.label for r in results if isinstance(r, vitrine.Result)] == expected * 5
    assert all(isinstance(r, vitrine.Result) and r.attention and "class" in r.features for r in results)


def test_failed_images_keep_their_position(client: vitrine.Client, cat: Path) -> None:
    broken: List[Any] = [cat, b"nothing", "nowhere.jpg", 5, np.zeros((4, 4), np.int32), cat.read_bytes()[:4000], cat]
    results = list(client.classify_many(broken, MODEL))
    assert [r.ok for r in results] == [True, False, False, False, False, False, True]
    refused = [r for r in results if isinstance(r, vitrine.Refused)]
    assert [r.index for r in refused] == [1, 2, 3, 4, 5]
    assert [r.code for r in refused] == [
        "INVALID_ARGUMENT",
        "UNREADABLE",
        "UNREADABLE",
        "INVALID_ARGUMENT",
        "INVALID_ARGUMENT",
    ]
    assert isinstance(refused[1].error, FileNotFoundError) and refused[1].source == "nowhere.jpg"
    assert "nowhere.jpg" in repr(refused[1])


def test_an_error_of_an_image_is_its_result() -> None:
    errors = [KeyError("k"), StopIteration(), ZeroDivisionError(), RuntimeError("r"), MemoryError()]
    with serve(Script()) as address, vitrine.Client(address) as client:
        results = list(client.classify_many([b"a", *map(Unreadable, errors), b"b"], "m"))
        with pytest.raises(KeyError):
            client.classify(Unreadable(KeyError("k")), "m")  # type: ignore[arg-type]
    assert [r.ok for r in results] == [True] + [False] * 5 + [True]
    refused = [r for r in results if isinstance(r, vitrine.Refused)]
    assert [r.error for r in refused] == errors
    assert {(r.code, r.source) for r in refused} == {("UNREADABLE", "Unreadable")}


def test_a_warning_as_error_is_the_images_result(large: bytes) -> None:
    with serve(Script()) as address, vitrine.Client(address) as client, warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = client.classify_many([large, b"b"], "m")
    assert isinstance(first, vitrine.Refused) and isinstance(first.error, vitrine.PictureWarning)
    assert second.ok


def test_a_too_large_message_fails_alone(server: Server, cats: List[Path]) -> None:
    huge = b"\xff\xd8" + bytes(17 << 20)
    with vitrine.Client(server.address, max_in_flight=4) as client:
        results = list(client.classify_many([cats[0], cats[1], huge, cats[2], cats[3]], MODEL))
    assert [r.ok for r in results] == [True, True, False, True, True]
    assert isinstance(results[2], vitrine.Refused) and results[2].code == "RESOURCE_EXHAUSTED"


def test_an_empty_source_gives_no_results(client: vitrine.Client) -> None:
    assert list(client.classify_many([], MODEL)) == []


def test_an_endless_source_is_read_as_needed(server: Server) -> None:
    picture = (ROOT / "samples/digits/digit-3.png").read_bytes()
    taken = itertools.count()
    with vitrine.Client(server.address, max_in_flight=4) as client:
        results = client.classify_many((picture for _ in taken), "kv-pos-mnist")
        labels = [r.top1.label for r in itertools.islice(results, 100) if isinstance(r, vitrine.Result)]
        assert labels == ["3"] * 100
        results.close()
    assert next(taken) <= 100 + 4 * 4 + 2
    end = time.monotonic() + 10
    while any(thread.name == "vitrine-stream" for thread in threading.enumerate()):
        assert time.monotonic() < end, "the thread of the stream stays"
        time.sleep(0.01)


def test_an_error_of_the_source_follows_earlier_results(client: vitrine.Client, cats: List[Path]) -> None:
    def source() -> Iterator[Path]:
        yield from cats
        raise KeyError("the data set ends here")

    results = []
    with pytest.raises(KeyError, match="ends here"):
        for result in client.classify_many(source(), MODEL):
            results.append(result)
    assert len(results) == 12 and all(result.ok for result in results)


def test_time_of_the_caller_does_not_count_for_the_deadline(server: Server, cats: List[Path]) -> None:
    with vitrine.Client(server.address, max_in_flight=2) as client:
        ok = []
        for result in client.classify_many(cats[:5], MODEL, deadline=3):
            ok.append(result.ok)
            time.sleep(0.8)
    assert ok == [True] * 5


def test_a_server_restart_loses_no_result(tmp_path: Path) -> None:
    """Image i shows the digit i % 10, so that a lost, repeated or swapped answer is detected."""
    digits = [ROOT / ("samples/digits/digit-%d.png" % (i % 10)) for i in range(400)]
    first = Server(tmp_path, ROOT / "models/bundled", port=free_port())
    second: List[Server] = []

    def source() -> Iterator[Path]:
        for number, digit in enumerate(digits):
            if number in (150, 300):
                (second[-1] if second else first).kill()
                second.append(Server(tmp_path, ROOT / "models/bundled", port=first.port))
            yield digit

    policy = vitrine.RetryPolicy(max_attempts=20, max_backoff=0.5)
    with vitrine.Client(first.address, retries=policy, deadline=30) as client:
        results = list(client.classify_many(source(), "kv-pos-mnist"))
    assert [r.index for r in results] == list(range(400))
    assert [r.top1.index for r in results if isinstance(r, vitrine.Result)] == [i % 10 for i in range(400)]
    second[-1].stop()


def test_a_server_that_stays_unreachable_ends_the_run(tmp_path: Path) -> None:
    started = Server(tmp_path, ROOT / "models/bundled")
    picture = ROOT / "samples/digits/digit-3.png"
    taken = 0
    results: List[Any] = []

    def source() -> Iterator[Path]:
        nonlocal taken
        for taken in itertools.count(1):
            if len(results) >= 20 and started.process.poll() is None:
                started.kill()
            yield picture

    policy = vitrine.RetryPolicy(max_attempts=3, initial_backoff=0.01)
    with vitrine.Client(started.address, retries=policy) as client, pytest.raises(vitrine.Unavailable):
        for result in client.classify_many(source(), "kv-pos-mnist"):
            results.append(result)
    assert len(results) == taken, "everything that was taken was given"
    assert any(r.ok for r in results) and not results[-1].ok
    assert {r.code for r in results if isinstance(r, vitrine.Refused)} == {"UNAVAILABLE"}


def test_requests_wait_together_for_an_unreachable_server() -> None:
    script = Script()
    streams = itertools.count()

    def stream(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        if next(streams) < 8:
            next(requests)
            context.abort(grpc.StatusCode.UNAVAILABLE, "going down")
        yield from map(stream_answer, requests)

    script.stream = stream
    policy = vitrine.RetryPolicy(initial_backoff=0.01)
    with serve(script) as address, vitrine.Client(address, retries=policy) as client:
        results = list(client.classify_many([b"%d" % i for i in range(200)], "m"))
    assert [r for r in results if not r.ok] == []
    assert len(results) == 200 and next(streams) == 9


def test_a_hanging_server_counts_as_lost(tmp_path: Path) -> None:
    started = Server(tmp_path, ROOT / "models/bundled")
    picture = ROOT / "samples/digits/digit-3.png"
    results: List[Any] = []
    with vitrine.Client(started.address, deadline=1, max_in_flight=4) as client:
        with pytest.raises(vitrine.Unavailable, match="does not answer"):
            for result in client.classify_many(itertools.repeat(picture), "kv-pos-mnist"):
                results.append(result)
                if len(results) == 20:
                    started.process.send_signal(signal.SIGSTOP)
    started.kill()
    codes = [getattr(r, "code", "OK") for r in results]
    assert codes.count("DEADLINE_EXCEEDED") <= 3 * 4 and set(codes[-4:]) == {"UNAVAILABLE"}


def test_a_retry_due_during_the_callers_work_is_sent() -> None:
    script = Script()

    def stream(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        first, second = next(requests), next(requests)
        yield stream_error(second, grpc.StatusCode.RESOURCE_EXHAUSTED, 0.05)
        yield stream_answer(first)
        yield from map(stream_answer, requests)

    script.stream = stream
    ok = []
    with serve(script) as address, vitrine.Client(address) as client:
        for result in client.classify_many([b"a", b"b"], "m", deadline=3):
            ok.append(result.ok)
            time.sleep(0.2)
    assert ok == [True, True]


def test_a_request_without_an_answer_expires() -> None:
    script = Script()
    release = threading.Event()

    def stream(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        for request in requests:
            if request.image == b"slow":
                context.add_callback(release.set)
                release.wait(20)
            yield stream_answer(request)

    script.stream = stream
    with serve(script) as address, vitrine.Client(address) as client:
        results = list(client.classify_many([b"a", b"slow"], "m", deadline=2))
        assert [getattr(r, "code", "OK") for r in results] == ["OK", "DEADLINE_EXCEEDED"]
        assert release.wait(5), "the call was not cancelled"


def test_an_answer_with_an_unknown_id_ends_the_run() -> None:
    script = Script()

    def stream(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        for request in requests:
            request.request_id = "unheard-of"
            yield stream_answer(request)

    script.stream = stream
    with serve(script) as address, vitrine.Client(address) as client:
        results = []
        with pytest.raises(vitrine.Internal, match="unheard-of"):
            for result in client.classify_many([b"a", b"b"], "m"):
                results.append(result)
    assert results and not any(r.ok for r in results)


def test_results_with_invalid_utf8_names_can_be_printed(client: vitrine.Client, cat: Path, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/c\xff.jpg"))
    path.write_bytes(cat.read_bytes())
    shown: List[Any] = [*client.classify_many([path, path / "none"], MODEL), *client.embed_many([path], MODEL)]
    for result in shown:
        assert "c\\xff.jpg" in repr(result).encode().decode()
    for result in shown[:2]:
        assert "c\\xff.jpg" in result._repr_html_().encode().decode()
