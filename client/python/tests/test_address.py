# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

import vitrine
import vitrine.aio
from vitrine._address import parse, resolve


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8500",
        "127.8.9.10:8500",
        "localhost:8500",
        "[::1]:8500",
        "unix:/run/vitrine.sock",
        "unix-abstract:vitrine",
        "ipv4:127.0.0.1:8500",
        "ipv4:127.0.0.1:8500,127.0.0.2:8500",
        "ipv6:[::1]:8500",
        "dns:localhost:8500",
        "dns:///localhost:8500",
        "localhost:8500,127.0.0.1:8501",
    ],
)
def test_local_addresses_allow_a_plaintext_token(address: str) -> None:
    assert parse(address).local
    vitrine.Client(address, token="secret").close()


@pytest.mark.parametrize(
    "address",
    [
        "127.evil.example.com:8500",
        "127.0.0.1.example.com:8500",
        "localhost.example.com:8500",
        "10.0.0.7:8500",
        "[::2]:8500",
        "[2001:db8::1]:8500",
        "ipv4:127.0.0.1:8500,10.0.0.7:8500",
        "ipv4:10.0.0.7:8500,127.0.0.1:8500",
        "ipv6:[::1]:8500,[2001:db8::1]:8500",
        "127.0.0.1:8500,10.0.0.7:8500",
        "dns:///example.com:8500",
        "dns://10.0.0.7/localhost:8500",
        "dns://10.0.0.7/127.evil.example.com:8500",
        "ipv4:127.0.0.1%2C10.0.0.7:8500",
        "unix.example.com:8500",
    ],
)
def test_remote_addresses_refuse_a_plaintext_token(address: str) -> None:
    assert not parse(address).local
    with pytest.raises(ValueError, match="unencrypted; give tls=True"):
        vitrine.Client(address, token="secret")
    with pytest.raises(ValueError, match="unencrypted; give tls=True"):
        vitrine.aio.Client(address, token="secret")


@pytest.mark.parametrize(
    "address, fault",
    [
        ("gpu-box", "has no port"),
        ("gpu-box:", "no port from 1"),
        ("gpu-box:0", "no port from 1"),
        ("gpu-box:65536", "no port from 1"),
        ("gpu-box:8500x", "no port from 1"),
        (":8500", "names no host"),
        ("::1:8500", "in brackets"),
        ("[::1]", "has no port"),
        ("http://gpu-box:8500", "is a URL; give its host and port, as in gpu-box:8500$"),
        ("http://gpu-box/v1", "is a URL; give its host and port, as in gpu-box:8500$"),
        ("http://[::1]:8500/", r"is a URL; give its host and port, as in \[::1\]:8500$"),
        ("https://gpu-box:8500", "as in gpu-box:8500, and tls=True$"),
        ("gpu-box:8500,grpc://gpu-box:8501", '"grpc://gpu-box:8501" is a URL'),
        ("127.0.0.1:8500,", "has no port"),
        ("127.0.0.1:8500/x", "has a path"),
        ("ipv4:127.0.0.1:8500%2C10.0.0.7:8500", "in brackets"),
        ("dns:///", "has no port"),
        ("127.0.0.1:8500\n", "no port from 1"),
        ("gpu box:8500", "spaces"),
        ("unix:", "names no socket"),
        ("unix:/" + "x" * 107, "more than 107"),
    ],
)
def test_invalid_addresses_are_refused(address: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        vitrine.Client(address)


def test_several_addresses_are_resolved_to_one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve(("127.0.0.2:2", "127.0.0.1:1", "127.0.0.2:2")) == "ipv4:127.0.0.1:1,127.0.0.2:2"
    assert resolve(("127.0.0.1:1", "[::1]:2")) == "ipv6:[::1]:2,[::ffff:127.0.0.1]:1"
    with pytest.raises(vitrine.Unavailable, match="no address of nowhere.invalid"):
        vitrine.Client("127.0.0.1:1,nowhere.invalid:2")
    for spread in ("127.0.0.1:1,127.0.0.2:2", "dns:///localhost:1", "ipv4:127.0.0.1:1,127.0.0.1:2"):
        assert parse(spread).balanced
    for single in ("127.0.0.1:1", "localhost:1", "unix:/x", "ipv4:127.0.0.1:1"):
        assert not parse(single).balanced


def test_the_server_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITRINE_SERVER", "127.evil.example.com:1")
    options: Any = {"token": "secret"}
    with pytest.raises(ValueError, match="127.evil.example.com:1 unencrypted"):
        vitrine.Client(**options)
