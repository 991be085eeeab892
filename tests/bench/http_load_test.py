# SPDX-License-Identifier: Apache-2.0
"""Tests of the load generator over HTTP, against a small server of Python's library."""
import http.server
import pathlib
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from driver import http_load


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(503 if self.path == "/busy" else 200)
        if self.path == "/chunks":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"2\r\nab\r\n0\r\n\r\n")
        else:
            self.send_header("Content-Length", "2")
            self.send_header("Connection", "close" if self.path == "/close" else "keep-alive")
            self.end_headers()
            self.wfile.write(b"ab")

    def log_message(self, *_):
        pass


class HttpLoad(unittest.TestCase):
    def test_counts_every_answer_in_every_framing(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, tempfile.TemporaryDirectory() as folder:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            for number, path in enumerate(("/length", "/chunks", "/close", "/busy")):
                request = http_load.message("127.0.0.1", server.server_port, "POST", path, b"x" * 100_000)
                (pathlib.Path(folder) / str(number)).write_bytes(request)
            point = http_load.measure("127.0.0.1", server.server_port, folder, 100, 0, 1, seed=1)
            server.shutdown()
        self.assertGreater(point["due"], 50)
        self.assertEqual(list(point["failures"]), ["status 503"])
        self.assertAlmostEqual(point["failures"]["status 503"], point["due"] / 4, delta=1)
        self.assertIsNotNone(point["p50"])
        self.assertIsNone(point["p99"])

    def test_finds_the_highest_rate_from_either_side(self):
        def generator(rate):
            return {"rate": rate, "p99": 20 if rate <= 100 else None, "slip_p99": 0}

        for start in (2, 100, 1000):
            best, missed = http_load.search(generator, 50, start)
            self.assertLessEqual(best["rate"], 100)
            self.assertGreater(missed["rate"], 100)
            self.assertLessEqual(missed["rate"], best["rate"] * (1 + http_load.CLOSENESS))
        self.assertIsNone(http_load.search(generator, 10, 10)[0])


if __name__ == "__main__":
    unittest.main()
