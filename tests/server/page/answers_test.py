# SPDX-License-Identifier: Apache-2.0
"""Tests the answers that a visitor gets, and the display of the server's status."""

import base64
import io
import json
import pathlib
import shutil
import tempfile
import unittest
import urllib.error
import urllib.request

import numpy
import PIL.Image

from page_case import EIT, FROG, KV, PAGE, SAMPLES, XCIT, PageCase, ask, start_server, state_of


class Answers(PageCase):
    def test_a_first_visit_classifies_a_sample(self):
        """The page shows the answer to the first sample without a click. The test prints the times of the first paint
        and of the first answer but does not limit them, because the machine may be busy."""
        page = self.open()
        times = page.evaluate("""() => ["first-contentful-paint", "answered"].map(
                                     (name) => Math.round(performance.getEntriesByName(name)[0].startTime))""")
        print(f"first paint {times[0]} ms, first answer {times[1]} ms", flush=True)
        first = sorted(SAMPLES.glob("cifar/*"))[0]
        self.assertEqual(self.predictions(page), self.expected(ask(self.server, EIT, first.read_bytes())))

    def test_an_upload_is_classified(self):
        page = self.open()
        self.upload(page, FROG)
        self.assertEqual(self.predictions(page), self.expected(ask(self.server, EIT, FROG.read_bytes())))
        self.assertNotIn("sample", state_of(page))
        page.locator("#said").filter(has_text="frog").wait_for(state="attached")  # the text for screen readers
        times = page.locator(".times li").all_text_contents()
        self.assertEqual([text.split()[0] for text in times], ["waiting", "decoding", "computing", "maps"])

    def test_a_link_to_an_upload_asks_for_an_image(self):
        """The link to a page with an uploaded image does not contain the image."""
        page = self.open(f"#models={EIT}&kind=class", wait=False)
        page.locator("#hint").filter(has_text="Choose a picture to see the answers.").wait_for()
        self.assertTrue(page.locator("#hint").is_visible())
        self.upload(page, FROG)
        self.assertNotIn("Choose a picture", page.locator("#hint").text_content())
        self.assertEqual(self.predictions(page)[0][0], "frog")

    def test_a_long_transparent_image_is_reduced_over_white(self):
        page = self.open()
        sides, corner, note = page.evaluate("""async () => {
            const {open} = await import("/page/picture.js");
            const long = new OffscreenCanvas(9000, 400);
            long.getContext("2d").fillRect(0, 0, 10, 10);
            const {blob, note} = await open(await long.convertToBlob());
            const sent = await createImageBitmap(blob), seen = new OffscreenCanvas(sent.width, sent.height);
            seen.getContext("2d").drawImage(sent, 0, 0);
            const {data} = seen.getContext("2d").getImageData(sent.width - 1, sent.height - 1, 1, 1);
            return [[sent.width, sent.height], [...data], note];
        }""")
        self.assertEqual(corner, [255, 255, 255, 255])
        self.assertLessEqual(max(sides), 8192)
        self.assertGreater(max(sides), 8000)
        self.assertIn("9000 x 400 pixels; it was reduced here to %d x %d" % tuple(sides), note)

    def give(self, page, kind, names=("frog.jpg",)):
        """Pastes or drops files, or a link if there are no names."""
        page.evaluate("""([kind, data, names]) => {
            const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)), transfer = new DataTransfer();
            for (const name of names)
                transfer.items.add(new File([bytes], name, {type: name.endsWith("jpg") ? "image/jpeg" : "text/plain"}));
            if (!names.length) transfer.setData("text/plain", "https://example.org/cat.jpg");
            const event = kind === "drop" ? new DragEvent("drop", {dataTransfer: transfer, cancelable: true})
                                          : new ClipboardEvent("paste", {clipboardData: transfer});
            window.dispatchEvent(event);
        }""", [kind, base64.b64encode(FROG.read_bytes()).decode(), names])

    def test_dropped_and_pasted_images_are_classified(self):
        page = self.open()
        for kind in ("drop", "paste"):
            with self.answers(page):
                self.give(page, kind)
            self.assertEqual(self.predictions(page)[0][0], "frog", kind)
            self.assertNotIn("3 files", page.locator("#hint").text_content())
            with self.answers(page):
                self.give(page, kind, ("notes.txt", "frog.jpg", "pond.jpg"))
            self.assertEqual(page.locator("#hint").text_content(), "One picture at a time: of 3 files, frog.jpg is shown.")
            with self.answers(page):
                page.locator('[data-name="cifar/horse-bay.jpg"]').click()

    def test_a_link_or_a_text_is_not_an_image(self):
        page = self.open()
        for kind, sentence in (("drop", "The dropped item is not a file."), ("paste", "The pasted item is not a picture.")):
            self.give(page, kind, ())
            page.locator("#trouble").filter(has_text=sentence).wait_for()
            self.assertEqual(len(self.predictions(page)), 5, "the previous answer must stay")

    def test_webp_is_sent_unchanged(self):
        webp = io.BytesIO()
        PIL.Image.open(FROG).save(webp, "webp", quality=90)
        page = self.open()
        page.evaluate("""() => {
            const send = XMLHttpRequest.prototype.send;
            window.sent = [];
            XMLHttpRequest.prototype.send = function(body) { sent.push(body); return send.call(this, body); };
        }""")
        path = pathlib.Path(self.server.folder) / "frog.webp"
        path.write_bytes(webp.getvalue())
        self.upload(page, path)
        sent = page.evaluate("async () => [...new Uint8Array(await sent.find(({type}) => type === 'image/webp').arrayBuffer())]")
        self.assertEqual(bytes(sent), webp.getvalue())
        self.assertNotIn("brought to", page.locator("#hint").text_content())
        self.assertEqual(self.predictions(page), self.expected(ask(self.server, EIT, webp.getvalue())))

    def test_other_formats_are_converted_to_png(self):
        page = self.open()
        frog = PIL.Image.open(FROG)
        black = PIL.Image.new("RGB", frog.size)
        for name, options in (("frog.bmp", {}), ("frogs.webp", {"save_all": True, "append_images": [black]})):
            path = pathlib.Path(self.server.folder) / name
            frog.save(path, **options)
            self.upload(page, path)
            self.assertIn("converted to PNG", page.locator("#hint").text_content())
            self.assertEqual(self.predictions(page)[0][0], "frog")

    def test_a_too_large_file_is_saved_as_a_jpeg(self):
        page = self.open()
        large = pathlib.Path(self.server.folder) / "large.jpg"
        large.write_bytes(FROG.read_bytes() + bytes(17 << 20))
        self.upload(page, large)
        self.assertIn("saved as a smaller JPEG here", page.locator("#hint").text_content())
        self.assertEqual(self.predictions(page)[0][0], "frog")

    def test_a_camera_image_is_classified(self):
        page = self.open()
        page.get_by_role("button", name="Camera").click()
        self.until(lambda: page.evaluate("() => document.getElementById('video').videoWidth > 0"), "the camera")
        with self.answers(page):
            page.get_by_role("button", name="Take the picture").click()
        self.assertEqual(len(self.predictions(page)), 5)
        self.assertFalse(page.evaluate("() => Boolean(document.getElementById('video').srcObject)"), "the camera must be off")

    def test_a_double_click_opens_one_camera(self):
        page = self.open()
        page.evaluate("""() => {
            const devices = navigator.mediaDevices, get = devices.getUserMedia.bind(devices);
            window.streams = [];
            devices.getUserMedia = async (wishes) => { streams.push(await get(wishes)); return streams.at(-1); };
            for (let i = 0; i < 2; i++) document.getElementById("open-camera").click();
        }""")
        self.until(lambda: page.evaluate("() => document.getElementById('video').videoWidth > 0"), "the camera")
        page.locator("#close-camera").click()
        states = "() => streams.flatMap((stream) => stream.getTracks().map((track) => track.readyState))"
        self.until(lambda: page.evaluate(states) == ["ended"], "the end of the only stream")

    def test_models_are_compared_side_by_side(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},{XCIT}&kind=class")
        for model in (EIT, XCIT):
            answer = ask(self.server, model, FROG.read_bytes())
            self.assertEqual(self.predictions(page, model), self.expected(answer))
            # The length of a bar, relative to the full length, must be the probability. Bars of all models have the same scale.
            bars = page.locator(f'[data-model="{model}"] .bar').evaluate_all(
                """(bars) => Promise.all(bars.map(async (bar) => {
                       await Promise.all(bar.firstChild.getAnimations().map((animation) => animation.finished));
                       return bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width; }))""")
            numpy.testing.assert_allclose(bars, [each["probability"] for each in answer["predictions"]], atol=0.01)
        self.assertEqual(page.locator(f'[data-model="{XCIT}"] .lack').text_content(),
                         f"{XCIT} has no attention of kind class; it has class-attention and channels.")
        self.assertEqual(page.locator(f'[data-model="{EIT}"] .lack').count(), 0)
        with self.answers(page):
            page.get_by_role("checkbox", name=KV).check()
        self.assertIn("none of its classes", page.locator(f'[data-model="{KV}"] .sentence').last.text_content())

    def test_an_unsure_answer_is_marked(self):
        page = self.open()
        for sample, unsure in (("cifar/cat-chelsea.jpg", True), ("cifar/frog-marsh.jpg", False)):
            with self.answers(page):
                page.locator(f'[data-name="{sample}"]').click()
            self.assertEqual(page.locator(f'[data-model="{EIT}"] .sentence').filter(has_text="Unsure").count(), int(unsure))

    def test_the_stable_version_of_a_model_is_the_first(self):
        versions = [{"version": number, "state": "ready", "labels": labels} for number, labels in ((1, []), (2, ["stable"]))]
        found = self.open().evaluate("async (models) => (await import('/page/catalogue.js')).choices(models)",
                                     [{"name": "m", "versions": versions}])
        self.assertEqual([each["text"] for each in found], ["m 2, stable", "m 1"])

    def test_a_link_without_a_version_keeps_working(self):
        page = self.open(wait=False)
        versions = [{"version": number, "state": "ready", "labels": labels} for number, labels in ((2, ["stable"]), (3, []))]
        page.route("**/v1/models", lambda route: route.fulfill(json={"models": [{"name": EIT, "versions": versions}]}))
        self.addCleanup(page.unroute, "**/v1/models")
        page.goto("about:blank")
        with self.answers(page):
            page.goto(f"http://{self.server.http}/#sample=cifar/frog-marsh.jpg&models={EIT}")
        self.assertEqual(page.locator("#models label").all_text_contents(), [f"{EIT} 2, stable", f"{EIT} 3", EIT])
        self.assertEqual(page.locator("#kind").input_value(), "class", "the map must be shown")

    def test_an_answer_without_classes_is_announced(self):
        def without_classes(route):
            answer = ask(self.server, EIT, FROG.read_bytes(), route.request.url.partition("?")[2])
            route.fulfill(json={**answer, "predictions": []})
        page = self.open()
        page.route("**/v1/models/*:classify*", without_classes)
        self.addCleanup(page.unroute, "**/v1/models/*:classify*")
        self.upload(page, FROG)
        page.locator("#said").filter(has_text=f"{EIT}: no classes").wait_for(state="attached")

    def test_a_card_that_is_replaced_leaves_no_timer(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        page.evaluate("""() => {
            const set = window.setInterval, clear = window.clearInterval;
            window.timers = new Set();
            window.setInterval = (...wishes) => { const timer = set(...wishes); timers.add(timer); return timer; };
            window.clearInterval = (timer) => { timers.delete(timer); clear(timer); };
        }""")
        for sample in ("digits/digit-7.png", "cifar/frog-marsh.jpg"):  # each sample selects a different model
            with self.answers(page):
                page.locator(f'[data-name="{sample}"]').click()
        self.assertEqual(page.evaluate("() => timers.size"), 0)

    def test_late_neighbours_do_not_replace_newer_ones(self):
        page = self.open("#sample=cifar/horse-bay.jpg")
        page.locator("#neighbour-rows li").first.wait_for()
        page.evaluate("""async () => {
            const {show} = await import("/page/neighbours.js");
            const card = {id: "m", about: {features: ["class"], classes: []}, answer: {version: 1, features: [{values: [1]}]}};
            await show([card], [{group: "g", name: "gone.jpg", path: "/page/samples/g/gone.jpg"}], {}, () => false);
        }""")
        self.assertGreater(page.locator("#neighbour-rows li").count(), 0)

    def test_a_sample_of_other_classes_selects_its_model(self):
        page = self.open()
        with self.answers(page):
            page.locator('[data-name="digits/digit-7.png"]').click()
        self.assertEqual(self.predictions(page, KV)[0][0], "7")


class Live(PageCase):
    def status(self):
        with urllib.request.urlopen(f"http://{self.server.http}/v1/status") as answer:
            return json.load(answer)

    def test_status_shows_no_secrets_of_the_operator(self):
        status = self.status()
        self.assertEqual((status["log"], status["flags"], status["certificates"]), ([], {}, {}))
        self.assertEqual({version["model"] for version in status["versions"]}, {EIT, KV, XCIT})

    def test_the_panel_shows_the_status(self):
        page = self.open()
        page.locator("#versions tr").first.wait_for()
        status, facts = self.status(), page.locator("#facts").text_content()
        self.assertIn(f"device {status['device']}, {status['compute']['precision']}", facts)
        self.assertRegex(facts, r"^Up \d+ (second|minute)s?, ")
        # Waits until the two verdicts are equal, because they contain a rate that changes, and the page reads the status only
        # every few seconds.
        self.until(lambda: page.locator("#live-verdict").text_content() == self.status()["verdict"], "the status's verdict")
        self.assertEqual([name for name in page.locator("#figures dt").all_text_contents()],
                         ["Requests", "In flight", "In the queue", "Longest wait", "Rejected for load", "Requests per batch",
                          "Executors busy"])

    def test_a_failed_version_is_listed_with_its_reason(self):
        server = start_server("--admin", "unix://{folder}/admin", models=(EIT, KV))
        self.addCleanup(server.stop)
        weights = pathlib.Path(server.folder) / "models" / KV / "2"
        shutil.copytree(next((pathlib.Path(server.folder) / "models" / KV).glob("[0-9]*")), weights)
        (weights / "weights.safetensors").write_bytes(b"damaged")
        page = self.open(server=server)
        refused = page.locator("#versions tr").filter(has_text="failed")
        refused.wait_for()
        self.assertGreater(len(refused.locator("td p").text_content()), 10)
        self.assertEqual(page.locator("#live-verdict").text_content()[:10], "Ready, but")

    def test_a_burst_of_requests_is_handled(self):
        page = self.open(scheme="dark")
        before = {model["model"]: model["requests"] for model in self.status()["models"]}[EIT]
        page.get_by_role("button", name="Send 200 requests").click()
        page.locator("#burst-text").filter(has_text="p99").wait_for()
        self.assertRegex(page.locator("#burst-text").text_content(),
                         r"^[\d.]+ answers a second; half within [\d.]+ ms \(p50\), 99 of 100 within [\d.]+ ms \(p99\); "
                         r"[\d.]+ pictures a batch; 0 refused\.$")
        self.assertEqual(page.locator("#burst-chart circle").count(), 200)
        after = {model["model"]: model["requests"] for model in self.status()["models"]}[EIT]
        self.assertGreaterEqual(after - before, 200)
        self.assertEqual(page.locator("#versions tr").count(), 3)
        self.accessible(page, "a burst")


class Flags(unittest.TestCase):
    def test_without_the_flag_there_is_no_page(self):
        server = start_server(models=(KV,), page=())
        self.addCleanup(server.stop)
        for path in ("/", "/page/main.js", "/page/samples"):
            with self.assertRaises(urllib.error.HTTPError) as missing:
                urllib.request.urlopen(f"http://{server.http}{path}")
            self.assertEqual(missing.exception.code, 404, path)

    def test_samples_of_every_format_are_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            group = pathlib.Path(folder) / "mixed"
            group.mkdir()
            for ending in ("jpg", "jpeg", "png", "webp", "WEBP"):
                PIL.Image.open(FROG).save(group / f"{ending}.{ending}")
            PIL.Image.open(FROG).save(group / "frog.bmp")
            server = start_server(models=(KV,), page=("--page", "--page-samples", folder))
            self.addCleanup(server.stop)
        with urllib.request.urlopen(f"http://{server.http}/page/samples") as answer:
            names = [sample["name"] for sample in json.load(answer)["samples"]]
        self.assertEqual(names, ["WEBP.WEBP", "jpeg.jpeg", "jpg.jpg", "png.png", "webp.webp"])
        with urllib.request.urlopen(f"http://{server.http}/page/samples/mixed/webp.webp") as answer:
            self.assertEqual(answer.headers["Content-Type"], "image/webp")
            self.assertEqual(answer.read(4), b"RIFF")
