# SPDX-License-Identifier: Apache-2.0
import asyncio
import itertools
import threading
import warnings
from pathlib import Path
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator, List, TypeVar

import grpc
import pytest
from conftest import MODEL, ROOT, Server
from scripted import Script, Unreadable, answer, serve, stream_answer

import vitrine
import vitrine.aio

T = TypeVar("T")


def run(address: str, use: Callable[[vitrine.aio.Client], Awaitable[T]], **options: Any) -> T:
    async def connected() -> T:
        async with vitrine.aio.Client(address, **options) as client:
            return await use(client)

    return asyncio.run(asyncio.wait_for(connected(), 60))


def test_classifies_and_lists_models(server: Server, cats: List[Path]) -> None:
    async def use(client: vitrine.aio.Client) -> None:
        results = await asyncio.gather(*(client.classify(path, MODEL, attention="mean") for path in cats))
        assert [r.source for r in results] == [str(path) for path in cats]
        assert all(r.attention[0].values.shape == (r.grid.rows, r.grid.columns) for r in results)
        assert {MODEL, "kv-pos-mnist"} <= {model.name for model in await client.models()}
        assert (await client.model(MODEL)).labels[3] == "cat"
        async for event in client.watch("kv-pos-mnist"):
            assert event.model.ready
            break
        with pytest.raises(vitrine.NotFound):
            await client.classify(cats[0], "no-such-model")
        with pytest.raises(vitrine.DeadlineExceeded):
            await client.classify(cats[0], MODEL, deadline=0.0005)
        with pytest.raises(FileNotFoundError):
            await client.classify("nowhere.jpg", MODEL)

    run(server.address, use)


def test_classify_many_yields_results_in_order(server: Server, cats: List[Path]) -> None:
    async def use(client: vitrine.aio.Client) -> None:
        mixed: List[Any] = cats * 3 + [b"nothing", "nowhere.jpg"]
        results = [result async for result in client.classify_many(mixed, MODEL)]
        assert [r.index for r in results] == list(range(38))
        assert [r.ok for r in results] == [True] * 36 + [False] * 2
        assert [r.source for r in results[:36]] == [str(path) for path in cats * 3]
        assert [result async for result in client.classify_many([], MODEL)] == []

    run(server.address, use, max_in_flight=5)


def test_a_result_does_not_wait_for_the_next_image(server: Server) -> None:
    async def use(client: vitrine.aio.Client) -> None:
        answered = asyncio.Event()

        async def source() -> AsyncIterator[Path]:
            yield ROOT / "samples/digits/digit-4.png"
            await answered.wait()
            yield ROOT / "samples/digits/digit-5.png"

        labels = []
        async for result in client.classify_many(source(), "kv-pos-mnist"):
            assert isinstance(result, vitrine.Result)
            labels.append(result.top1.label)
            answered.set()
        assert labels == ["4", "5"]

    run(server.address, use)


def test_leaving_early_ends_all_tasks(server: Server) -> None:
    async def use(client: vitrine.aio.Client) -> None:
        picture = (ROOT / "samples/digits/digit-3.png").read_bytes()
        before = len(asyncio.all_tasks())
        results = client.classify_many((picture for _ in itertools.count()), "kv-pos-mnist")
        async for result in results:
            assert result.ok
            if result.index == 50:
                break
        await results.aclose()
        for _ in range(100):
            if len(asyncio.all_tasks()) <= before:
                break
            await asyncio.sleep(0.02)
        assert len(asyncio.all_tasks()) <= before

    run(server.address, use, max_in_flight=4)


