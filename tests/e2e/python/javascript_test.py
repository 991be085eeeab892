# SPDX-License-Identifier: Apache-2.0
"""Tests the examples for Node and the browser with a real server: javascript_test.py BUILD

Node and Chromium are Debian's. Without Node there is nothing to test (exit code 77); without Chromium the page is not
tested. The page and the server have the same origin, as behind a proxy, or two origins, as on two web servers.
"""

import base64
import functools
import html
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
import urllib.request

os.environ["VITRINE_BIN"] = str(pathlib.Path(sys.argv[1]).resolve() / "bin")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import oip_server  # noqa: E402

SOURCE = oip_server.SOURCE
MODEL = "eit-mini-cifar10"
HORSE = SOURCE / "samples/cifar/horse-bay.jpg"
PNG = b"\x89PNG\r\n\x1a\n"


class SameOrigin(http.server.SimpleHTTPRequestHandler):
    """Serves the files of the checkout, and forwards POST requests to the server behind it."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = urllib.request.Request(f"http://{self.server.behind}{self.path}", data=body, method="POST")
        try:
            with urllib.request.urlopen(request) as answer:
                status, content = answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            status, content = refusal.code, refusal.read()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = oip_server.Server()
        cls.url = f"http://{cls.server.http}"
        cls.server.wait(lambda: cls.ready(cls.url))
        query = "?top_k=3&attention=mean"
        request = urllib.request.Request(f"{cls.url}/v1/models/{MODEL}:classify{query}", HORSE.read_bytes(), method="POST")
        with urllib.request.urlopen(request) as answer:
            cls.expected = json.load(answer)

    @staticmethod
    def ready(url):
        with urllib.request.urlopen(f"{url}/v1/models") as answer:
            return any(one["name"] == MODEL for one in json.load(answer)["models"])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def expected_lines(self):
        found = self.expected["predictions"]
        width = max(len(one["label"]) for one in found)
        return [f"{one['label']:{width}}  {100 * one['probability']:.1f} %" for one in found]

    def node(self, *arguments):
        return subprocess.run(["node", str(SOURCE / "client/examples/node/classify.mjs"), *map(str, arguments)],
                              capture_output=True, text=True, timeout=120)

    def test_node_prints_predictions_and_saves_the_map(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = pathlib.Path(folder) / "map.png"
            ran = self.node(self.url, MODEL, HORSE, saved)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(ran.stdout.splitlines()[:3], self.expected_lines())
            self.assertEqual(saved.read_bytes(), base64.b64decode(self.expected["attention"][0]["png"]))
            self.assertTrue(saved.read_bytes().startswith(PNG))

    def test_node_prints_the_error_of_the_server(self):
        ran = self.node(self.url, "no-such-model", HORSE)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("no-such-model", ran.stderr)
        ran = self.node(self.url, MODEL, SOURCE / "README.md")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("not a JPEG", ran.stderr)
        self.assertEqual(self.node(self.url).returncode, 2)
        ran = self.node("http://127.0.0.1:1", MODEL, HORSE)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(HORSE.name, ran.stderr)

    def front(self, behind=None):
        """Starts a web server with the files of the checkout. It forwards POST requests to the server `behind`."""
        files = functools.partial(SameOrigin, directory=str(SOURCE))
        front = self.enterContext(http.server.ThreadingHTTPServer(("127.0.0.1", 0), files))
        front.behind = behind
        threading.Thread(target=front.serve_forever, daemon=True).start()
        self.addCleanup(front.shutdown)
        return front

    def page(self, front, picture, **query):
        """Opens the page at `front` for an image of the checkout, and returns the page's document after the answer."""
        query = urllib.parse.urlencode({"model": MODEL, "picture": f"/{picture.relative_to(SOURCE)}", **query})
        url = f"http://127.0.0.1:{front.server_port}/client/examples/browser/index.html?{query}"
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}",
                                  "--virtual-time-budget=20000", "--timeout=60000", "--dump-dom", url],
                                 capture_output=True, text=True, timeout=180)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def alert(self, document):
        return html.unescape(re.search(r'role="alert">(.*?)</p>', document)[1])

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium")
    def test_the_page_shows_predictions_and_map(self):
        document = self.page(self.front(self.server.http), HORSE)
        self.assertEqual(re.findall(r"<li>(.*?)</li>", document), self.expected_lines())
        self.assertIn(f"data:image/png;base64,{self.expected['attention'][0]['png']}", document)

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium")
    def test_the_page_shows_the_error(self):
        self.assertIn("not a JPEG", self.alert(self.page(self.front(self.server.http), SOURCE / "README.md")))

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium")
    def test_a_page_of_an_allowed_origin_works(self):
        front = self.front()
        server = oip_server.Server("--http-cors-origin", f"http://127.0.0.1:{front.server_port}")
        self.addCleanup(server.stop)
        server.wait(lambda: self.ready(f"http://{server.http}"))
        document = self.page(front, HORSE, server=f"http://{server.http}")
        self.assertEqual(self.alert(document), "")
        self.assertEqual(re.findall(r"<li>(.*?)</li>", document), self.expected_lines())
        self.assertIn(f"data:image/png;base64,{self.expected['attention'][0]['png']}", document)
        # The page may also read rejections.
        refused = self.page(front, SOURCE / "README.md", server=f"http://{server.http}")
        self.assertIn("not a JPEG", self.alert(refused))
        # The server does not allow the origin of this page, so the page must not be able to read an answer.
        stranger = self.page(self.front(), HORSE, server=f"http://{server.http}")
        self.assertIn("Failed to fetch", self.alert(stranger))
        self.assertNotIn("<li>", stranger)

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium")
    def test_a_page_of_another_origin_is_refused(self):
        front = self.front()
        document = self.page(front, HORSE, server=self.url)
        self.assertIn("Failed to fetch", self.alert(document))
        self.assertIn(f"--http-cors-origin http://127.0.0.1:{front.server_port}?", self.alert(document))
        self.assertNotIn("<li>", document)


if __name__ == "__main__":
    if shutil.which("node") is None:
        print("there is no node")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
