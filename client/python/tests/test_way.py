# SPDX-License-Identifier: Apache-2.0
"""Tests connections: names whose addresses change, a proxy, a token that is replaced, a wrong kind of port."""

import asyncio
import contextlib
import http.server
import socket
import threading
from concurrent import futures
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import grpc
import pytest
from conftest import MODEL, ROOT, Server
from scripted import Script, answer, serve, stream_answer

import vitrine
import vitrine.aio
from vitrine import _proxy, _servers
from vitrine._aio import _servers as _aio_servers

QUICK = vitrine.RetryPolicy(max_attempts=1)
DIGIT = ROOT / "samples/digits/digit-7.png"


class Names:
    """Replaces socket.getaddrinfo: a name in `places` has the address that is stored there, or cannot be resolved if
    that address is empty. The system resolves all other names. Also lets a client resolve names again at any time,
    which it otherwise does at most once per second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.places: Dict[str, str] = {}
        self._system = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._resolve)
        for module in (_servers, _aio_servers):
            monkeypatch.setattr(module, "_PERIOD", 0.0)

    def _resolve(self, host: str, *rest: Any, **named: Any) -> Any:
        if host in self.places and not self.places[host]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self._system(self.places.get(host, host), *rest, **named)


@pytest.fixture()
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


@contextlib.contextmanager
def moving(names: Names, script: Script) -> Iterator[Any]:
    """Yields an address list with two names, and a function. At first neither name leads to a server. The function
    moves one name to the server's address; then the other name cannot be resolved."""
    with serve(script) as address:
        port = address.rpartition(":")[2]
        names.places = {"a.test": "127.0.0.2", "b.test": "127.0.0.3"}
        yield "a.test:%s,b.test:%s" % (port, port), lambda: names.places.update({"a.test": "127.0.0.1", "b.test": ""})


def test_names_are_resolved_again_after_their_servers_are_lost(names: Names) -> None:
    with moving(names, Script()) as (address, move):
        with vitrine.Client(address, retries=QUICK, deadline=10) as client:
            with pytest.raises(vitrine.Unavailable):
                client.classify(b"one", "m")
            move()
            with pytest.raises(vitrine.Unavailable):
                client.classify(b"one", "m")  # makes the client resolve the names again
            assert client.classify(b"one", "m").top1.label == "one"


@pytest.mark.parametrize("call", ["classify", "stream", "watch", "ready"])
def test_names_are_resolved_again_within_one_call(names: Names, call: str, server: Server) -> None:
    port = server.address.rpartition(":")[2]

    def calls(client: vitrine.Client) -> Any:
        if call == "classify":
            return client.classify(DIGIT, "kv-pos-mnist")
        if call == "stream":
            return [result.ok for result in client.classify_many([DIGIT] * 3, "kv-pos-mnist")] == [True] * 3
        return next(client.watch()) if call == "watch" else client.wait_until_ready()

    names.places = {"a.test": "127.0.0.2", "b.test": "127.0.0.3"}
    with vitrine.Client("a.test:%s,b.test:%s" % (port, port), deadline=20) as client:
        names.places = {"a.test": "127.0.0.1", "b.test": "127.0.0.1"}
        assert calls(client) in (True, None) or call in ("classify", "watch")


def test_running_calls_survive_an_address_change(names: Names) -> None:
    """The name of a server gets a new address while a call waits for another server. The call still gets its answer."""
    script, begun, go_on = Script(), threading.Event(), threading.Event()

    def classify(request: Any, context: Any) -> Any:
        if request.image == b"slow":
            begun.set()
            go_on.wait(30)
        if request.image == b"lost":
            context.abort(grpc.StatusCode.UNAVAILABLE, "going away")
        return answer(request)

    script.classify = classify
    with serve(script) as address:
        port = address.rpartition(":")[2]
        names.places = {"a.test": "127.0.0.1", "b.test": "127.0.0.2"}
        found: List[str] = []
        with vitrine.Client("a.test:%s,b.test:%s" % (port, port), retries=QUICK) as client:
            slow = threading.Thread(target=lambda: found.append(client.classify(b"slow", "m").top1.label))
            slow.start()
            assert begun.wait(30)
            names.places["b.test"] = "127.0.0.1"
            with pytest.raises(vitrine.Unavailable, match="going away"):
                client.classify(b"lost", "m")
            assert client.classify(b"one", "m").top1.label == "one"
            go_on.set()
            slow.join(30)
    assert found == ["slow"]


