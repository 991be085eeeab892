#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs gRPC's interoperability cases with many clients against TestService on this server's transport, and prints a matrix.

    run.py [--out FILE] [BUILD] [CASE...]
        BUILD/tests has interop_server and interop_cpp_client (default build)
        --out FILE  also writes the matrix and the versions of the clients to FILE, in Markdown

Clients: grpcio in the version of tests/requirements.txt, the oldest grpcio on PyPI for this Python, grpclib, gRPC
C++, and Debian's grpc-go and grpc-java (over Netty). Python's clients are downloaded into
$VITRINE_DEPENDENCIES. Go's and Java's clients need the Debian packages in GO_PACKAGES and JAVA_PACKAGES below, which
may be installed or unpacked below $INTEROP_DEBIAN_ROOT. Exit code: 0 if no case failed, 77 if no client is
available. The output names an unavailable client. This is a failure if $VITRINE_STRICT is set and the client is one of
REQUIRED."""

import argparse
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = ("empty_unary", "large_unary", "client_compressed_unary", "server_compressed_unary", "client_streaming", "client_compressed_streaming",
         "server_streaming", "server_compressed_streaming", "ping_pong", "empty_stream", "custom_metadata", "status_code_and_message", "special_status_message",
         "unimplemented_method", "unimplemented_service", "cancel_after_begin", "cancel_after_first_response", "timeout_on_sleeping_server",
         "concurrent_large_unary")
# Other cases of doc/interop-test-descriptions.md in grpc/grpc, and why they are left out.
LEFT_OUT = {
    ("compute_engine_creds", "compute_engine_channel_credentials", "google_default_credentials", "jwt_token_creds", "oauth2_auth_token", "per_rpc_creds"):
        "they need accounts and credentials of Google's cloud",
    ("cacheable_unary",): "it needs a caching proxy and calls with the method GET, which gRPC's clients no longer send",
    ("rpc_soak", "channel_soak"): "they repeat large_unary for minutes; the proof `soak` runs all kinds of calls for an hour",
    ("orca_per_rpc", "orca_oob"): "they read reports of load for balancing in the client, which this server does not send",
}
# The oldest grpcio on PyPI with a wheel for Python 3.11, and a protobuf version of the same time.
OLDEST = ("grpcio==1.49.1", "protobuf==4.21.12")
NEWEST = ("grpcio==1.85.1", "protobuf==7.36.2")
GRPCLIB = ("grpclib==0.4.9", "h2==4.4.1", "hpack==4.2.0", "hyperframe==6.1.0", "multidict==7.2.1", "protobuf==7.36.2")
# The clients that script/bootstrap and pip provide.
REQUIRED = ("gRPC C++", "oldest grpcio", "newest grpcio", "grpclib")
GO_PACKAGES = ("golang-1.19-go", "golang-1.19-src", "golang-google-grpc-dev", "golang-google-protobuf-dev", "golang-github-golang-protobuf-1-5-dev",
               "golang-golang-x-net-dev", "golang-golang-x-text-dev", "golang-golang-x-sys-dev", "golang-google-genproto-dev")
JAVA_PACKAGES = ("openjdk-17-jdk-headless", "openjdk-17-jre-headless", "libgrpc-java", "libnetty-java", "libguava-java", "libprotobuf-java", "libperfmark-java",
                 "libopencensus-java", "libgoogle-gson-java", "libjsr305-java")


class Absent(Exception):
    """Raised if a client is not available on this machine."""


def said(*command):
    """Returns the first line that the command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]


def cpp(build):
    """Returns the command of gRPC's own C++ client, and its version."""
    client = build / "tests/interop_cpp_client"
    return [client], "gRPC " + said(client, "--version")


