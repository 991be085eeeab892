# SPDX-License-Identifier: Apache-2.0
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Optional

import grpc
import pytest
from conftest import MODEL, ROOT, Server
from scripted import Script, serve

import vitrine
from vitrine import _connection
from vitrine._connection import settings
from vitrine._token import BearerToken


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, and another for the client."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "client"):
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" + name
        command += " -addext subjectAltName=IP:127.0.0.1 -keyout %s.key -out %s.pem" % (name, name)
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder


def credentials(folder: Path, mutual: bool) -> grpc.ServerCredentials:
    pair = (folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes()
    roots = (folder / "client.pem").read_bytes() if mutual else None
    return grpc.ssl_server_credentials([pair], roots, mutual)


QUICK = vitrine.RetryPolicy(max_attempts=1)


def test_token_is_sent_over_tls(certificates: Path) -> None:
    script = Script()
    with serve(script, credentials(certificates, False)) as address:
        with vitrine.Client(address, ca=certificates / "server.pem", token="secret") as client:
            assert client.classify(b"one", "m").top1.label == "one"
            assert next(client.classify_many([b"two"], "m")).ok
        with vitrine.Client(address, ca=(certificates / "server.pem").read_bytes()) as client:
            assert client.classify(b"one", "m").top1.label == "one"
    assert script.metadata[0]["authorization"] == "Bearer secret"
    assert "authorization" not in script.metadata[1]


def test_the_client_certificate_is_sent(certificates: Path) -> None:
    script = Script()
    with serve(script, credentials(certificates, True)) as address:
        ca, cert, key = (certificates / name for name in ("server.pem", "client.pem", "client.key"))
        with vitrine.Client(address, ca=ca, cert=cert, key=key) as client:
            assert client.classify(b"one", "m").top1.label == "one"
        with vitrine.Client(address, ca=ca, retries=QUICK) as client, pytest.raises(vitrine.Unavailable):
            client.classify(b"one", "m", deadline=5)


def test_the_address_has_a_default_and_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert repr(vitrine.Client()) == "<vitrine.Client of 127.0.0.1:8500>"
    monkeypatch.setenv("VITRINE_SERVER", "example.org:1")
    assert repr(vitrine.Client()) == "<vitrine.Client of example.org:1>"
    assert repr(vitrine.Client("localhost:2", token="over-loopback")) == "<vitrine.Client of localhost:2>"
    with pytest.raises(FileNotFoundError):
        vitrine.Client(ca="nowhere.pem")


def test_tokens_come_from_arguments_files_and_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = Script()
    file = tmp_path / "token"
    file.write_text("from-a-file\n")
    other = tmp_path / "other"
    other.write_text("  from-the-environments-file\r\n")
    with serve(script) as address:

        def sent(**options: Any) -> Optional[str]:
            with vitrine.Client(address, **options) as client:
                client.classify(b"one", "m")
            found = script.metadata[-1].get("authorization")
            return None if found is None else str(found)

        assert sent() is None
        assert sent(token="secret\n") == "Bearer secret"
        assert sent(token_file=file) == sent(token_file=str(file)) == "Bearer from-a-file"
        monkeypatch.setenv("VITRINE_TOKEN", "from-the-environment\n")
        assert sent() == "Bearer from-the-environment"
        monkeypatch.setenv("VITRINE_TOKEN_FILE", str(other))
        assert sent() == "Bearer from-the-environments-file"
        assert sent(token="given") == "Bearer given"
        assert sent(token_file=file) == "Bearer from-a-file"
        assert sent(token="") is None
    with pytest.raises(ValueError, match="unencrypted"):
        vitrine.Client("example.org:1")
    with pytest.raises(ValueError, match="a token was given, and another in"):
        vitrine.Client(token="one", token_file=file)
    with pytest.raises(FileNotFoundError):
        vitrine.Client(token_file="nowhere")


@pytest.mark.parametrize("token", ["se\ncret", "se\x00cret", "se cret", "secr\xe9t", "\x7fsecret", "\n"])
def test_invalid_tokens_are_refused(token: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(token.encode("utf-8"))
    for options in ({"token": token}, {"token_file": str(file)}):
        with pytest.raises(ValueError, match="the token.*(invalid in a header|is empty)") as caught:
            vitrine.Client(**options)  # type: ignore[arg-type]
        assert token.strip() == "" or token not in str(caught.value)


def test_a_replaced_token_file_is_reread(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    now = 0.0
    token = BearerToken(path=file, clock=lambda: now)
    file.write_text("second")
    now = 59.0
    assert token.get() == "first"
    now = 60.0
    assert token.get() == "second"
    file.unlink()
    now = 121.0
    assert token.get() == "second", "in the middle of a replacement"
    file.write_text("third")
    assert token.get() == "second"
    now = 181.0
    assert token.get() == "third"
    assert "third" not in repr(token)


def test_server_name_overrides_the_certificate_name(tmp_path: Path) -> None:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=server"
    command += " -addext subjectAltName=DNS:vitrine.test -keyout server.key -out server.pem"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    ca = tmp_path / "server.pem"
    script = Script()
    with serve(script, credentials(tmp_path, False)) as one, serve(script, credentials(tmp_path, False)) as two:
        with vitrine.Client(one, ca=ca, server_name="vitrine.test", token="secret") as client:
            assert client.classify(b"one", "m").top1.label == "one"
        with vitrine.Client(one + "," + two, ca=ca, server_name="vitrine.test") as client:
            assert client.classify(b"two", "m").top1.label == "two"
        with pytest.raises(ValueError, match="need one name"):
            vitrine.Client(one + "," + two, ca=ca)
        with pytest.raises(ValueError, match="need TLS, but tls=False"):
            vitrine.Client(one, tls=False, server_name="vitrine.test")


def test_requests_alternate_between_servers() -> None:
    scripts = [Script(), Script(), Script()]
    with serve(scripts[0]) as one, serve(scripts[1]) as two, serve(scripts[2]) as three:
        for address in (",".join((one, two, three)), "ipv4:" + ",".join((one, two, three))):
            for script in scripts:
                script.requests.clear()
            with vitrine.Client(address, token="secret") as client:
                end = time.monotonic() + 20  # until all are connected
                while not all(script.requests for script in scripts):
                    assert time.monotonic() < end, [len(script.requests) for script in scripts]
                    client.classify(b"warm", "m")
                before = [len(script.requests) for script in scripts]
                for _ in range(30):
                    client.classify(b"one", "m")
                assert [len(script.requests) - n for script, n in zip(scripts, before)] == [10, 10, 10]


def test_keepalive_sets_the_channel_options() -> None:
    for seconds in (-1, 9.9, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="keepalive is"):
            vitrine.Client(keepalive=seconds)
    options = dict(settings("127.0.0.1:1", *[None] * 7, 30, 10, None, 1).options)
    assert options["grpc.keepalive_time_ms"] == 10000 and options["grpc.keepalive_timeout_ms"] == 20000
    assert "grpc.keepalive_time_ms" not in dict(settings("127.0.0.1:1", *[None] * 7, 30, 0, None, 1).options)


@pytest.mark.parametrize("variable", ["http_proxy", "https_proxy", "grpc_proxy"])
@pytest.mark.parametrize("form", ["%s", "ipv4:%s", "%s,%s", "dns:///localhost:%s"])
def test_local_calls_bypass_the_proxy(
    monkeypatch: pytest.MonkeyPatch, variable: str, form: str
) -> None:
    for name in ("no_grpc_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as proxy, serve(Script()) as address:
        proxy.settimeout(0.2)
        monkeypatch.setenv(variable, "http://127.0.0.1:%d" % proxy.getsockname()[1])
        where = form.replace("%s", address.rpartition(":")[2] if "localhost" in form else address)
        with vitrine.Client(where, token="secret", retries=QUICK, deadline=5) as client:
            assert client.classify(b"one", "m").top1.label == "one"
        with pytest.raises(socket.timeout):
            proxy.accept()


@pytest.mark.parametrize("scheme", ["http://", "HTTP://", ""])
def test_remote_calls_use_the_proxy(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    for name in ("no_grpc_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(10)
        monkeypatch.setenv("http_proxy", "%s127.0.0.1:%d" % (scheme, proxy.getsockname()[1]))
        with vitrine.Client("example.org:8500", tls=True, token="secret", retries=QUICK) as client:
            asked = threading.Thread(target=lambda: pytest.raises(vitrine.VitrineError, client.models))
            asked.start()
            connection, _ = proxy.accept()
            with connection:
                said = connection.recv(65536)
            client.close()
            asked.join(20)
    assert said.startswith(b"CONNECT example.org:8500") and b"secret" not in said


def test_a_vanished_server_is_detected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel of a frozen server still accepts bytes, so only a ping detects it."""
    monkeypatch.setattr(_connection, "_KEEPALIVE_TIMEOUT_MS", 500)
    frozen = Server(tmp_path, ROOT / "models/bundled")
    try:
        with vitrine.Client(frozen.address, keepalive=10, retries=QUICK, deadline=40) as client:
            assert client.models()
            frozen.process.send_signal(signal.SIGSTOP)
            os.waitpid(frozen.process.pid, os.WUNTRACED)
            with pytest.raises(vitrine.Unavailable):
                client.models()
    finally:
        frozen.process.send_signal(signal.SIGCONT)
        frozen.stop()


def test_calls_work_over_a_unix_socket(tmp_path: Path, cat: Path) -> None:
    socket_file = tmp_path / "calls"
    server = Server(tmp_path, ROOT / "models/bundled", options=["--socket", "unix://%s" % socket_file])
    with vitrine.Client(server.address) as client:
        expected = client.classify(cat, MODEL).top1
    with vitrine.Client("unix:%s" % socket_file) as client:
        assert client.classify(cat, MODEL).top1 == expected
        results = list(client.classify_many([cat], MODEL))
        assert [r.top1 for r in results if isinstance(r, vitrine.Result)] == [expected]
    server.stop()
    assert not socket_file.exists()


def test_only_serving_servers_of_a_list_get_requests() -> None:
    serving, loading, without = Script(), Script(), Script()
    serving.serving, loading.serving = True, False
    with serve(serving) as one, serve(loading) as two, serve(without) as three:
        with vitrine.Client(",".join((one, two, three)), retries=QUICK) as client:
            while not (serving.requests and without.requests):  # until both connections exist
                client.classify(b"first", "m")
            for _ in range(20):
                client.classify(b"one", "m")
    assert not loading.requests
    assert len(serving.requests) >= 5 and len(without.requests) >= 5
