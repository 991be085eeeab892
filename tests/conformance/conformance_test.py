# SPDX-License-Identifier: Apache-2.0
"""Tests that vitrine-server conforms to RFC 9113 and RFC 7541. Runs every case on the port for callers, and again on
the Unix socket.

    conformance_test.py [BUILD]      BUILD/bin has vitrine-server (default build)

Requires hyperframe and hpack from tests/requirements.txt."""

import os
import pathlib
import sys

os.environ.setdefault("VITRINE_BIN", str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve() / "bin"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e/python"))

from oip_server import Server  # noqa: E402

import run  # noqa: E402

FEWEST = 300  # minimum number of cases that are not skipped


def main():
    failed = 0
    server = Server("--socket", "unix://{folder}/calls", models=("kv-pos-mnist",))
    try:
        for address in (server.grpc, f"unix://{server.folder}/calls"):
            print(f"--- {address}")
            counts = run.run_all(address)
            failed += counts["failed"]
            if sum(counts.values()) - counts["skipped"] < FEWEST:
                print(f"only {sum(counts.values()) - counts['skipped']} cases were run")
                failed += 1
    finally:
        code = server.stop()
    if code:
        print(f"vitrine-server ended with {code}")
    return 1 if failed or code else 0


if __name__ == "__main__":
    sys.exit(main())
