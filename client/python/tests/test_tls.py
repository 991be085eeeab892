# SPDX-License-Identifier: Apache-2.0
"""TLS faults: the constructor reports a wrong file, the first call reports a failed handshake."""

import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List

import grpc
import pytest
from both import refusals
from scripted import Script, serve

import vitrine
import vitrine.aio
from vitrine import _tls

CLIENTS: List[Any] = [vitrine.Client, vitrine.aio.Client, vitrine.AdminClient, vitrine.aio.AdminClient]
# Deadline in seconds. A client that retried would use all of it.
PATIENCE = 30.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Self-signed certificates for 127.0.0.1, and their keys."""
    folder = tmp_path_factory.mktemp("tls")
    kinds = {"server": "ec -pkeyopt ec_paramgen_curve:prime256v1", "rsa": "rsa:2048"}
    for name, kind in (*kinds.items(), ("client", kinds["server"]), ("other", kinds["server"])):
        command = "openssl req -x509 -newkey %s -nodes -days 2 -subj /CN=%s" % (kind, name)
        command += " -addext subjectAltName=IP:127.0.0.1 -keyout %s.key -out %s.pem" % (name, name)
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    command = "openssl pkcs8 -topk8 -in client.key -out locked.key -passout pass:secret"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    (folder / "nonsense.pem").write_text("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
    (folder / "commented.pem").write_bytes("# Größe\n".encode("latin-1") + (folder / "server.pem").read_bytes())
    return folder


@pytest.fixture()
def secure(folder: Path) -> Iterator[str]:
    pair = (folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes()
    with serve(Script(), grpc.ssl_server_credentials([pair])) as address:
        yield address


def refused_by_constructor(**options: Any) -> str:
    found = set()
    for kind in CLIENTS:
        with pytest.raises(ValueError) as caught:
            kind("127.0.0.1:1", **options)
        found.add(str(caught.value))
    (said,) = found
    return said


def test_a_ca_without_a_certificate_is_refused(folder: Path) -> None:
    said = "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"
    for junk in (b"junk", b"", b"\xff\x00", (folder / "client.key").read_bytes()):
        assert refused_by_constructor(ca=junk) == "ca " + said
    for name in ("nonsense.pem", "client.key"):
        assert refused_by_constructor(ca=folder / name) == "%s %s" % (folder / name, said)
    for kind in CLIENTS:
        with pytest.raises(IsADirectoryError):
            kind("127.0.0.1:1", ca=str(folder))
        with pytest.raises(FileNotFoundError):
            kind("127.0.0.1:1", cert="nowhere.pem", key="nowhere.key")


@pytest.mark.parametrize("form", [str, Path, Path.read_bytes])
def test_a_key_of_another_certificate_is_refused(folder: Path, form: Callable[[Path], Any]) -> None:
    def refused(cert: str, key: str) -> str:
        return refused_by_constructor(cert=form(folder / cert), key=form(folder / key))

    as_bytes = form is Path.read_bytes
    cert, key = ("cert", "key") if as_bytes else (str(folder / "client.pem"), str(folder / "other.key"))
    assert refused("client.pem", "other.key") == "%s is not the key of %s" % (key, cert)
    assert "is not the key of" in refused("client.pem", "rsa.key")
    assert "holds no certificate in PEM form" in refused("client.key", "client.key")
    for no_key in ("client.pem", "locked.key", "nonsense.pem"):
        assert "holds no private key in PEM form without a passphrase" in refused("client.pem", no_key)
    for name in ("client", "rsa"):
        vitrine.Client(cert=form(folder / (name + ".pem")), key=form(folder / (name + ".key"))).close()


def test_a_certificate_may_have_text_around_it(folder: Path, secure: str) -> None:
    with vitrine.Client(secure, ca=folder / "commented.pem") as client:
        assert client.classify(b"one", "m").top1.label == "one"


def refused_at_once(address: str, said: str, **options: Any) -> None:
    """Checks that every call of both clients fails at the first attempt, with the cause `said` in the error."""
    expected = "no server answers at %s: %s" % (address, said)
    began = time.monotonic()
    for call in (
        lambda client: client.classify(b"one", "m"),
        lambda client: client.classify_many([b"one"], "m", features="class"),
        lambda client: client.models(),
        lambda client: client.is_ready(),
        lambda client: client.wait_until_ready(),
        lambda client: client.watch(),
    ):
        found = refusals(vitrine.HandshakeFailed, call, address, deadline=PATIENCE, **options)
        assert found == expected
    with vitrine.Client(address, deadline=PATIENCE, **options) as client:
        with pytest.raises(vitrine.HandshakeFailed, match="no server answers"):
            list(client.classify_many([b"one", b"two"], "m"))
    with vitrine.AdminClient(address, deadline=PATIENCE, **options) as admin:
        with pytest.raises(vitrine.HandshakeFailed, match="no server answers"):
            admin.serving()
    assert time.monotonic() - began < PATIENCE


def test_a_server_without_tls_is_reported() -> None:
    with serve(Script()) as address:
        refused_at_once(address, "it does not speak TLS", tls=True)


def test_an_untrusted_certificate_is_reported(secure: str, folder: Path) -> None:
    other = folder / "other.pem"
    refused_at_once(secure, "%s has no CA that signed its certificate" % other, ca=other)
    refused_at_once(secure, "ca has no CA that signed its certificate", ca=other.read_bytes())
    refused_at_once(secure, "its certificate is not signed by a CA that gRPC trusts; give ca", tls=True)


def test_a_certificate_for_another_name_is_reported(secure: str, folder: Path) -> None:
    ca = folder / "server.pem"
    refused_at_once(secure, "its certificate is for another name than x.test", ca=ca, server_name="x.test")


@pytest.mark.parametrize(
    "detail, cert, said, lasting",
    [
        ("Unwrap failed (TSI_DATA_CORRUPTED)", "", "it ended the TLS handshake; it may require a client", True),
        ("Unwrap failed (TSI_DATA_CORRUPTED)", "c.pem", "it does not accept the certificate c.pem", True),
        ("SSLV3_ALERT_BAD_CERTIFICATE", "c.pem", "it does not accept the certificate c.pem", True),
        ("Handshake read failed (Socket closed)", "c.pem", "it does not accept the certificate c.pem", False),
        ("Endpoint read failed", "", "it ended the TLS handshake; it may require a client", False),
        ("recvmsg:Connection reset by peer (104)", "", "it ended the TLS handshake; it may require a client", False),
        ("CERTIFICATE_VERIFY_FAILED: certificate has expired", "", "its certificate has expired or is not", True),
        ("Peer name x is not in peer certificate", "", "its certificate is for another name", True),
        ("Failed to create security handshaker.", "", "TLS cannot begin with this ca, cert or key", True),
        ("address lookup failed for x:1: Domain name not found", "", "its name has no address", False),
    ],
)
def test_causes_of_handshake_errors_are_recognized(detail: str, cert: str, said: str, lasting: bool) -> None:
    tls = _tls.Tls(grpc.ssl_channel_credentials(), "ca.pem", cert, "")
    found = _tls.cause("failed to connect to all addresses; last error: UNKNOWN: ipv4:1.2.3.4:5: " + detail, tls)
    assert found is not None and found.sentence.startswith(said) and found.lasting == lasting


def test_a_refused_connection_has_no_tls_cause() -> None:
    assert _tls.cause("Failed to connect to remote host: Connection refused", None) is None
    proxied = _tls.cause("address lookup failed for x:1: Domain name not found", None, proxied=True)
    assert proxied is not None and proxied.sentence == "the proxy's name has no address"


def test_a_missing_or_rejected_client_certificate_is_reported(folder: Path) -> None:
    """gRPC may see the end of the connection before it reads the server's reason. The client then repeats the call."""
    quick = vitrine.RetryPolicy(max_attempts=2, initial_backoff=0.05)
    pair = (folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes()
    ca, cert, key = (folder / name for name in ("server.pem", "other.pem", "other.key"))
    with serve(Script(), grpc.ssl_server_credentials([pair], (folder / "client.pem").read_bytes(), True)) as address:
        for options, said in (
            ({"ca": ca}, "it ended the TLS handshake; it may require a client certificate"),
            ({"ca": ca, "cert": cert, "key": key}, "it does not accept the certificate %s" % cert),
        ):
            found = refusals(vitrine.Unavailable, lambda client: client.models(), address, retries=quick, **options)
            assert found == "no server answers at %s: %s" % (address, said)


def test_one_faulty_server_does_not_end_the_client(secure: str, folder: Path) -> None:
    address = secure + ",127.0.0.2:1"
    quick = vitrine.RetryPolicy(max_attempts=2, initial_backoff=0.05)
    with vitrine.Client(address, ca=folder / "other.pem", server_name="x", retries=quick) as client:
        with pytest.raises(vitrine.Unavailable, match="no server answers at " + address) as lost:
            client.models()
    assert not isinstance(lost.value, vitrine.HandshakeFailed)


def test_a_cause_is_logged_before_the_retries_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The cause is logged once, although both clients make several attempts."""
    address = "unix:%s" % (tmp_path / "nowhere")
    quick = vitrine.RetryPolicy(max_attempts=3, initial_backoff=0.05)
    said = refusals(vitrine.Unavailable, lambda client: client.models(), address, retries=quick)
    assert said == "no server answers at %s: there is no such socket" % address
    assert [(each.name, each.levelname, each.message) for each in caplog.records] == [("vitrine", "WARNING", said)]


def test_a_server_that_requires_tls_is_reported(secure: str) -> None:
    quick = vitrine.RetryPolicy(max_attempts=2, initial_backoff=0.05)
    said = refusals(vitrine.Unavailable, lambda client: client.models(), secure, retries=quick)
    assert "does not speak gRPC" in said or "it may require TLS" in said, said


def test_no_handshake_is_repeated_without_a_call() -> None:
    """By default, gRPC would repeat the handshake in the background and log each attempt."""
    tries: List[float] = []
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def answer() -> None:
            while True:
                try:
                    connection, _ = plain.accept()
                except OSError:
                    return
                with connection:
                    tries.append(time.monotonic())
                    connection.recv(16)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        address = "127.0.0.1:%d" % plain.getsockname()[1]
        with vitrine.Client(address, tls=True) as client, vitrine.AdminClient(address, tls=True) as admin:
            for call in (client.models, admin.serving):
                with pytest.raises(vitrine.HandshakeFailed):
                    call()
            made = len(tries)
            time.sleep(3)
            assert len(tries) == made <= 4
        plain.shutdown(socket.SHUT_RDWR)
        thread.join(10)
