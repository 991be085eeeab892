# SPDX-License-Identifier: Apache-2.0
"""Tests that errors are shown with the server's messages, and that the page stays usable."""

import hashlib
import json
import pathlib
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import oip_server

from page_case import EIT, FROG, KV, PageCase, ask, start_server


class Errors(PageCase):
    def refusal(self, page, model=EIT):
        return page.locator(f'[data-model="{model}"] .trouble').text_content()

    def test_a_damaged_image_gives_an_error(self):
        page = self.open()
        damaged = pathlib.Path(self.server.folder) / "damaged.jpg"
        damaged.write_bytes(FROG.read_bytes()[:2000])
        with self.assertRaises(urllib.error.HTTPError) as refused:
            ask(self.server, EIT, damaged.read_bytes())
        said = json.load(refused.exception)
        self.upload(page, damaged)
        self.assertEqual(self.refusal(page), f"{said['error']}INVALID_ARGUMENT, HTTP 400")
        self.upload(page, FROG)
        self.assertEqual(self.predictions(page)[0][0], "frog", "the page must still work")

    def test_a_file_that_is_not_an_image_gives_an_error(self):
        """The fault is shown once, in a sentence without technical terms, and the previous answer stays."""
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},{KV}")
        folder = pathlib.Path(self.server.folder)
        files = {"report.pdf": b"%PDF-1.7\n", "notes.txt": b"no picture", "empty.jpg": b"", "clip.mp4": b"\0\0\0 ftypisom",
                 "phone.heic": b"\0\0\0 ftypheic", "scan.tif": b"II*\0\x08", "sheet.docx": b"PK\3\4", "noise.bin": bytes(range(255)),
                 "letter.txt": "Grüße, 你好\r\n".encode(), "notepad.txt": "no picture".encode("utf-16"), "latin.txt": b"caf\xe9\n",
                 "cut.gif": b"GIF89a\x10\0\x10\0\xf7", "cut.bmp": b"BM\x36\0\0\0" + bytes(8), "cut.avif": b"\0\0\0 ftypavif",
                 "new.jxl": b"\xff\x0a\xfa\x7f", "old.jp2": b"\0\0\0\x0cjP  \r\n", "layers.psd": b"8BPS\0\1"}
        words = {"report.pdf": "is a PDF", "notes.txt": "is a text", "empty.jpg": "is empty", "clip.mp4": "is a video",
                 "phone.heic": "is a HEIC photo", "scan.tif": "is a TIFF", "sheet.docx": "is a ZIP archive or a document",
                 "noise.bin": "is not a picture", "letter.txt": "is a text", "notepad.txt": "is a text", "latin.txt": "is a text",
                 "cut.gif": "is a damaged GIF", "cut.bmp": "is a damaged BMP", "cut.avif": "is an AVIF picture",
                 "new.jxl": "is a JPEG XL", "old.jp2": "is a JPEG 2000", "layers.psd": "is a raw or layered photo"}
        for name, content in files.items():
            (folder / name).write_bytes(content)
            page.locator("#file").set_input_files(str(folder / name))
            page.locator("#trouble").filter(has_text=f"{name} {words[name]}").wait_for()
            self.assertIn("Choose a JPEG, PNG or WebP.", page.locator("#trouble").text_content())
            self.assertEqual(page.locator(".card .trouble").count(), 0)
        self.assertEqual(self.predictions(page)[0][0], "frog")
        self.assertNotIn("curl", page.locator("main").inner_text())
        self.upload(page, FROG)
        self.assertTrue(page.locator("#trouble").is_hidden())

    def test_a_folder_gives_an_error(self):
        """A browser passes a dropped folder to the page as a file that cannot be read."""
        page = self.open("#sample=cifar/frog-marsh.jpg")
        page.evaluate("""() => {
            const slice = () => ({arrayBuffer: () => Promise.reject(new DOMException("gone", "NotFoundError"))});
            const event = new DragEvent("drop", {cancelable: true});
            const files = [Object.assign(new File([], "holidays"), {slice})];
            Object.defineProperty(event, "dataTransfer", {value: {files}});
            window.dispatchEvent(event);
        }""")
        page.locator("#trouble").filter(has_text="holidays cannot be read; it may be a folder").wait_for()
        self.assertEqual(self.predictions(page)[0][0], "frog")

    def test_a_file_that_is_not_an_image_after_a_damaged_image(self):
        """The page shows the error of the last file, and no image that can be clicked."""
        page = self.open("#sample=cifar/frog-marsh.jpg")
        folder = pathlib.Path(self.server.folder)
        (folder / "cut.jpg").write_bytes(FROG.read_bytes()[:2000])
        (folder / "notes.txt").write_bytes(b"no picture")
        self.upload(page, folder / "cut.jpg")
        self.assertEqual(page.locator("#hint").text_content(), "")
        page.locator("#file").set_input_files(str(folder / "notes.txt"))
        page.locator("#trouble").filter(has_text="notes.txt is a text").wait_for()
        self.assertEqual(page.locator(".card .trouble").count(), 0)
        self.upload(page, FROG)
        self.assertEqual(self.predictions(page)[0][0], "frog")

    def test_the_error_for_a_wrong_file_is_visible_at_the_bottom(self):
        page = self.open()
        page.locator("#versions tr").first.wait_for()
        page.locator("#facts").scroll_into_view_if_needed()
        page.locator("#file").set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"})
        page.locator("#trouble").filter(has_text="notes.txt is a text").wait_for()
        self.assertTrue(page.evaluate("() => document.getElementById('trouble').getBoundingClientRect().top > -1"))

    def test_an_error_of_all_models_is_shown_once(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},{KV}")
        damaged = pathlib.Path(self.server.folder) / "damaged.jpg"
        damaged.write_bytes(FROG.read_bytes()[:2000])
        self.upload(page, damaged)
        self.assertIn("INVALID_ARGUMENT, HTTP 400", page.locator("#trouble").text_content())
        self.assertEqual(page.locator(".card .trouble").count(), 0)
        self.assertEqual(page.locator(".card .sentence").all_text_contents(), ["No answer.", "No answer."])
        self.assertIn("version 2", page.locator(f'[data-model="{EIT}"] .title').text_content())

    def test_an_unknown_model_gives_an_error(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},nobody")
        self.assertIn('there is no model "nobody"', self.refusal(page, "nobody"))
        self.assertIn("NOT_FOUND, HTTP 404", self.refusal(page, "nobody"))
        self.assertEqual(self.predictions(page)[0][0], "frog", "the other model must answer")
        with self.answers(page):
            page.get_by_role("checkbox", name="nobody").click()
        self.assertEqual(page.locator(".card").count(), 1)

    def test_a_removed_model_gives_an_error(self):
        server = start_server("--admin", "unix://{folder}/admin", models=(EIT, KV))
        self.addCleanup(server.stop)
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},{KV}", server)
        subprocess.run([oip_server.PROGRAM.parent / "vitrine", "admin", "unload", KV, "--all", "--admin",
                        f"unix://{server.folder}/admin"], check=True, capture_output=True, timeout=60)

        def gone():
            with self.answers(page):
                page.locator('[data-name="cifar/frog-marsh.jpg"]').click()
            return page.locator(f'[data-model="{KV}"] .trouble').count() > 0
        self.until(gone, "the refusal")
        self.assertIn("NOT_FOUND, HTTP 404", self.refusal(page, KV))
        self.assertEqual(self.predictions(page)[0][0], "frog")
        page.locator("#versions").filter(has_not_text=KV).wait_for()

    def test_a_draining_or_ended_server_gives_an_error(self):
        # A request of the model KV waits 10 s for a fuller batch. The server does not end while the request waits. An
        # earlier probe in the batch would shorten this wait, because a batch begins 10 s after its first request.
        serving = pathlib.Path(self.server.folder) / "serving"
        serving.write_text(f'models {{ model: "{KV}" batching {{ max_wait_seconds: 10 }} }}')
        server = start_server("--drain-deadline", "60s", "--probe-interval", "inf", "--serving-config", str(serving),
                              models=(EIT, KV))
        self.addCleanup(server.stop)
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT}", server)

        def waits():
            with urllib.request.urlopen(f"http://{server.metrics}/metrics") as metrics:
                return b"\nvitrine_in_flight 1\n" in metrics.read()
        host, port = server.http.split(":")
        with socket.create_connection((host, int(port))) as waiting:
            picture = FROG.read_bytes()
            waiting.sendall((f"POST /v1/models/{KV}:classify HTTP/1.1\r\nHost: {server.http}\r\n"
                             f"Content-Length: {len(picture)}\r\n\r\n").encode() + picture)
            self.until(waits, "the waiting request")
            # Clicks with a script in the page, which is faster than clicks from the test.
            page.evaluate("""() => {
                const click = setInterval(() => {
                    window.refusal = document.querySelector(".card .trouble")?.textContent;
                    if (window.refusal) clearInterval(click);
                    else document.querySelector('[data-name="cifar/frog-marsh.jpg"]').click();
                }, 100);
            }""")
            server._process.send_signal(signal.SIGTERM)
            self.until(lambda: page.evaluate("() => window.refusal"), "the refusal")
            self.assertIn("UNAVAILABLE, HTTP 503", page.evaluate("() => window.refusal"))
        server._process.wait(60)
        with self.answers(page):
            page.locator("#head").select_option("1")
        self.assertIn("does not answer", self.refusal(page))
        self.assertIn("UNREACHABLE", self.refusal(page))

    def test_a_token_is_requested(self):
        token = "open-sesame-" * 4
        folder = pathlib.Path(self.server.folder)
        tokens, policy = folder / "tokens", folder / "policy"
        tokens.touch(0o600)
        narrow = "close-sesame-" * 4
        tokens.write_text("".join(f"{name} sha256:{hashlib.sha256(text.encode()).hexdigest()}\n"
                                  for name, text in (("page", token), ("narrow", narrow))))
        policy.write_text('roles { name: "page" methods: "/vitrine.v1.Registry/*" methods: "/vitrine.v1.Classifier/*" '
                          f'models: "{EIT}" }} callers {{ token: "page" roles: "page" }} '
                          'roles { name: "narrow" methods: "/vitrine.v1.Classifier/*" } callers { token: "narrow" roles: "narrow" }')
        server = start_server("--tokens", str(tokens), "--policy", str(policy))
        self.addCleanup(server.stop)
        page = self.open(server=server, wait=False)
        field = page.get_by_label("This server requires a token")
        field.wait_for()
        field.fill("open\u2013sesame")  # a header cannot contain the dash
        field.press("Enter")
        self.assertTrue(field.evaluate("field => field.validity.patternMismatch"))
        field.fill("wrong")
        field.press("Enter")
        page.locator("#trouble").filter(has_text="does not know this token").wait_for()
        self.assertTrue(field.is_visible())
        field.fill(narrow)
        field.press("Enter")
        page.locator("#trouble").filter(has_text="token:narrow may not call").wait_for()
        page.reload()  # the browser keeps the token
        page.locator("#trouble").filter(has_text="token:narrow may not call").wait_for()
        self.assertTrue(field.is_visible(), "another token can be entered")
        with self.answers(page):
            field.fill(token)
            field.press("Enter")
        self.assertEqual(self.predictions(page)[0][0], "airplane")
        self.assertTrue(field.is_hidden())
        self.assertTrue(page.locator("#trouble").is_hidden())
        self.assertEqual(page.get_by_role("checkbox").count(), 1, "only the models of the policy are shown")
        page.locator("#versions tr").first.wait_for()
        self.assertEqual(page.locator("#versions tr").count(), 1)
        page.locator("#neighbour-rows li").first.wait_for()
        tokens.write_text(f"another sha256:{hashlib.sha256(b'other').hexdigest()}\n")
        field.wait_for()
        for answers in ("#answers", "#distance", "#neighbours"):
            self.assertFalse(page.locator(answers).is_visible(), "answers must be hidden without a token")