def python(packages, script):
    """Makes a virtual environment with these packages. Returns the command of the Python client in it, and the versions."""
    cache = pathlib.Path(os.environ.get("VITRINE_DEPENDENCIES") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "vitrine")
    folder = cache / ("interop-" + packages[0].replace("==", "-"))
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        base = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
        subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
        done = subprocess.run([base, "-m", "pip", "--python", folder / "bin/python", "install", "-q", "--no-input", "--disable-pip-version-check", "--no-deps",
                               "--only-binary=:all:", *packages, "typing_extensions==4.16.0", "six==1.17.0"], capture_output=True, text=True)
        if done.returncode:
            raise Absent("pip: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1])
        (folder / "complete").touch()
    return [folder / "bin/python", "-B", HERE / script], f"{said(folder / 'bin/python', '--version')}, {', '.join(packages).replace('==', ' ')}"


def go(scratch):
    """Builds the client of grpc-go. Returns its command and the versions."""
    root = pathlib.Path(os.environ.get("INTEROP_DEBIAN_ROOT", "/"))
    goroot = root / "usr/lib/go-1.19"
    if not (goroot / "bin/go").exists() or not (root / "usr/share/gocode/src/google.golang.org/grpc").exists():
        raise Absent("some Debian packages are not installed: " + " ".join(GO_PACKAGES))
    if root != pathlib.Path("/"):  # symbolic links of the package point to /usr/share
        made = scratch / "goroot"
        made.mkdir()
        for name in ("VERSION", "bin"):
            (made / name).symlink_to(goroot / name)
        shared = root / "usr/share/go-1.19"
        for name in ("src", "misc", "test", "api"):
            (made / name).symlink_to(shared / name)
        (made / "pkg").mkdir()
        for each in (goroot / "pkg").iterdir():
            (made / "pkg" / each.name).symlink_to(shared / "pkg/include" if each.name == "include" else each)
        goroot = made
    path = scratch / "go"
    (path / "src/interop/client").mkdir(parents=True)
    shutil.copy(HERE / "go_client.go", path / "src/interop/client/main.go")
    environment = os.environ | {"GOROOT": str(goroot), "GOPATH": f"{path}:{root / 'usr/share/gocode'}", "GO111MODULE": "off", "CGO_ENABLED": "0",
                                "GOCACHE": str(scratch / "cache"), "GOFLAGS": ""}
    for command in ([goroot / "bin/go", "build", "-o", path / "protoc-gen-go", "google.golang.org/protobuf/cmd/protoc-gen-go"],
                    ["protoc", f"-I{HERE / 'proto'}", f"--plugin=protoc-gen-go={path / 'protoc-gen-go'}", f"--go_out={path / 'src'}",
                     "--go_opt=Mempty.proto=interop/testing", "--go_opt=Mmessages.proto=interop/testing", "empty.proto", "messages.proto"],
                    [goroot / "bin/go", "build", "-o", path / "client", "interop/client"]):
        subprocess.run(command, check=True, env=environment)
    version = re.search(r'^const Version = "(.*)"', (root / "usr/share/gocode/src/google.golang.org/grpc/version.go").read_text(), re.MULTILINE)[1]
    return [path / "client"], f"grpc-go {version}, {said(goroot / 'bin/go', 'version')}"


def java(scratch):
    """Builds the client of grpc-java. Returns its command and the versions."""
    root = pathlib.Path(os.environ.get("INTEROP_DEBIAN_ROOT", "/"))
    found = sorted((root / "usr/lib/jvm").glob("java-17-openjdk-*/bin/javac"))
    jars = [root / "usr/share/java" / f"{name}.jar" for name in
            ("grpc-api", "grpc-context", "grpc-core", "grpc-netty", "grpc-protobuf", "grpc-protobuf-lite", "grpc-stub", "guava", "gson", "jsr305", "perfmark-api",
             "perfmark-impl", "protobuf", "netty-buffer", "netty-codec", "netty-codec-http", "netty-codec-http2", "netty-codec-socks", "netty-common", "netty-handler",
             "netty-handler-proxy", "netty-resolver", "netty-transport", "netty-transport-native-epoll", "netty-transport-native-unix-common")]
    if not found or not all(each.exists() for each in jars):
        raise Absent("some Debian packages are not installed: " + " ".join(JAVA_PACKAGES))
    path = ":".join(map(str, jars))
    source, made = scratch / "java", scratch / "classes"
    source.mkdir()
    subprocess.run(["protoc", f"-I{HERE / 'proto'}", f"--java_out={source}", "empty.proto", "messages.proto"], check=True)
    subprocess.run([found[-1], "-encoding", "UTF-8", "-proc:none", "-nowarn", "-cp", path, "-d", made, *source.rglob("*.java"), HERE / "JavaClient.java"],
                   check=True, stderr=subprocess.DEVNULL)
    jar_versions = [re.search(r"-(\d[\d.]*)\.", next((root / "usr/share/java").glob(f"{name}-[0-9]*.jar")).name)[1] for name in ("grpc-netty", "netty-common")]
    versions = f"grpc-java {jar_versions[0]}, Netty {jar_versions[1]}, {said(found[-1], '-version')}"
    return [found[-1].with_name("java"), "-Djava.util.logging.config.file=/dev/null", "-cp", f"{made}:{path}", "JavaClient"], versions


def outcomes(command, address, cases, environment):
    """Returns the client's result of each case: ("ok", "none" or "failed", message)."""
    try:
        done = subprocess.run([*command, address, *cases], capture_output=True, text=True, timeout=300, env=environment)
        told = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        told = (late.stdout or b"").decode(), "it did not end in 300 s"
    found = {}
    for line in told[0].splitlines():
        name, outcome, *words = line.split(" ", 2)
        found[name] = (outcome, " ".join(words))
    for name in cases or CASES:
        found.setdefault(name, ("failed", "the client said nothing of it: " + " ".join(told[1].split())[-200:]))
    return found


def page(command, versions, table):
    """Returns a Markdown page with the result of every case by every client."""
    revision = subprocess.run(["git", "-C", HERE, "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty"], capture_output=True, text=True).stdout.strip()
    lines = ["# gRPC's interoperability cases", "",
             "Written by this command, which calls TestService on the server's transport with each client:", "", "```sh", command, "```", "",
             "`INTEROP_DEBIAN_ROOT` is a folder with the unpacked Debian packages of the clients in Go and Java. It is not needed if they are installed. A client",
             "that lacks what a case needs has `none`, with the reason.", "",
             f"- date: {datetime.date.today()}", f"- revision: {revision}", *(f"- {name}: {version}" for name, version in versions.items()), "",
             "| case | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
    for case in next(iter(table.values())):
        cells = ("pass" if outcome == "ok" else f"{outcome}: {words}".replace("|", "\\|") for outcome, words in (each[case] for each in table.values()))
        lines.append(f"| {case} | {' | '.join(cells)} |")
    lines += ["", "Official cases that are left out:", "",
              *(f"- {', '.join(f'`{case}`' for case in cases)}: {reason}" for cases, reason in LEFT_OUT.items())]
    return "\n".join(lines) + "\n"


def exit_code(table, server_code, strict):
    """Returns this program's exit code."""
    failed = any(outcome == "failed" for each in table.values() for outcome, _ in each.values())
    if failed or server_code or (strict and not set(REQUIRED) <= set(table)):
        return 1
    return 0 if table else 77


def run(build, only, scratch):
    """Returns the clients' versions, their outcomes, notes on absent clients, and the exit code of the server."""
    protos = scratch / "interop.binpb"
    subprocess.run(["protoc", f"-I{HERE / 'proto'}", "--include_imports", f"--descriptor_set_out={protos}", "test.proto"], check=True)
    clients = {"gRPC C++": lambda: cpp(build), "oldest grpcio": lambda: python(OLDEST, "grpcio_client.py"),
               "newest grpcio": lambda: python(NEWEST, "grpcio_client.py"), "grpclib": lambda: python(GRPCLIB, "grpclib_client.py"),
               "grpc-go": lambda: go(scratch), "grpc-java": lambda: java(scratch)}
    server = subprocess.Popen([build / "tests/interop_server", "127.0.0.1:0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    versions, table, notes = {}, {}, []
    try:
        address = server.stdout.readline().strip()
        for name, make in clients.items():
            try:
                command, versions[name] = make()
                table[name] = outcomes(command, address, only, os.environ | {"INTEROP_PROTOS": str(protos), "PYTHONDONTWRITEBYTECODE": "1"})
            except (Absent, OSError, subprocess.CalledProcessError) as reason:
                versions[name] = f"not available: {reason}"
                notes.append(f"{name}: {versions[name]}")
    finally:
        server.stdin.close()
        code = server.wait(30)
    return versions, table, notes, code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default="build")
    parser.add_argument("cases", nargs="*")
    used = parser.parse_intermixed_args()
    if unknown := set(used.cases) - set(CASES):
        parser.error(f"no such case: {' '.join(sorted(unknown))}")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="vitrine-interop-"))
    try:
        versions, table, notes, code = run(used.build.resolve(), used.cases, scratch)
    finally:
        subprocess.run(["chmod", "-R", "u+w", scratch], check=False)
        shutil.rmtree(scratch, ignore_errors=True)
    width = max(map(len, CASES))
    print(" " * width, *table, sep="  ")
    for case in used.cases or CASES:
        print(case.ljust(width), *(each[case][0].ljust(len(name)) for name, each in table.items()), sep="  ")
    for name, each in table.items():
        notes += [f"{name}: {case}: {outcome}: {words}" for case, (outcome, words) in each.items() if outcome != "ok"]
    print(*notes, sep="\n")
    failed = sum(outcome == "failed" for each in table.values() for outcome, _ in each.values())
    passed = sum(outcome == "ok" for each in table.values() for outcome, _ in each.values())
    print(f"{passed} passed, {failed} failed, of {len(table)} clients; the server ended with {code}")
    if used.out and table:
        root = "INTEROP_DEBIAN_ROOT=DIR " if "INTEROP_DEBIAN_ROOT" in os.environ else ""
        used.out.write_text(page(f"{root}script/test-wire build interop/run.py {' '.join(['--out', str(used.out), *used.cases])}", versions, table))
    return exit_code(table, code, bool(os.environ.get("VITRINE_STRICT")))


if __name__ == "__main__":
    sys.exit(main())