def test_a_broken_stream_is_reopened() -> None:
    script = Script()
    streams = itertools.count()
    def stream(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        answers = 3 if next(streams) < 4 else 1000
        for request in itertools.islice(requests, answers):
            yield stream_answer(request)
        context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    script.stream = stream
    pictures = [b"%d" % i for i in range(30)]

    async def use(client: vitrine.aio.Client) -> None:
        results = [result async for result in client.classify_many(pictures, "m")]
        assert [r for r in results if not r.ok] == []
        assert [r.top1.label for r in results if isinstance(r, vitrine.Result)] == [p.decode() for p in pictures]

    with serve(script) as address:
        run(address, use, retries=vitrine.RetryPolicy(max_attempts=20, initial_backoff=0.01))


def test_an_error_of_an_image_is_its_result(large: bytes) -> None:
    errors = [KeyError("k"), StopIteration(), StopAsyncIteration(), RuntimeError("r")]

    async def use(client: vitrine.aio.Client) -> List[Any]:
        for error in errors:
            with pytest.raises((type(error), RuntimeError)):  # a coroutine cannot end with StopIteration
                await client.classify(Unreadable(error), "m")  # type: ignore[arg-type]
        pictures: List[Any] = [b"a", *map(Unreadable, errors), large, b"b"]
        return [result async for result in client.classify_many(pictures, "m")]

    with serve(Script()) as address, warnings.catch_warnings():
        warnings.simplefilter("error")
        results = run(address, use)
    assert [r.ok for r in results] == [True] + [False] * 5 + [True]
    assert [r.error for r in results[1:5]] == errors
    assert isinstance(results[5].error, vitrine.PictureWarning)


@pytest.mark.parametrize("error", [KeyError("the data set ends here"), asyncio.CancelledError("by the source")])
def test_an_error_of_the_source_follows_earlier_results(error: BaseException) -> None:
    async def source() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"
        raise error

    async def use(client: vitrine.aio.Client) -> List[Any]:
        results = []
        with pytest.raises(type(error)) as caught:
            async for result in client.classify_many(source(), "m"):
                results.append(result.ok)
        assert caught.value is error
        return results

    with serve(Script()) as address:
        assert run(address, use) == [True, True]


def test_leaving_closes_a_waiting_source() -> None:
    ended = []

    async def source() -> AsyncIterator[bytes]:
        yield b"a"
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def use(client: vitrine.aio.Client) -> None:
        results = client.classify_many(source(), "m")
        assert (await results.__anext__()).ok
        await results.aclose()
        assert ended

    with serve(Script()) as address:
        run(address, use)


def test_close_ends_a_run_at_once() -> None:
    """When the client closes, gRPC cancels the task that reads the answers, so that this task gets no error of the
    call."""
    script, begun, over = Script(), threading.Event(), threading.Event()

    def stream(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        for request in requests:
            begun.set()
            over.wait(30)
            yield stream_answer(request)

    async def use(client: vitrine.aio.Client) -> None:
        async def consume() -> None:
            async for _ in client.classify_many([b"a", b"b"], "m"):
                pass

        consumer = asyncio.create_task(consume())
        assert await asyncio.to_thread(begun.wait, 30)
        await client.close()
        with pytest.raises(vitrine.Cancelled, match="this client is closed"):
            await asyncio.wait_for(consumer, 10)

    script.stream = stream
    with serve(script) as address:
        try:
            run(address, use, deadline=float("inf"))
        finally:
            over.set()


def test_close_ends_a_call_at_once() -> None:
    """If `close` ends a call, gRPC raises CancelledError in it, as if the caller's task were cancelled."""
    script, begun, over = Script(), threading.Semaphore(0), threading.Event()

    def wait(request: Any, context: Any) -> Any:
        begun.release()
        over.wait(30)
        return answer(request)

    async def use(client: vitrine.aio.Client) -> None:
        closed = asyncio.create_task(client.classify(b"a", "m"))
        cancelled = asyncio.create_task(client.classify(b"b", "m"))
        for _ in range(2):
            assert await asyncio.to_thread(begun.acquire, timeout=30)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        await client.close()
        with pytest.raises(vitrine.Cancelled, match="this client is closed"):
            await asyncio.wait_for(closed, 10)

    script.classify = wait
    with serve(script) as address:
        try:
            run(address, use, deadline=float("inf"))
        finally:
            over.set()


def test_close_ends_a_watch_at_once(server: Server) -> None:
    async def use(client: vitrine.aio.Client) -> None:
        events = client.watch("kv-pos-mnist")
        assert (await events.__anext__()).model.ready
        following = asyncio.ensure_future(events.__anext__())
        await asyncio.sleep(0.1)
        await client.close()
        with pytest.raises(vitrine.Cancelled, match="this client is closed"):
            await asyncio.wait_for(following, 10)

    run(server.address, use)