def test_close_ends_calls_from_before_an_address_change(names: Names) -> None:
    script, begun, over = Script(), threading.Semaphore(0), threading.Event()

    def classify(request: Any, context: Any) -> Any:
        if request.image == b"slow":
            begun.release()
            over.wait(30)
        if request.image == b"lost":
            context.abort(grpc.StatusCode.UNAVAILABLE, "going away")
        return answer(request)

    async def use(address: str) -> None:
        client = vitrine.aio.Client(address, retries=QUICK)
        slow = asyncio.ensure_future(client.classify(b"slow", "m"))
        assert await asyncio.to_thread(begun.acquire, timeout=30)
        names.places["b.test"] = "127.0.0.1"
        with pytest.raises(vitrine.Unavailable, match="going away"):
            await client.classify(b"lost", "m")
        await client.close()
        with pytest.raises((vitrine.Cancelled, asyncio.CancelledError)):
            await slow
        await client.close()

    script.classify = classify
    with serve(script) as address:
        port = address.rpartition(":")[2]
        names.places = {"a.test": "127.0.0.1", "b.test": "127.0.0.2"}
        try:
            asyncio.run(use("a.test:%s,b.test:%s" % (port, port)))
        finally:
            over.set()


def test_unresolvable_names_keep_the_old_addresses(names: Names) -> None:
    with moving(names, Script()) as (address, move):
        with vitrine.Client(address, retries=QUICK, deadline=10) as client:
            names.places = {"a.test": "", "b.test": ""}
            for _ in range(2):
                with pytest.raises(vitrine.Unavailable, match="no server answers"):
                    client.classify(b"one", "m")


PROXY = {"http_proxy": "http://user:secret@proxy.test:3128"}


@pytest.mark.parametrize(
    "host, no_proxy, by_proxy",
    [
        ("gpu-box", "", True),
        ("gpu-box", "gpu-box", False),
        ("GPU-box.", "gpu-BOX", False),
        ("gpu-box", "box", True),
        ("a.example.org", "example.org", False),
        ("a.example.org", ".example.org", False),
        ("example.org", ".example.org", False),
        ("notexample.org", "example.org", True),
        ("a.example.org", "b.test, example.org", False),
        ("a.example.org", "b.test example.org", False),
        ("a.example.org", "*", False),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("11.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3", False),
        ("10.1.2.3", "2.3", True),
        ("gpu-box", "10.0.0.0/8", True),
        ("10.1.2.3", "10.0.0.0/99,x", True),
        ("2001:db8::1", "2001:db8::/32", False),
        ("2001:db8::1", "[2001:db8:0::1]", False),
        ("2001:db9::1", "2001:db8::/32", True),
    ],
)
def test_no_proxy_follows_the_rules_of_curl(host: str, no_proxy: str, by_proxy: bool) -> None:
    for variable in ("no_grpc_proxy", "no_proxy", "NO_PROXY"):
        found = _proxy.of_host(host, {**PROXY, variable: no_proxy})
        assert (found is not None and found.name == "proxy.test:3128 of $http_proxy") == by_proxy


def test_proxy_variables_have_the_priority_of_grpc() -> None:
    both = {**PROXY, "grpc_proxy": "http://other.test:1"}
    assert _proxy.of_host("h", both) == ("http://other.test:1", "other.test:1 of $grpc_proxy")
    assert _proxy.of_host("h", {**PROXY, "https_proxy": ""}) is None
    assert _proxy.of_host("h", {}) is None


