# SPDX-License-Identifier: Apache-2.0
"""A fake hub of models, and its storage for large files, for tests of `vitrine-repo import --pull`.

The protocol is that of Hugging Face. The answer to /ORG/NAME/resolve/REVISION/FILE is the file or, if the file is large, a
redirect to another host. X-Repo-Commit, X-Linked-Etag and X-Linked-Size describe the file; if there is no such file,
X-Error-Code gives the reason. """

import contextlib
import hashlib
import http.server
import json
import ssl
import threading

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def reply(self, status, headers=(), content=b"", body=True):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def answer(self, body):
        hub = self.server.hub
        with hub.lock:
            hub.asked.append((self.command, self.path, self.headers.get("Range")))
            hub.tokens.append((self.path, self.headers.get("Authorization")))
        if hub.instead:
            return hub.instead(self)
        if self.path.startswith("/objects/"):
            return self.weights(hub, hub.shards[self.path.removeprefix("/objects/")] if hub.shards else hub.sent)
        for name in hub.old_names:
            if self.path.startswith(f"/{name}/"):
                return self.reply(307, [("Location", self.path.replace(name, hub.name, 1))])
        parts = self.path.split("/")
        if "/".join(parts[1:3]) != hub.name or parts[3] != "resolve":
            return self.reply(401, [("X-Error-Code", "RepoNotFound")], b"no such model", body)
        if hub.gated:
            return self.reply(403, [("X-Error-Code", "GatedRepo")], b"log in", body)
        if parts[4] not in ("main", "refs%2Fpr%2F1", hub.commit):
            return self.reply(404, [("X-Error-Code", "RevisionNotFound")], b"no such revision", body)
        commit = [("X-Repo-Commit", hub.commit)] if hub.states_commit else []
        if hub.shards and parts[5] in hub.shards:
            shard = hub.shards[parts[5]]
            told = [("X-Linked-Etag", '"%s"' % hashlib.sha256(shard).hexdigest()), ("X-Linked-Size", str(len(shard)))]
            return self.reply(302, [*commit, *told, ("Location", f"{hub.objects}/objects/{parts[5]}")], b"", body)
        if parts[5] == "model.safetensors" and not hub.shards:
            told = [("X-Linked-Etag", f'"{hub.told_digest}"')] if hub.told_digest else []
            size = [("X-Linked-Size", str(len(hub.weights)))]
            return self.reply(302, [*commit, *told, *size, ("Location", f"{hub.objects}/objects/weights")], b"", body)
        if parts[5] not in hub.files:
            return self.reply(404, [*commit, ("X-Error-Code", "EntryNotFound")], b"no such file", body)
        content = hub.files[parts[5]]
        return self.reply(200, [*commit, ("ETag", '"%s"' % hashlib.sha1(content).hexdigest())], content, body)

    def weights(self, hub, content):
        start, asked = 0, self.headers.get("Range")
        if asked and hub.ranges:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                return self.reply(416, [("Content-Range", f"bytes */{len(content)}")])
        self.send_response(206 if asked and hub.ranges else 200)
        if asked and hub.ranges:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = len(content)
        if hub.breaks_after:
            end = min(end, start + hub.breaks_after.pop(0))
        with contextlib.suppress(OSError):  # the client may have been killed
            for at in range(start, end, 1 << 16):
                self.wfile.write(content[at : min(end, at + (1 << 16))])
                hub.pause()
        if end < len(content):
            self.close_connection = True
            self.connection.close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # the client was killed


class Hub:
    """Two servers, whose responses may be changed between requests.

    `weights` are the bytes of model.safetensors, and `sent` the bytes that the hub sends. If `shards` (bytes by file name) is
    not empty, the hub has these files instead of model.safetensors. """

    def __init__(self, name, weights, arch, certificate=None):
        self.name, self.weights, self.sent = name, weights, weights
        self.told_digest = hashlib.sha256(weights).hexdigest()
        self.files = {
            "config.json": json.dumps({"architecture": arch, "num_classes": 1000, "pretrained_cfg": {
                "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25], "interpolation": "bicubic", "crop_pct": 0.875}}).encode(),
            "README.md": b"---\ntags:\n- timm\nlicense: apache-2.0\n---\n# A model\nlicense: not this\n",
        }
        self.gated, self.ranges, self.breaks_after, self.old_names = False, True, [], []
        self.pause, self.shards = lambda: None, {}
        self.commit, self.states_commit = COMMIT, True
        self.instead = None  # None, or a function that answers every request
        self.asked, self.tokens, self.lock = [], [], threading.Lock()
        self.servers = []
        self.objects = self.serve(certificate)
        self.address = self.serve(certificate)

    def serve(self, certificate):
        server = _Server(("127.0.0.1", 0), _Handler)
        server.hub = self
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.servers.append(server)
        return f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"

    def ranges_asked(self):
        with self.lock:
            return [asked for _, path, asked in self.asked if path.startswith("/objects/")]

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
