# SPDX-License-Identifier: Apache-2.0
"""Requests of gRPC and HTTP, byte by byte, and what was answered to them by the server of gRPC 1.51: sent to the server of
today, whose answers are compared.

    wire_replay_test.py [BUILD]                        the test; BUILD/bin has vitrine-server (default build)
    wire_replay_test.py --record PROGRAM [NAME...]     writes tests/golden/wire/replay.json with what PROGRAM answers
    wire_replay_test.py --program PROGRAM [NAME...]    the test with that program, of requests whose name has NAME

Wants hyperframe, hpack, protobuf and grpcio-tools, of tests/requirements.txt. Numbers may differ by 2 %, since the answers
of a model differ in their last bits between processors; times are blank. Codes and fields are compared; of an error
message only that there is one, since unit tests compare its words."""

import argparse
import base64
import fnmatch
import gzip
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conformance"))

import wire_accepted  # noqa: E402
import wire_messages  # noqa: E402
from http2_client import (CANCEL, DATA, END_STREAM, INITIAL_WINDOW_SIZE, PADDED, Http2Client, code_name, connect)  # noqa: E402

GOLDEN = wire_messages.SOURCE / "tests/golden/wire/replay.json"
TOKENS = {name: name.lower() * 40 for name in ("READER", "CLASSIFIER")}  # at least 32 characters
QUIET = 0.4  # seconds without data after which an open call counts as quiet

