# SPDX-License-Identifier: Apache-2.0
"""A server with several mirrors of small substitute files. Each mirror is a folder with its own behaviour, and
counts the bytes that it sends."""
import hashlib
import http.server
import threading


class Mirror:
    """The files of one folder, and the faults with which the server sends them."""

    def __init__(self, files, ranges=True, status=200, cut=None, hold=None, lengths=True):
        self.files, self.ranges, self.status, self.cut, self.hold = files, ranges, status, cut, hold
        self.lengths = lengths
        self.sent, self.asked = 0, []  # bytes of bodies sent; requests as (path, Range)
        self.go_on = threading.Event()  # set by a test to end the pause after `hold` bytes


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        _, folder, name = self.path.split("/", 2)
        mirror = self.server.mirrors[folder]
        wanted = self.headers["Range"]
        mirror.asked.append((name, wanted))
        if mirror.status != 200 or name not in mirror.files:
            return self.send_error(mirror.status if mirror.status != 200 else 404)
        body = mirror.files[name]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and mirror.ranges else 0
        if start and start >= len(body):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if mirror.lengths:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.send(mirror, body[start:][:mirror.cut])

    def send(self, mirror, body):
        """Sends the body in blocks, so that a reader can be killed in between."""
        step = 1 << 16
        for first in range(0, len(body), step):
            if mirror.hold is not None and first >= mirror.hold:
                mirror.go_on.wait(60)
            try:
                self.wfile.write(body[first:first + step])
            except OSError:  # the client has closed the connection
                return
            mirror.sent += len(body[first:first + step])


class Server:
    """Serves each mirror at http://127.0.0.1:PORT/FOLDER/."""

    def __init__(self, **mirrors):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.mirrors = mirrors
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def url(self, folder):
        return f"http://127.0.0.1:{self.server.server_port}/{folder}"

    def close(self):
        for mirror in self.server.mirrors.values():
            mirror.go_on.set()
        self.server.shutdown()
        self.server.server_close()


def sha256(content):
    return hashlib.sha256(content).hexdigest()