@pytest.mark.parametrize("scheme", ["socks5", "https", "ftp"])
def test_a_proxy_of_another_kind_is_refused(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grpc_proxy", "no_grpc_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", scheme + "://user:secret@proxy.test:1/")
    said = "https_proxy=%s://proxy.test:1: only http:// proxies are supported; unset it or add the server to no_proxy"
    for kind in (vitrine.Client, vitrine.aio.Client, vitrine.AdminClient, vitrine.aio.AdminClient):
        with pytest.raises(ValueError) as caught:
            kind("gpu-box.test:8500")
        assert str(caught.value) == said % scheme
    for direct in ("127.0.0.1:1", "unix:/x", "127.0.0.1:1,127.0.0.2:1"):
        vitrine.Client(direct).close()
    monkeypatch.setenv("no_proxy", "gpu-box.test")
    vitrine.Client("gpu-box.test:8500").close()


@pytest.mark.parametrize(
    "value, url, place",
    [
        ("http://[::1", "http://[::1", "[::1"),
        ("http://[x]:1/", "http://[x]:1/", "[x]:1"),
        ("http://u:p@a]b:1?c", "http://u:p@a]b:1?c", "a]b:1"),
        ("HTTP://a:1", "http://a:1", "a:1"),
        ("a:1", "http://a:1", "a:1"),
        ("u:p@a:1", "http://u:p@a:1", "a:1"),
        ("a", "http://a", "a"),
    ],
)
def test_a_proxy_may_have_no_scheme(value: str, url: str, place: str) -> None:
    assert _proxy.of_host("h", {"http_proxy": value}) == (url, place + " of $http_proxy")


def test_a_proxy_without_a_host_is_refused() -> None:
    with pytest.raises(ValueError, match="http_proxy=http:// names no proxy; unset it"):
        _proxy.of_host("h", {"http_proxy": "http://"})


def test_the_error_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grpc_proxy", "https_proxy", "no_grpc_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:%d" % port)
    with vitrine.Client("gpu-box.test:8500", retries=QUICK) as client:
        with pytest.raises(vitrine.Unavailable) as caught:
            client.models()
    said = "at gpu-box.test:8500 through the proxy 127.0.0.1:%d of $http_proxy; with no_proxy=gpu-box.test the connection is direct" % port
    assert said in str(caught.value) and "secret" not in str(caught.value)
    monkeypatch.setenv("no_proxy", "127.0.0.0/8")
    with socket.create_server(("127.0.0.9", 0)) as listening:
        place = "127.0.0.9:%d" % listening.getsockname()[1]
    with vitrine.Client(place, retries=QUICK) as client, pytest.raises(vitrine.Unavailable) as caught:
        client.models()
    assert "proxy" not in str(caught.value)


def test_a_refused_token_is_reread(tmp_path: Path) -> None:
    file = tmp_path / "token"
    script, valid = Script(), ["first"]

    def check(context: Any) -> None:
        if dict(context.invocation_metadata()).get("authorization") != "Bearer " + valid[0]:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")

    def stream(requests: Any, context: Any) -> Iterator[Any]:
        check(context)
        return map(stream_answer, requests)

    script.classify = lambda request, context: [check(context), answer(request)][1]
    script.stream = stream
    with serve(script) as address:

        def replaced(ask: Callable[[], Any], token: str) -> Any:
            file.write_text(token)
            valid[0] = token
            return ask()

        file.write_text("first")
        with vitrine.Client(address, token_file=file) as client:
            assert client.classify(b"one", "m").top1.label == "one"
            assert replaced(lambda: client.classify(b"one", "m"), "second").top1.label == "one"
            many = replaced(lambda: list(client.classify_many([b"one", b"two"], "m")), "third")
            assert [result.ok for result in many] == [True, True]
            valid[0] = "nobody has this one"
            with pytest.raises(vitrine.Unauthenticated, match="who are you"):
                client.classify(b"one", "m")


def test_an_admin_client_rereads_a_refused_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    sent: List[str] = []

    def serving(request: bytes, context: Any) -> bytes:
        sent.append(dict(context.invocation_metadata())["authorization"])
        if sent[-1] == "Bearer old":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        return b""

    methods: Dict[str, Any] = {"GetServing": grpc.unary_unary_rpc_method_handler(serving)}
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("vitrine.v1.Admin", methods),))
    address = "127.0.0.1:%d" % server.add_insecure_port("127.0.0.1:0")
    server.start()

    try:
        file.write_text("old")
        with vitrine.AdminClient(address, token_file=file) as admin:
            with pytest.raises(vitrine.Unauthenticated, match="who are you"):
                admin.serving()
            file.write_text("new")
            assert admin.serving().models == ()
    finally:
        server.stop(0).wait()
    assert sent == ["Bearer old", "Bearer old", "Bearer new"]


