# SPDX-License-Identifier: Apache-2.0
"""A base class for tests of the page of a real server in a real browser."""

import contextlib
import io
import json
import time
import unittest
import urllib.request

import numpy
import PIL.Image
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import oip_server

SOURCE = oip_server.SOURCE
SAMPLES = SOURCE / "samples"
FROG = SAMPLES / "cifar" / "frog-marsh.jpg"
EIT, XCIT, KV = "eit-mini-cifar10", "xcit-n12-f-sne-cifar10", "kv-pos-mnist"
PAGE = ("--page", "--page-burst", "--page-samples", str(SAMPLES))
PATIENCE = 60  # seconds; long enough for a busy machine
# Options of Debian's Chromium. It runs without its sandbox, which root in a container cannot create, and with a simulated
# camera.
CHROMIUM = {"executable_path": "/usr/bin/chromium",
            "args": ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]}


def start_server(*arguments, models=(EIT, KV, XCIT), page=PAGE):
    server = oip_server.Server(*page, *arguments, models=models)

    def ready():
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{server.metrics}/readyz") as answer:
            return answer.status == 200
        return False
    server.wait(ready)
    return server


def ask(server, model, picture, query=""):
    """Returns the answer of the HTTP API to the bytes of an image."""
    request = urllib.request.Request(f"http://{server.http}/v1/models/{model}:classify?{query}", data=picture)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def pixels(png):
    return numpy.asarray(PIL.Image.open(io.BytesIO(png)).convert("RGB"), dtype=numpy.float32)


def state_of(page):
    """Returns the parameters in the fragment of the page's address."""
    return dict(part.split("=", 1) for part in page.url.partition("#")[2].split("&") if part)


class PageCase(unittest.TestCase):
    """Opens pages of a server that all tests of a class share.

    A new page needs a browser process, so pages are emptied after a test and used again. Each test also checks that no
    resource comes from another origin, that the content security policy is not violated, and that no script fails.
    """

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(**CHROMIUM)
        cls.addClassCleanup(cls.browser.close)
        cls.idle = {}  # (width, height, scheme) -> pages that no test uses
        cls.server = start_server()
        cls.addClassCleanup(lambda: cls.server.stop())

    def setUp(self):
        self.faults = []
        self.addCleanup(lambda: self.assertEqual(self.faults, []))

    def open(self, state="", server=None, width=1280, height=900, scheme="light", wait=True):
        """Opens and returns a page. `state` is the end of its address. If `wait` is true, waits for the answers to the
        page's requests."""
        base = f"http://{(server or self.server).http}"
        idle = self.idle.setdefault((width, height, scheme), [])
        page = idle.pop() if idle else self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, permissions=["camera"]).new_page()
        page.set_default_timeout(PATIENCE * 1000)
        watchers = {"pageerror": lambda error: self.faults.append(str(error)), "console": self.note,
                    "request": lambda request: self.faults.append(f"loads {request.url}")
                    if not request.url.startswith((base, "data:", "blob:")) else None}
        for event, watcher in watchers.items():
            page.on(event, watcher)
        self.addCleanup(self.leave, page, watchers, idle)
        if wait:
            with self.answers(page):
                page.goto(f"{base}/{state}")
        else:
            page.goto(f"{base}/{state}")
        return page

    def leave(self, page, watchers, idle):
        """Makes a page empty for the next test, unless the test has closed the page."""
        if page.is_closed():
            return
        for event, watcher in watchers.items():
            page.remove_listener(event, watcher)
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        page.goto("about:blank")
        idle.append(page)

    def note(self, message):
        """Records errors and warnings of the browser as faults, except failed requests."""
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def until(self, holds, what):
        end = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), end, f"{what} did not appear")
            time.sleep(0.02)

    @contextlib.contextmanager
    def answers(self, page, fresh=False):
        """Waits, at the end of a `with` block, for the answers to the requests of this block. `fresh` is true if the block loads
        the page."""
        before = 0
        if page.url.startswith("http") and not fresh:
            before = page.evaluate("() => Number(document.getElementById('answers')?.dataset.asked ?? 0)")
        yield
        came = page.evaluate("""async ([before, seconds]) => {
            for (const end = performance.now() + 1e3 * seconds; performance.now() < end;) {
                const {asked = 0, answered = 0} = document.getElementById("answers")?.dataset ?? {};
                if (Number(asked) > before && asked === answered) return true;
                await new Promise((done) => setTimeout(done, 20));
            }
            return false;
        }""", [before, PATIENCE])
        self.assertTrue(came, "an answer did not arrive")

    def predictions(self, page, model=EIT):
        rows = page.locator(f'[data-model="{model}"] .predictions li')
        return [tuple(rows.nth(i).locator(":scope > span").all_text_contents()) for i in range(rows.count())]

    def expected(self, answer):
        return [(each["label"], f"{100 * each['probability']:.1f} %") for each in answer["predictions"]]

    def canvas(self, page, model=EIT):
        """Returns the pixels of the map that the page draws for a model, [height, width, 3]."""
        data = page.locator(f'[data-model="{model}"] .frame canvas').evaluate("canvas => canvas.toDataURL().split(',')[1]")
        with urllib.request.urlopen(f"data:image/png;base64,{data}") as png:
            return pixels(png.read())

    def accessible(self, page, about, part=None):
        """Checks the page, or the part that a selector selects, with the rules of axe-core."""
        rules = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
                 "resultTypes": ["violations"]}
        found = Axe().run(page, part, options=rules).response
        self.assertGreater(len(found["passes"]), 5)
        self.assertEqual([(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]], [], about)

    def upload(self, page, path):
        with self.answers(page):
            page.locator("#file").set_input_files(str(path))