class Server:
    """A vitrine-server with every listener."""

    def __init__(self, program, kind):
        self._folder = tempfile.TemporaryDirectory(prefix="vitrine-wire-")
        folder = pathlib.Path(self._folder.name)
        shutil.copytree(wire_messages.SOURCE / "models/bundled/kv-pos-mnist", folder / "models/kv-pos-mnist")
        admin = "127.0.0.1:0" if kind == "admin-tcp" else f"unix://{folder}/admin"
        command = [program, "--repository", f"{folder}/models", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                   "--health-listen", "127.0.0.1:0", "--socket", f"unix://{folder}/calls", "--admin", admin, "--port-file", f"{folder}/ports", "--executors", "1", "--max-metadata-bytes", "8192"]
        if kind == "guarded":
            tokens, policy = folder / "tokens", folder / "policy"
            tokens.touch(0o600)
            tokens.write_text("".join(f"{name.lower()} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n" for name, token in TOKENS.items()))
            policy.write_text('roles { name: "classify" methods: "/vitrine.v1.Classifier/*" models: "kv-*" }\n'
                              'roles { name: "read" methods: "/vitrine.v1.Registry/*" models: "*" }\n'
                              'callers { token: "classifier" roles: "classify" }\ncallers { token: "reader" roles: "read" }\n')
            command += ["--tokens", str(tokens), "--policy", str(policy)]
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        ports = folder / "ports"
        while not ports.exists() or "grpc=" not in ports.read_text():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{program} does not start:\n" + self.log.read_text())
            time.sleep(0.02)
        self.ports = dict(line.split("=", 1) for line in ports.read_text().splitlines())
        while b" 200 " not in self._ready():
            time.sleep(0.02)
        self.ports["socket"] = f"unix://{folder}/calls"
        if kind != "admin-tcp":
            self.ports["admin"] = admin
        self.folder = str(folder)

    def _ready(self):
        with connect(self.ports["metrics"]) as taken:
            taken.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return taken.recv(100)

    def stop(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        if code:
            print(self.log.read_text()[-9000:])
        self._folder.cleanup()
        return code


# Sending

def unpack(text):
    return base64.b64decode(text)


def send_http2(request, address):
    """Sends an HTTP/2 request on its own connection. Returns the connection when nothing more is expected."""
    client = Http2Client(address, own_settings=[(INITIAL_WINDOW_SIZE, 1 << 24)])
    client.window_update(0, 1 << 28)
    client.wait(lambda: client.settings)
    taken = client.stream(1)

    def closed():
        return taken.closed or client.closed

    for step in request["steps"]:
        kind = step[0]
        if kind == "headers":
            fields = [(name.encode(), (value if isinstance(value, str) else value[0] * value[1]).encode()) for name, value in step[1]]
            for name, token in TOKENS.items():
                fields = [(each, value.replace(name.encode(), token.encode())) for each, value in fields]
            block = client.encoder.encode(fields)
            client.send_frame(1, (4 if len(block) <= 16384 else 0) | (1 if step[2] else 0), 1, block[:16384])
            for at in range(16384, len(block), 16384):
                client.send_frame(9, 4 if at + 16384 >= len(block) else 0, 1, block[at:at + 16384])
        elif kind == "data":
            client.body(1, unpack(step[1]), step[2])
        elif kind == "repeated":
            client.body(1, unpack(step[1]) + bytes([step[2]]) * step[3], step[4])
        elif kind == "bomb":
            bomb = gzip.compress(bytes(step[1]))
            client.body(1, b"\1" + len(bomb).to_bytes(4, "big") + bomb, step[2])
        elif kind == "padded":
            client.send_frame(DATA, PADDED | (END_STREAM if step[3] else 0), 1, bytes([step[2]]) + unpack(step[1]) + bytes(step[2]))
        elif kind == "wait":  # for so many messages
            client.wait(lambda count=step[1]: closed() or len(messages_of(taken.data)) >= count)
        elif kind == "reset":
            client.reset(1, step[1])
    if request["until"] == "end":
        client.wait(closed, 20)
        client.wait(lambda: client.closed, 0.02)  # reads RST_STREAM or GOAWAY right after the end
    else:
        end = time.monotonic() + QUIET
        while time.monotonic() < end and client.poll(end - time.monotonic()):
            end = max(end, time.monotonic() + QUIET) if not closed() else end
    return client


def send_http1(request, address):
    """Sends an HTTP/1 request; returns the received bytes, and True if the server closed the connection."""
    raw = re.sub(rb"@(\d+) letters@", lambda found: b"y" * int(found[1]), unpack(request["http1"]))
    for name, token in TOKENS.items():
        raw = raw.replace(name.encode(), token.encode())
    with connect(address) as taken:
        came = b""
        try:
            taken.sendall(raw)
            taken.settimeout(3)
            while data := taken.recv(1 << 16):
                came += data
        except TimeoutError:
            return came, False
        except OSError:
            pass
        return came, True


# Conversion of received data for comparison

def messages_of(data):
    """Returns the messages of a body as (flag, bytes); an incomplete rest has the flag None."""
    found = []
    while data:
        length = int.from_bytes(data[1:5], "big")
        if len(data) < 5 + length:
            found.append((None, data))
            break
        found.append((data[0], data[5:5 + length]))
        data = data[5 + length:]
    return found


BLANK = re.compile(r"timings(_ms)?|batch|device_bytes|memory_bytes|max_memory_bytes|.*_ns|ns|last_inference|inference_stats|inference_count|execution_count|batch_stats|compute_.*|file_descriptor_proto|id_of_batch")


def normal(value, names=()):
    """Blanks values that differ between runs."""
    if isinstance(value, dict):
        if value.get("name") == "vitrine" and "extensions" in value:
            value = {**value, "version": "VERSION"}
        return {key: "..." if BLANK.fullmatch(key) else floats_of(value) if key == "raw_output_contents" else normal(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [normal(each, names) for each in value]
    if isinstance(value, str):
        for address, name in names:
            value = value.replace(address, name)
    return value


def floats_of(infer):
    """Returns the raw contents of an OIP answer as numbers or text."""
    made = []
    for output, raw in zip(infer["outputs"], infer["raw_output_contents"]):
        data = base64.b64decode(raw)
        made.append(list(struct.unpack(f"<{len(data) // 4}f", data)) if output["datatype"] == "FP32" else data.decode("latin-1"))
    return made


def details(value):
    """Parses grpc-status-details-bin: the code, the message, and the types of the details."""
    data = base64.b64decode(value + "=" * (-len(value) % 4))
    return sorted(set(re.findall(r"type\.googleapis\.com/[\w.]+", data.decode("latin-1")))) + [f"{len(data) > 0}"]


def fields_of(block, names):
    made = {}
    for name, value in block:
        if name == "grpc-message":
            value = urllib.parse.unquote(value)
        if name == "grpc-status-details-bin":
            value = details(value)
        elif name in ("date", "grpc-server-stats-bin"):
            value = "..."
        value = normal(value, names)
        made[name] = value if name not in made else [made[name], value]
    return dict(sorted(made.items()))


def describe_http2(request, client, names):
    taken = client.stream(1)
    path = str(dict(map(tuple, request["steps"][0][1])).get(":path", ""))
    made = {"blocks": len(taken.blocks)}
    if taken.blocks:
        made["headers"] = fields_of(taken.blocks[0], names)
        made["trailers_only"] = len(taken.blocks) == 1 and taken.ended_with_headers
    if len(taken.blocks) > 1:
        made["trailers"] = fields_of(taken.blocks[-1], names)
    made["end"] = "RST_STREAM " + code_name(taken.reset) if taken.reset is not None and not taken.ended else "END_STREAM" if taken.ended else "open"
    if taken.reset is not None and taken.ended and request["until"] == "quiet":  # otherwise the order is a race
        made["reset_after_end"] = code_name(taken.reset)
    if client.goaway:
        made["goaway"] = code_name(client.goaway[1])
    if client.closed:
        made["closed"] = True
    if client.fault:
        made["fault"] = client.fault
    is_grpc = made.get("headers", {}).get("content-type", "").startswith("application/grpc")
    if taken.data and not is_grpc:
        made["body"] = body_of(taken.data, made["headers"].get("content-type", ""), names)
    if is_grpc:
        found = messages_of(taken.data)
        kind = wire_messages.answer_of(path)
        made["messages"] = [{"flag": flag, "message": message_of(kind, flag, data, names)} for flag, data in found]
        if path.endswith("/ClassifyStream"):  # answered in any order
            made["messages"].sort(key=lambda each: json.dumps(each["message"].get("request_id", "")))
    return made


def message_of(kind, flag, data, names):
    if flag == 1:
        data = gzip.decompress(data)
    try:
        return normal(wire_messages.read(kind, data), names)
    except Exception as fault:
        return f"{type(fault).__name__}: {data[:100].hex()}"


def body_of(data, content_type, names):
    if "json" in content_type:
        try:
            return normal(json.loads(data), names)
        except ValueError:
            pass
    text = data.decode("latin-1")
    return normal(text if len(text) < 500 else f"{text[:60]}...", names)


def describe_http1(came, closed, names):
    head, _, body = came.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = fields_of([tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]], names) if came else {}
    lowered = {name.lower(): value for name, value in headers.items()}
    lowered.pop("content-length", None)
    return {"status": lines[0], "headers": lowered, "body": body_of(body, lowered.get("content-type", ""), names), "closed": closed}


# Comparison

MESSAGES = ("grpc-message", "error", "message")  # texts for people: that there is one is compared, its words are not
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE]-?\d+)?")


