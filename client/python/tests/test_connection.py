import subprocess
from pathlib import Path

import grpc
import pytest
from scripted import Script, serve

import vitrine


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, and another for the client."""
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


def test_tls_and_token(certificates: Path) -> None:
    script = Script()
    with serve(script, credentials(certificates, False)) as address:
        with vitrine.Client(address, ca=certificates / "server.pem", token="secret") as client:
            assert client.classify(b"one", "m").top1.label == "one"
            assert next(client.classify_many([b"two"], "m")).ok
        with vitrine.Client(address, ca=(certificates / "server.pem").read_bytes()) as client:
            assert client.classify(b"one", "m").top1.label == "one"
        for other in ({"tls": True}, {"ca": certificates / "client.pem"}, {}):
            with vitrine.Client(address, retries=QUICK, **other) as client:  # type: ignore[arg-type]
                with pytest.raises(vitrine.Unavailable):
                    client.classify(b"one", "m", deadline=5)
    assert script.metadata[0]["authorization"] == "Bearer secret"
    assert "authorization" not in script.metadata[1]


def test_the_client_shows_who_it_is(certificates: Path) -> None:
    script = Script()
    with serve(script, credentials(certificates, True)) as address:
        ca, cert, key = (certificates / name for name in ("server.pem", "client.pem", "client.key"))
        with vitrine.Client(address, ca=ca, cert=cert, key=key) as client:
            assert client.classify(b"one", "m").top1.label == "one"
        with vitrine.Client(address, ca=ca, retries=QUICK) as client, pytest.raises(vitrine.Unavailable):
            client.classify(b"one", "m", deadline=5)


def test_where_the_server_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert repr(vitrine.Client()) == "<vitrine.Client of 127.0.0.1:8500>"
    monkeypatch.setenv("VITRINE_SERVER", "example.org:1")
    assert repr(vitrine.Client()) == "<vitrine.Client of example.org:1>"
    assert repr(vitrine.Client("localhost:2", token="over loopback")) == "<vitrine.Client of localhost:2>"
    with pytest.raises(FileNotFoundError):
        vitrine.Client(ca="nowhere.pem")