@contextlib.contextmanager
def web_server() -> Iterator[str]:
    """A server of HTTP/1.1 that is not Vitrine's."""
    handler = http.server.SimpleHTTPRequestHandler
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "127.0.0.1:%d" % server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_port_of_another_service_is_named(tmp_path: Path) -> None:
    server = Server(tmp_path, ROOT / "models/bundled", options=["--metrics", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
    with web_server() as web:
        for address in (web, server.ports["metrics"]):
            with vitrine.Client(address) as client, pytest.raises(vitrine.Unimplemented, match="does not speak gRPC"):
                client.models()
            with vitrine.AdminClient(address) as admin:
                with pytest.raises(vitrine.Unimplemented, match="does not speak gRPC"):
                    admin.serving()

    other = "is the listener of vitrine-server --admin or --health-listen, .* give the address of --listen"

    async def ask() -> None:
        async with vitrine.aio.Client(server.ports["admin"]) as client:
            with pytest.raises(vitrine.Unimplemented, match=other):
                await client.models()

    with vitrine.Client(server.ports["admin"]) as client:
        calls: List[Callable[[], Any]] = [client.models, client.is_ready, lambda: client.classify(DIGIT, MODEL)]
        for call in [*calls, client.wait_until_ready, lambda: next(client.watch())]:
            with pytest.raises(vitrine.Unimplemented, match=server.ports["admin"] + " " + other):
                call()
        (refused,) = client.classify_many([DIGIT], MODEL)
        assert isinstance(refused.error, vitrine.Unimplemented) and "--listen" in str(refused.error)
    asyncio.run(ask())
    with vitrine.AdminClient(server.address) as admin:
        with pytest.raises(vitrine.Unimplemented, match="no Admin service at 127.0.0.1:.* vitrine-server --admin"):
            admin.load(MODEL)
    server.stop()


def test_all_heads_and_layers_can_be_requested(client: vitrine.Client, cat: Path) -> None:
    offer = client.model(MODEL).attention["class"]

    def places(result: vitrine.Result) -> List[Any]:
        return [(found.layer, found.head) for found in result.attention]

    every = [(layer, head) for layer in range(offer.layers) for head in range(offer.heads)]
    last = [(offer.layers - 1, head) for head in range(offer.heads)]
    requested = vitrine.Attention("class", layers="all", heads="all")
    heads = vitrine.Attention("class", heads="all")
    assert places(client.classify(cat, MODEL, attention=heads)) == last
    assert places(client.classify(cat, MODEL, attention=requested, max_attention_bytes=16 << 20)) == every
    assert [places(result) for result in client.classify_many([cat], MODEL, attention=heads) if result.ok] == [last]
    distance = client.classify(cat, MODEL, attention=vitrine.Attention("distance", heads="all")).attention[0]
    assert distance.values.shape == (offer.layers, offer.heads)
    with pytest.raises(vitrine.InvalidArgument, match='heads \'every\' are unknown; give numbers in a list, or "all"'):
        client.classify(cat, MODEL, attention=vitrine.Attention("class", heads="every"))