def alike(old, new):
    return math.isclose(old, new, rel_tol=0.02, abs_tol=2e-3)


def differences(old, new, place=""):
    """Yields (place, old, new)."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{place}.{key}" if place else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new)):
            yield from differences(one, other, f"{place}.{number}")
    elif isinstance(old, float) and isinstance(new, (int, float)) and not isinstance(new, bool):
        if not alike(old, new):
            yield place, old, new
    elif isinstance(old, str) and isinstance(new, str) and place.rsplit(".", 1)[-1] in MESSAGES:
        if bool(old) != bool(new):
            yield place, old, new
    elif isinstance(old, str) and isinstance(new, str):
        if NUMBER.sub("#", old) != NUMBER.sub("#", new) or not all(map(alike, map(float, NUMBER.findall(old)), map(float, NUMBER.findall(new)))):
            yield place, old, new
    elif old != new:
        yield place, old, new


def outcome(answer):
    """Returns in one or two words how an answer ends."""
    if "status" in answer:
        return "http " + (answer["status"].split() + ["", ""])[1]
    headers = answer.get("headers")
    if not headers:
        return f"goaway {answer['goaway']}" if "goaway" in answer else answer.get("end", "gone").replace("RST_STREAM", "reset")
    if headers[":status"] != "200":
        return f"http {headers[':status']}"
    return f"grpc {(answer.get('trailers') or headers).get('grpc-status', 'open')}"


def accepted(name, answer, place):
    """Returns the row that explains a difference, or None."""
    for row in wire_accepted.OUTCOMES:
        if fnmatch.fnmatchcase(name, row[0]) and outcome(answer) == row[1]:
            return row
    for row in wire_accepted.PLACES:
        if fnmatch.fnmatchcase(name, row[0]) and fnmatch.fnmatchcase(place, row[1]):
            return row
    return None


# Modes

class Servers:
    """Starts each server when it is first needed."""

    def __init__(self, program):
        self._program, self._running = program, {}

    def of(self, kind):
        if kind not in self._running:
            self._running[kind] = Server(self._program, kind)
        return self._running[kind]

    def stop(self):
        return [code for code in [each.stop() for each in self._running.values()] if code]


def ask(request, servers):
    server = servers.of(request["server"])
    names = [(server.folder, "FOLDER")] + [(address, name.upper()) for name, address in server.ports.items()]
    address = server.ports[request["port"]]
    if "http1" in request:
        return describe_http1(*send_http1(request, address), names)
    with send_http2(request, address) as client:
        answer = describe_http2(request, client, names)
        if not client.closed and not client.stream(1).closed:
            client.reset(1, CANCEL)
        return answer


def record(program, only):
    from wire_requests import REQUESTS
    requests = [dict(each) for each in REQUESTS if chosen(each, only)]
    servers = Servers(program)
    try:
        for each in requests:
            each["answer"] = ask(each, servers)
    finally:
        servers.stop()
    if only:
        print(json.dumps(requests, indent=1))
        return 0
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text("[\n" + ",\n".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in requests) + "\n]\n")
    print(f"{len(requests)} requests, {GOLDEN.stat().st_size} bytes")
    return 0


def chosen(request, only):
    return not only or any(each in request["name"] for each in only)


def replay(program, only):
    requests = [each for each in json.loads(GOLDEN.read_text()) if chosen(each, only)]
    servers = Servers(program)
    failed, meant, used = 0, 0, set()
    try:
        for each in requests:
            try:
                answer = json.loads(json.dumps(ask(each, servers)))
            except OSError as fault:
                answer = {"fault": str(fault)}
            found = list(differences(each["answer"], answer))
            rows = [accepted(each["name"], answer, place) for place, _, _ in found]
            used.update(id(row) for row in rows if row)
            meant += bool(found) and all(rows)
            if all(rows):
                continue
            failed += 1
            print(f"DIFFERS  {each['name']}: {outcome(each['answer'])} -> {outcome(answer)}")
            for (place, old, new), row in zip(found, rows):
                if not row:
                    print(f"    {place}\n      old {shown(old)}\n      new {shown(new)}")
    finally:
        codes = servers.stop()
    for row in wire_accepted.OUTCOMES + wire_accepted.PLACES:
        if id(row) not in used and not only:
            print(f"not seen: {row[0]} | {row[1]} | {row[2]}")
    print(f"{len(requests)} requests: {len(requests) - failed - meant} as before, {meant} with accepted differences, {failed} differ")
    return 1 if failed or codes else 0


def shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 400 else text[:400] + "..."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="PROGRAM")
    parser.add_argument("--program", metavar="PROGRAM")
    parser.add_argument("rest", nargs="*")
    options = parser.parse_args()
    if options.record:
        return record(options.record, options.rest)
    if options.program:
        return replay(options.program, options.rest)
    build = pathlib.Path(options.rest[0] if options.rest else os.environ.get("VITRINE_BUILD", "build"))
    return replay(str(build / "bin/vitrine-server"), options.rest[1:])


if __name__ == "__main__":
    sys.exit(main())
