# SPDX-License-Identifier: Apache-2.0
"""TLS of a connection: checks of certificates and keys, and the causes of handshakes that fail."""

from __future__ import annotations

import os
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable, Iterator, NamedTuple, Optional, Union

import grpc

Pem = Union[str, "os.PathLike[str]", bytes]


@dataclass(frozen=True)
class Tls:
    """TLS settings. `ca`, `cert` and `server_name` are texts for error messages; empty: not given."""

    credentials: grpc.ChannelCredentials
    ca: str
    cert: str
    server_name: str


class Cause(NamedTuple):
    """Cause of a failed connection, as the end of a sentence. `lasting`: another attempt would fail in the same way."""

    sentence: str
    lasting: bool = False


def load(ca: Optional[Pem], cert: Optional[Pem], key: Optional[Pem], server_name: Optional[str]) -> Tls:
    """Returns the settings. ValueError: `ca` or `cert` has no certificate, or `key` is not the key of `cert`. OSError:
    a file cannot be read."""
    ca_pem, cert_pem, key_pem = _read(ca), _read(cert), _read(key)
    if ca_pem is not None:
        _check_certificate(ca_pem, _name("ca", ca))
    if cert_pem is not None and key_pem is not None:
        _check_certificate(cert_pem, _name("cert", cert))
        _check_pair(cert_pem, key_pem, _name("cert", cert), _name("key", key))
    credentials = grpc.ssl_channel_credentials(ca_pem, key_pem, cert_pem)
    return Tls(credentials, _name("ca", ca), _name("cert", cert), server_name or "")


def cause(detail: str, tls: Optional[Tls], proxied: bool = False) -> Optional[Cause]:
    """Translates gRPC's message about a failed connection; None: the cause is unknown, or the connection was refused.
    `proxied` is True for a connection to a proxy.

    client/lib/channel.cc does the same for OpenSSL's messages; gRPC's Python package uses BoringSSL.
    """
    lower = detail.lower().replace("_", " ")

    def says(*words: str) -> bool:
        return any(each in lower for each in words)

    broken = says("socket closed", "reset by peer", "endpoint read failed", "broken pipe", "endpoint closing", "goaway")
    if tls is not None:
        found = _cause_in_handshake(says, broken, tls)
        if found is not None:
            return found
    elif broken:
        return Cause("it closed the connection; it may require TLS; try tls=True, with ca if its CA is your own")
    if says("dns resolution failed", "c-ares status", "errors resolving", "address lookup failed"):
        return Cause("the proxy's name has no address" if proxied else "its name has no address")
    if says("no such file or directory"):
        return Cause("there is no such socket")
    return Cause("permission denied") if says("permission denied") else None


def _cause_in_handshake(says: Callable[..., bool], broken: bool, tls: Tls) -> Optional[Cause]:
    if says("certificate verify failed"):
        if says("has expired", "not yet valid"):
            return Cause("its certificate has expired or is not valid yet", lasting=True)
        signed = "%s has no CA that signed its certificate" % tls.ca
        return Cause(signed if tls.ca else "its certificate is not signed by a CA that gRPC trusts; give ca", True)
    if says("peer name", "hostname verification"):
        other = " than %s" % tls.server_name if tls.server_name else ""
        return Cause("its certificate is for another name" + other, lasting=True)
    if says("wrong version number"):
        return Cause("it does not speak TLS", lasting=True)
    if says("failed to create security handshaker"):
        return Cause("TLS cannot begin with this ca, cert or key", lasting=True)
    # With TLS 1.3 a server rejects a certificate after the client's handshake; gRPC reports this as "unwrap failed".
    rejected = says("unwrap failed", "certificate required", "handshake failure", " alert ")
    if not rejected and not broken:
        return None
    if tls.cert:
        return Cause("it does not accept the certificate %s" % tls.cert, lasting=rejected)
    return Cause("it ended the TLS handshake; it may require a client certificate", lasting=rejected)


def _name(argument: str, source: Optional[Pem]) -> str:
    if source is None:
        return ""
    return argument if isinstance(source, bytes) else os.fspath(source)


def _read(source: Optional[Pem]) -> Optional[bytes]:
    if source is None or isinstance(source, bytes):
        return source
    with open(source, "rb") as file:
        return file.read()


def _check_certificate(pem: bytes, name: str) -> None:
    try:  # text around certificates may be in any encoding
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as error:  # ValueError: `pem` is empty
        form = "%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"
        raise ValueError(form % name) from error


def _check_pair(cert: bytes, key: bytes, cert_name: str, key_name: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        with _as_file(cert) as cert_file, _as_file(key) as key_file:
            # Without the password OpenSSL would prompt for one on the terminal.
            context.load_cert_chain(cert_file, key_file, password=lambda: b"")
    except ssl.SSLError as error:
        if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"):
            raise ValueError("%s is not the key of %s" % (key_name, cert_name)) from error
        if b"PRIVATE KEY-----" not in key or b"ENCRYPTED" in key or error.reason is None:
            form = "%s holds no private key in PEM form without a passphrase"
            raise ValueError(form % key_name) from error
        # Ignores other errors: they come from OpenSSL's own rules, such as a minimum size of keys, and gRPC uses
        # BoringSSL instead of OpenSSL.
    except OSError:
        pass  # the system cannot provide the files; a key of another certificate then fails at the handshake


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Yields the path of a file in memory: the ssl module reads keys from files only, and a key must not be written to
    a disk. OSError: the system has no such files."""
    if not hasattr(os, "memfd_create"):
        raise OSError("no files in memory")
    descriptor = os.memfd_create("pem")
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield "/proc/self/fd/%d" % descriptor
    finally:
        os.close(descriptor)
