# SPDX-License-Identifier: Apache-2.0
"""Open loop against any server with the Open Inference Protocol over HTTP: at a given rate, or to find the highest rate within a
latency bound."""
import argparse
import ast
import base64
import json
import math
import pathlib
import struct
import sys
import tempfile
import urllib.parse

from driver import http_load, report
from driver.report import Row

TYPES = {"|u1": "UINT8", "<i4": "INT32", "<i8": "INT64", "<f2": "FP16", "<f4": "FP32"}  # {numpy's type: the protocol's}
LETTERS = {"UINT8": "B", "INT32": "i", "INT64": "q", "FP16": "e", "FP32": "f"}  # format characters of struct
BINARY = "binary_tensor_data"  # extension: tensors follow the JSON as bytes
JSON = {"Content_Type": "application/json"}


def tensor_of(path):
    """Returns (JSON fields that describe the tensor, its bytes). A .npy file holds the tensor. The bytes of any other file
    become one element of type BYTES."""
    content = path.read_bytes()
    if path.suffix != ".npy":
        return {"datatype": "BYTES", "shape": [1]}, content
    start = 10 + struct.unpack_from("<H", content, 8)[0]  # the tensor follows the header, whose length is at byte 8 (format 1.0)
    head = ast.literal_eval(content[10:start].decode())
    if head["fortran_order"] or head["descr"] not in TYPES:
        raise ValueError(f"--input: {path} must be in C order and of one of the types {', '.join(TYPES)}")
    return {"datatype": TYPES[head["descr"]], "shape": list(head["shape"])}, content[start:]


def request(host, port, path, described, content, binary):
    """Returns the request as bytes, with the tensor as binary data if `binary`, otherwise in JSON."""
    if binary:
        data = struct.pack("<I", len(content)) + content if described["datatype"] == "BYTES" else content
        head = json.dumps({"inputs": [described | {"parameters": {"binary_data_size": len(data)}}]}).encode()
        return http_load.message(host, port, "POST", path, head + data, Content_Type="application/octet-stream",
                                 Inference_Header_Content_Length=len(head))
    if described["datatype"] == "BYTES":
        described |= {"parameters": {"content_type": "base64"}, "data": [base64.b64encode(content).decode()]}
    else:
        form = f"<{math.prod(described['shape'])}{LETTERS[described['datatype']]}"
        described["data"] = list(struct.unpack(form, content))
    return http_load.message(host, port, "POST", path, json.dumps({"inputs": [described]}).encode(), **JSON)


def get(host, port, path):
    status, body = http_load.ask(host, port, "GET", path)
    if status != 200:
        raise ValueError(f"GET {path}: status {status}: {body[:300].decode(errors='replace')}")
    return json.loads(body)


def requests_for(host, port, arguments):
    """Returns (requests, True if their tensors are binary data)."""
    binary = not arguments.json and BINARY in get(host, port, "/v2").get("extensions", [])
    path = f"/v2/models/{arguments.model}"
    name = arguments.input_name or get(host, port, path)["inputs"][0]["name"]
    files = [file for one in arguments.input for file in (sorted(one.iterdir()) if one.is_dir() else [one])]
    return [request(host, port, f"{path}/infer", {"name": name} | described, content, binary)
            for described, content in map(tensor_of, files)], binary


def parse():
    parser = argparse.ArgumentParser(prog="script/bench against", description=__doc__)
    parser.add_argument("url", metavar="URL", help="http://HOST:PORT of the server")
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", nargs="+", required=True, type=pathlib.Path, metavar="FILE",
                        help="files or folders, sent in turn: a .npy file as a tensor with its batch dimension, others as BYTES")
    parser.add_argument("--input-name", help="name of the model's input; default: the first of its metadata")
    parser.add_argument("--json", action="store_true", help="tensors in JSON though the server takes binary ones")
    parser.add_argument("--rate", type=float, help="requests/s; default: search for the highest within --p99")
    parser.add_argument("--p99", type=float, default=50, help="bound of the search in ms (default 50)")
    parser.add_argument("--duration", type=float, default=10,
                        help="seconds at each rate, after a fifth of that as warm-up (default 10)")
    return parser.parse_args()


def row(what, point):
    failed = ", ".join(f"{count} {why}" for why, count in point["failures"].items()) or "none failed"
    return Row(f"{what}, {point['rate']:.4g} requests/s: p99", "ms", point["p99"] and (point["p99"],) * 3,
               note=f"p50 {point['p50']} ms, {point['due']} requests, {failed}; generator late by {point['slip_p99']} ms at p99")


def measure(host, port, arguments):
    """Returns (rows, True if a rate was found)."""
    requests, binary = requests_for(host, port, arguments)
    print(f"{len(requests)} requests in turn, tensors {'as binary data' if binary else 'in JSON'}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        generator = http_load.Generator(host, port, requests, pathlib.Path(scratch) / "requests", "0-1023",
                                        arguments.duration / 5, arguments.duration)
        if arguments.rate:
            return [row(arguments.model, generator(arguments.rate))], True
        best, missed = http_load.search(generator, arguments.p99, 5)
        points = {f"highest within {arguments.p99:g} ms": best, "next above": missed}
        return [row(f"{arguments.model}, {what}", point) for what, point in points.items() if point], best


def main():
    arguments = parse()
    url = urllib.parse.urlsplit(arguments.url)
    if url.scheme != "http" or not url.hostname:
        sys.exit(f"bench against: URL must be http://HOST:PORT, got {arguments.url}")
    try:
        rows, found = measure(url.hostname, url.port or 80, arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"bench against: {error}")
    print(report.table(rows))
    sys.exit(0 if found else 1)


if __name__ == "__main__":
    main()
