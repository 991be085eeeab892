# SPDX-License-Identifier: Apache-2.0
"""Tests that the page shows at once that a server was killed, hangs or is slow, and that the page retries."""

import io
import os
import re
import signal
import socket
import threading
import time

import PIL.Image

import oip_server

from page_case import EIT, FROG, PATIENCE, PageCase, start_server, state_of

SOON = 2.0  # seconds until the page must show the failure
SLACK = 2.0  # additional seconds for a busy machine


class Recovery(PageCase):
    def told(self, page, words):
        """Returns the seconds until the header contains `words`."""
        since = time.monotonic()
        page.locator("#verdict").filter(has_text=words).wait_for()
        return time.monotonic() - since

    def answered(self, page, label):
        page.locator(f'[data-model="{EIT}"] .predictions li').first.filter(has_text=label).wait_for()

    def test_the_page_recovers_from_a_killed_server(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        listen = ("--listen", f"127.0.0.1:{port}")
        server = oip_server.Server("--page", "--page-samples", str(oip_server.SOURCE / "samples"), models=(EIT,),
                                   listen=listen[1])
        self.addCleanup(server.stop)
        server.http = listen[1]
        page = self.open("#sample=cifar/cat-chelsea.jpg", server)
        page.locator("#verdict").filter(has_text="Ready").wait_for()
        about = page.get_by_role("button", name="About the model")
        about.wait_for()  # the button appears when the description of the model has arrived
        server._process.kill()
        self.assertLess(self.told(page, "Not reachable"), SOON + SLACK)
        about.click()
        page.locator(".model-card").wait_for()
        page.keyboard.press("Escape")
        page.locator('[data-name="cifar/horse-bay.jpg"]').click()
        page.locator("#trouble").filter(has_text="The server does not answer").wait_for()
        self.assertNotIn("not there", page.locator("#trouble").text_content())
        self.assertEqual(page.locator(".predictions").count(), 0, "the answer for the cat must not be shown for the horse")
        server._process.wait()
        again = oip_server.Server("--page", "--page-samples", str(oip_server.SOURCE / "samples"), models=(EIT,),
                                  listen=listen[1])
        self.addCleanup(again.stop)
        self.told(page, "Ready")
        self.answered(page, "horse")
        self.assertTrue(page.locator("#trouble").is_hidden())

    def test_the_page_recovers_from_a_hanging_server(self):
        server = start_server(models=(EIT,))
        self.addCleanup(server.stop)
        page = self.open("#sample=cifar/cat-chelsea.jpg", server)
        page.locator("#verdict").filter(has_text="Ready").wait_for()
        self.addCleanup(os.kill, server._process.pid, signal.SIGCONT)
        os.kill(server._process.pid, signal.SIGSTOP)
        self.assertLess(self.told(page, "No answer for"), SOON + SLACK)
        page.locator("#head").select_option("1")
        # The browser opens at most six connections to a server. While requests for other images, such as thumbnails,
        # occupy all six connections, the image is not sent.
        page.locator(".progress").filter(
            has_text=re.compile(r"(Sending the picture, 0 %|Waiting for the answer), \d+ seconds so far")).wait_for()
        self.told(page, re.compile(r"No answer for ([4-9]|\d\d) seconds"))  # a busy machine may skip some seconds
        os.kill(server._process.pid, signal.SIGCONT)
        self.told(page, "Ready")
        page.locator(".progress").wait_for(state="hidden")
        self.assertEqual(page.locator(".about").text_content(), "Class token, layer 4, head 1, 9 × 14")

    def test_a_lost_request_is_sent_again(self):
        server = start_server(models=(EIT,))
        self.addCleanup(server.stop)
        page = self.open("#sample=cifar/cat-chelsea.jpg", server)
        page.route("**/v1/models/*:classify*", lambda route: route.abort())
        page.locator("#head").select_option("1")
        page.locator(".card .trouble").filter(has_text="does not answer").wait_for()
        page.get_by_role("button", name="Send 200 requests").click()
        page.locator("#burst-text").filter(has_text="The server does not answer: all 200 were lost.").wait_for()
        page.unroute("**/v1/models/*:classify*")
        page.locator(".predictions").wait_for()
        self.assertEqual(page.locator(".card .trouble").count(), 0)

    def test_requests_are_resent_after_a_proxy_error(self):
        """While the server is away, a proxy answers with an error page. When the server is back, the open page repeats its requests."""
        page = self.open("#sample=cifar/cat-chelsea.jpg")
        lost = {"status": 502, "content_type": "text/html", "body": "<h1>Bad Gateway</h1>"}
        for path in ("**/v1/models/*:classify*", "**/page/samples/**"):
            page.route(path, lambda route: route.fulfill(**lost))
        page.locator("#head").select_option("1")
        page.locator(".card .trouble").filter(has_text="The server answered 502").wait_for()
        page.locator('[data-name="cifar/horse-bay.jpg"]').click()
        page.locator("#trouble").filter(has_text="The server does not answer").wait_for()
        for path in ("**/v1/models/*:classify*", "**/page/samples/**"):
            page.unroute(path)
        self.answered(page, "horse")

    def test_a_proxy_page_with_status_200_is_an_error(self):
        """A proxy may answer with a login page and status 200."""
        page = self.open("#sample=cifar/horse-bay.jpg")
        page.locator("#neighbour-rows li").first.wait_for()  # until then, the page sends further requests
        login = {"status": 200, "content_type": "text/html", "body": "<h1>Log in</h1>"}
        page.route("**/v1/models/*:classify*", lambda route: route.fulfill(**login))
        page.locator("#head").select_option("1")
        page.locator(".card .trouble").filter(has_text="The answer is no JSON").wait_for()
        page.get_by_role("button", name="Send 200 requests").click()
        page.locator("#burst-text").filter(has_text="All 200 were refused: The answer is no JSON").wait_for()
        page.route("**/v1/status", lambda route: route.fulfill(**login))
        self.told(page, "Not reachable")
        for path in ("**/v1/models/*:classify*", "**/v1/status"):
            page.unroute(path)
        self.answered(page, "horse")
        self.assertEqual(page.locator(".card .trouble").count(), 0)

    def test_an_interrupted_sample_is_reported(self):
        page = self.open("#sample=cifar/cat-chelsea.jpg")
        page.evaluate("""() => {
            const fetch = window.fetch, broken = {ok: true, blob: () => Promise.reject(new TypeError("network error"))};
            window.fetch = (path, ...more) => path.startsWith("/page/samples/") ? Promise.resolve(broken) : fetch(path, ...more);
            window.mend = () => { window.fetch = fetch; };
        }""")
        page.locator('[data-name="cifar/horse-bay.jpg"]').click()
        page.locator("#trouble").filter(has_text="The server does not answer").wait_for()
        page.evaluate("() => window.mend()")
        self.answered(page, "horse")

    def test_an_upload_before_the_first_model_is_ready(self):
        page = self.open(wait=False)
        page.route("**/v1/models", lambda route: route.fulfill(json={"models": []}))
        self.addCleanup(page.unroute, "**/v1/models")
        page.goto(f"http://{self.server.http}/")
        page.locator("#trouble").filter(has_text="no model that is ready").wait_for()
        self.upload(page, FROG)
        page.unroute("**/v1/models")
        self.answered(page, "frog")
        self.assertTrue(page.locator("#trouble").is_hidden())
        self.assertNotIn("sample", state_of(page))
        self.assertEqual(page.locator("#kind").input_value(), "class", "the map must be shown")

    def test_an_upload_is_sent_again_with_another_token(self):
        page = self.open("#sample=cifar/cat-chelsea.jpg")
        page.locator("#neighbour-rows li").first.wait_for()  # until then, the page sends further requests
        self.upload(page, FROG)
        wrong = {"status": 401, "json": {"error": "who are you?", "code": "UNAUTHENTICATED"}}
        page.route("**/v1/models/*:classify*", lambda route: route.fulfill(**wrong))
        self.addCleanup(page.unroute, "**/v1/models/*:classify*")
        page.locator("#head").select_option("1")
        field = page.get_by_label("This server requires a token")
        field.wait_for()
        page.unroute("**/v1/models/*:classify*")
        field.fill("another")
        field.press("Enter")
        self.answered(page, "frog")
        self.assertEqual(page.locator(".card .trouble").count(), 0)

    def test_progress_of_a_large_image(self):
        """At a few hundred kB/s the upload takes long. The page must show the progress, and must not report that the server does not
        answer."""
        picture = io.BytesIO()
        PIL.Image.effect_noise((900, 700), 90).convert("RGB").save(picture, "png")
        page = self.open("#sample=cifar/deer-buck.jpg", height=700)  # as on a laptop, with the tallest sample
        page.evaluate("""() => {
            const send = XMLHttpRequest.prototype.send;
            XMLHttpRequest.prototype.send = function(body) {
                const began = performance.now();
                this.upload.addEventListener("load", () => window.left = this.timeout - (performance.now() - began));
                return send.call(this, body);
            };
        }""")
        self.addCleanup(page.context.close)  # the context has a slow network, so it is not used again
        session = page.context.new_cdp_session(page)
        session.send("Network.emulateNetworkConditions",
                     {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 300_000})
        seen = []
        over = threading.Event()
        page.locator("#file").set_input_files({"name": "noise.png", "mimeType": "image/png", "buffer": picture.getvalue()})
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not over.is_set():
            line = page.locator(".progress").first
            if line.is_visible():
                seen.append(line.text_content())
                box = line.bounding_box()
                self.assertTrue(not box or box["y"] + box["height"] <= 700, box)
            elif seen:
                over.set()
            time.sleep(0.1)
        self.assertTrue(any("Sending the picture" in text for text in seen), seen)
        shares = [int(text.split(",")[1].split("%")[0]) for text in seen if text.startswith("Sending")]
        self.assertEqual(shares, sorted(shares))
        self.assertGreater(len(set(shares)), 1)
        self.assertGreater(page.evaluate("() => window.left"), 59_000)
