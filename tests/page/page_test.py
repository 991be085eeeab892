# SPDX-License-Identifier: Apache-2.0
"""The page of a real server in Chromium: what a visitor does, and what the page promises."""

import base64
import hashlib
import json
import pathlib
import re
import signal
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

import numpy
from axe_playwright_python.sync_playwright import Axe

import oip_server
from page_case import EIT, KV, PAGE, SAMPLES, SOURCE, XCIT, PageCase, ask, pixels, start_server

FROG = SAMPLES / "cifar" / "frog-marsh.jpg"
HORSE = SAMPLES / "cifar" / "horse-bay.jpg"
MOST_BYTES = 150_000


def state_of(page):
    return dict(part.split("=", 1) for part in page.url.partition("#")[2].split("&") if part)


class Answers(PageCase):
    def test_first_minute(self):
        """The first sample is answered without a click; how soon is told, since this machine may have other work."""
        page = self.open()
        times = page.evaluate("""() => ["first-contentful-paint", "answered"].map(
                                     (name) => Math.round(performance.getEntriesByName(name)[0].startTime))""")
        print(f"first paint {times[0]} ms, first answer {times[1]} ms", flush=True)
        first = sorted(SAMPLES.glob("cifar/*"))[0]
        self.assertEqual(self.predictions(page), self.expected(ask(self.server, EIT, first.read_bytes())))
        self.shot(page, "one-model-light")

    def test_upload(self):
        page = self.open()
        self.upload(page, FROG)
        self.assertEqual(self.predictions(page), self.expected(ask(self.server, EIT, FROG.read_bytes())))
        self.assertNotIn("sample", state_of(page))
        page.locator("#said").filter(has_text="frog").wait_for(state="attached")  # for those who hear the page
        times = page.locator(".times li").all_text_contents()
        self.assertEqual([text.split()[0] for text in times], ["waiting", "decoding", "computing", "maps"])

    def give(self, page, kind):
        """A paste or drop of a file, as a browser makes one."""
        page.evaluate("""([kind, data]) => {
            const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)), transfer = new DataTransfer();
            transfer.items.add(new File([bytes], "frog.jpg", {type: "image/jpeg"}));
            const event = kind === "drop" ? new DragEvent("drop", {dataTransfer: transfer, cancelable: true})
                                          : new ClipboardEvent("paste", {clipboardData: transfer});
            window.dispatchEvent(event);
        }""", [kind, base64.b64encode(FROG.read_bytes()).decode()])

    def test_drop_and_paste(self):
        for kind in ("drop", "paste"):
            page = self.open()
            with self.answers(page):
                self.give(page, kind)
            self.assertEqual(self.predictions(page)[0][0], "frog", kind)

    def test_other_formats_are_brought_to_png(self):
        page = self.open()
        with self.answers(page):
            page.evaluate("""async () => {
                const canvas = new OffscreenCanvas(64, 48);
                canvas.getContext("2d").fillRect(0, 0, 64, 24);
                const file = new File([await canvas.convertToBlob({type: "image/webp"})], "a.webp", {type: "image/webp"});
                const transfer = new DataTransfer();
                transfer.items.add(file);
                window.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer}));
            }""")
        self.assertIn("brought to PNG", page.locator("#hint").text_content())
        self.assertEqual(len(self.predictions(page)), 5)

    def test_camera(self):
        page = self.open()
        page.get_by_role("button", name="Camera").click()
        self.until(lambda: page.evaluate("() => document.getElementById('video').videoWidth > 0"), "the camera")
        with self.answers(page):
            page.get_by_role("button", name="Take the picture").click()
        self.assertEqual(len(self.predictions(page)), 5)
        self.assertFalse(page.evaluate("() => Boolean(document.getElementById('video').srcObject)"), "the camera is off again")

    def test_side_by_side(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},{XCIT}&kind=class")
        for model in (EIT, XCIT):
            answer = ask(self.server, model, FROG.read_bytes())
            self.assertEqual(self.predictions(page, model), self.expected(answer))
            # One absolute scale: a bar is its probability's part of the same length.
            bars = page.locator(f'[data-model="{model}"] .bar').evaluate_all(
                """(bars) => Promise.all(bars.map(async (bar) => {
                       await Promise.all(bar.firstChild.getAnimations().map((animation) => animation.finished));
                       return bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width; }))""")
            numpy.testing.assert_allclose(bars, [each["probability"] for each in answer["predictions"]], atol=0.01)
        self.assertEqual(page.locator(f'[data-model="{XCIT}"] .lack').text_content(),
                         f"{XCIT} has no attention of kind class; it has class-attention and channels.")
        self.assertEqual(page.locator(f'[data-model="{EIT}"] .lack').count(), 0)
        self.shot(page, "two-models-light")
        with self.answers(page):
            page.get_by_role("checkbox", name=KV).check()
        self.assertIn("none of its classes", page.locator(f'[data-model="{KV}"] .sentence').text_content())
        self.shot(page, "three-models-light")

    def test_samples_of_other_classes_choose_their_model(self):
        page = self.open()
        with self.answers(page):
            page.locator('[data-name="digits/digit-7.png"]').click()
        self.assertEqual(self.predictions(page, KV)[0][0], "7")


class Maps(PageCase):
    def server_overlay(self, query):
        """The picture of the server's own drawing, without the legend below it."""
        answer = ask(self.server, EIT, FROG.read_bytes(), f"attention={query}&attention_encoding=png")
        return pixels(base64.b64decode(answer["attention"][0]["png"])), answer["grid"]

    def difference(self, ours, theirs, without=None):
        """The mean and the largest but one of a hundred of the differences, inside the frame that the server draws."""
        inside = numpy.abs(ours - theirs[:ours.shape[0]])[3:-3, 3:-3].max(axis=2)
        if without is not None:
            top, bottom, left, right = without
            inside[max(0, top - 6):bottom + 3, max(0, left - 6):right + 3] = 0
        return inside.mean(), numpy.percentile(inside, 99)

    def test_overlay_is_the_servers(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        for kind, layer, head in (("class", 4, ""), ("mean", 0, ""), ("class", 2, "3")):
            with self.answers(page):
                page.evaluate("(hash) => { location.hash = hash; }",
                              f"sample=cifar/frog-marsh.jpg&models={EIT}&kind={kind}&layer={layer}&head={head}")
            theirs, _ = self.server_overlay(f"{kind}:{layer}:{head}")
            mean, most = self.difference(self.canvas(page), theirs)
            self.assertLess(mean, 2, (kind, layer, head))
            self.assertLess(most, 8, (kind, layer, head))
        other, _ = self.server_overlay("class:0:")
        self.assertGreater(self.difference(self.canvas(page), other)[0], 4, "another map differs by more")

    def test_without_the_map_it_is_the_picture(self):
        page = self.open("#sample=cifar/frog-marsh.jpg&opacity=0")
        mean, most = self.difference(self.canvas(page), pixels(FROG.read_bytes()))
        self.assertLess(mean, 2)
        self.assertLess(most, 8)
        page.locator("#opacity").fill("100")
        self.assertGreater(self.difference(self.canvas(page), pixels(FROG.read_bytes()))[0], 20)

    def test_a_patch_shows_its_query_row(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        box = page.locator(".frame canvas").bounding_box()
        with self.answers(page):
            page.mouse.click(box["x"] + 0.32 * box["width"], box["y"] + 0.65 * box["height"])
        self.assertEqual(state_of(page)["kind"], "query")
        grid = ask(self.server, EIT, FROG.read_bytes())["grid"]
        row, column = int(0.65 * grid["rows"]), int(0.32 * grid["columns"])
        theirs, _ = self.server_overlay(f"query:-1::{row * grid['columns'] + column}")
        ours = self.canvas(page)
        height, width = ours.shape[:2]
        cell = (row * height // grid["rows"], (row + 1) * height // grid["rows"],
                column * width // grid["columns"], (column + 1) * width // grid["columns"])
        mean, most = self.difference(ours, theirs, without=cell)
        self.assertLess(mean, 2)
        self.assertLess(most, 8)
        self.shot(page, "query-light")

    def test_the_legend_has_the_maps_largest_value(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT}&kind=class")
        answer = ask(self.server, EIT, FROG.read_bytes(), "attention=class&attention_encoding=float")
        high = numpy.max(answer["attention"][0]["values"])
        self.assertIn(f"{100 * high:.1f} %", page.locator(".legend .ends").text_content())

    def test_matrices(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT}&kind=weights")
        grid = ask(self.server, EIT, FROG.read_bytes())["grid"]
        tokens = grid["rows"] * grid["columns"] + 1
        self.assertEqual(self.canvas(page).shape, (tokens, tokens, 3))

    def test_distances(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        values = ask(self.server, EIT, FROG.read_bytes(), "attention=distance")["attention"][0]["values"]
        self.assertEqual(page.locator("#distance-charts circle").count(), len(values) * len(values[0]))
        mean = numpy.mean(values, axis=1)[0]
        label = page.locator("#distance-charts svg").get_attribute("aria-label")
        self.assertIn(f"by layer {float(f'{mean:.3g}'):g}", label)

    def test_neighbours(self):
        page = self.open("#sample=cifar/horse-bay.jpg")
        page.locator("#neighbour-rows li").first.wait_for()

        def embedding(path):
            return numpy.array(ask(self.server, EIT, path.read_bytes(), "features=class")["features"][0]["values"])
        own = embedding(HORSE)
        near = {}
        for path in SAMPLES.glob("cifar/*"):
            other = embedding(path)
            near[path.stem.replace("-", " ")] = own @ other / numpy.linalg.norm(own) / numpy.linalg.norm(other)
        del near["horse bay"]
        shown = page.locator("#neighbour-rows img").evaluate_all("(images) => images.map((image) => image.alt)")
        self.assertEqual(shown, sorted(near, key=near.get, reverse=True)[:5])
        with self.answers(page):
            page.locator("#neighbour-rows button").first.click()
        self.assertEqual(state_of(page)["sample"].split("/")[1].rsplit(".", 1)[0].replace("-", " "), shown[0])


class Errors(PageCase):
    def refusal(self, page, model=EIT):
        return page.locator(f'[data-model="{model}"] .trouble').text_content()

    def test_damaged_picture(self):
        page = self.open()
        damaged = pathlib.Path(self.server.folder) / "damaged.jpg"
        damaged.write_bytes(FROG.read_bytes()[:2000])
        with self.assertRaises(urllib.error.HTTPError) as refused:
            ask(self.server, EIT, damaged.read_bytes())
        said = json.load(refused.exception)
        self.upload(page, damaged)
        self.assertEqual(self.refusal(page), f"{said['error']}INVALID_ARGUMENT, HTTP 400")
        self.shot(page, "damaged-picture")
        self.upload(page, FROG)
        self.assertEqual(self.predictions(page)[0][0], "frog", "the page goes on")

    def test_no_picture_at_all(self):
        page = self.open()
        text = pathlib.Path(self.server.folder) / "notes.txt"
        text.write_text("no picture")
        self.upload(page, text)
        self.assertIn("not a JPEG or PNG", self.refusal(page))

    def test_model_that_was_never_there(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},nobody")
        self.assertIn('there is no model "nobody"', self.refusal(page, "nobody"))
        self.assertIn("NOT_FOUND, HTTP 404", self.refusal(page, "nobody"))
        self.assertEqual(self.predictions(page)[0][0], "frog", "the other one answers")
        with self.answers(page):
            page.get_by_role("checkbox", name="nobody").click()
        self.assertEqual(page.locator(".card").count(), 1)

    def test_model_that_goes(self):
        server = start_server("--admin", "unix://{folder}/admin", models=(EIT, KV))
        self.addCleanup(server.stop)
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},{KV}", server)
        subprocess.run([oip_server.PROGRAM.parent / "vitrine", "models", "unload", KV, "--all", "--admin",
                        f"unix://{server.folder}/admin"], check=True, capture_output=True, timeout=60)

        def gone():
            with self.answers(page):
                page.locator('[data-name="cifar/frog-marsh.jpg"]').click()
            return page.locator(f'[data-model="{KV}"] .trouble').count() > 0
        self.until(gone, "the refusal")
        self.assertIn("NOT_FOUND, HTTP 404", self.refusal(page, KV))
        self.assertEqual(self.predictions(page)[0][0], "frog")
        page.locator("#versions").filter(has_not_text=KV).wait_for()
        self.shot(page, "model-gone")

    def test_draining_and_ended(self):
        server = start_server("--drain-deadline", "60s", models=(EIT,))
        self.addCleanup(server.stop)
        page = self.open("#sample=cifar/frog-marsh.jpg", server)
        # A client that does not take its answer, so that the server cannot end yet.
        host, port = server.http.split(":")
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect((host, int(port)))
            picture = FROG.read_bytes()
            slow.sendall((f"POST /v1/models/{EIT}:classify?attention=weights:all:all HTTP/1.1\r\nHost: {server.http}\r\n"
                          f"Content-Length: {len(picture)}\r\n\r\n").encode() + picture)
            self.assertEqual(slow.recv(12), b"HTTP/1.1 200")
            server._process.send_signal(signal.SIGTERM)

            def refused():
                with self.answers(page):
                    page.locator('[data-name="cifar/frog-marsh.jpg"]').click()
                return page.locator(".card .trouble").count() > 0
            self.until(refused, "the refusal")
            self.assertIn("UNAVAILABLE, HTTP 503", self.refusal(page))
            self.shot(page, "draining")
        server._process.wait(60)
        with self.answers(page):
            page.locator("#head").select_option("1")
        self.assertIn("does not answer", self.refusal(page))
        self.assertIn("UNREACHABLE", self.refusal(page))

    def test_token(self):
        token = "open-sesame-" * 4
        folder = pathlib.Path(self.server.folder)
        tokens, policy = folder / "tokens", folder / "policy"
        tokens.touch(0o600)
        tokens.write_text(f"page sha256:{hashlib.sha256(token.encode()).hexdigest()}\n")
        policy.write_text('roles { name: "page" methods: "/vitrine.v1.Registry/*" methods: "/vitrine.v1.Classifier/*" '
                          f'models: "{EIT}" }} callers {{ token: "page" roles: "page" }}')
        server = start_server("--tokens", str(tokens), "--policy", str(policy))
        self.addCleanup(server.stop)
        page = self.open(server=server, wait=False)
        field = page.get_by_label("This server wants a token")
        field.wait_for()
        self.shot(page, "token")
        field.fill("wrong")
        field.press("Enter")
        page.locator("#verdict").filter(has_text="token").wait_for()
        self.assertTrue(field.is_visible())
        with self.answers(page):
            field.fill(token)
            field.press("Enter")
        self.assertEqual(self.predictions(page)[0][0], "airplane")
        self.assertTrue(field.is_hidden())
        self.assertEqual(page.get_by_role("checkbox").count(), 1, "the models of the policy alone")
        page.locator("#versions tr").first.wait_for()
        self.assertEqual(page.locator("#versions tr").count(), 1)


class Live(PageCase):
    def status(self):
        with urllib.request.urlopen(f"http://{self.server.http}/v1/status") as answer:
            return json.load(answer)

    def test_status_shows_no_secrets_of_the_operator(self):
        status = self.status()
        self.assertEqual((status["log"], status["flags"], status["certificates"]), ([], {}, {}))
        self.assertEqual({version["model"] for version in status["versions"]}, {EIT, KV, XCIT})

    def test_a_burst(self):
        page = self.open()
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
        self.shot(page, "burst-light")


class Manners(PageCase):
    def test_narrow(self):
        for name, state in (("one", ""), ("four", f"#sample=cifar/deer-buck.jpg&models={EIT},{XCIT},{KV},nobody")):
            page = self.open(state, width=360, height=740)
            self.assertEqual(page.evaluate("() => document.documentElement.scrollWidth"), 360, name)
            self.shot(page, f"narrow-{name}")

    def test_keyboard_alone(self):
        page = self.open()

        def reach(holds, key="Tab"):
            for _ in range(80):
                page.keyboard.press(key)
                if page.evaluate(f"() => {{ const at = document.activeElement; return Boolean({holds}); }}"):
                    return
            self.fail(f"no way by {key} to {holds}")

        reach('at.dataset.name === "cifar/horse-bay.jpg"')
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid", "who uses keys sees where they are")
        with self.answers(page):
            page.keyboard.press("Enter")
        self.assertEqual(self.predictions(page)[0][0], "horse")
        reach(f'at.type === "checkbox" && at.value === "{XCIT}"')
        with self.answers(page):
            page.keyboard.press("Space")
        self.assertEqual(page.locator(".card").count(), 2)
        reach('at.id === "kind"')
        with self.answers(page):
            page.keyboard.press("ArrowDown")
        self.assertEqual(state_of(page)["kind"], "mean")
        reach('at.id === "layer"')
        with self.answers(page):
            page.keyboard.press("ArrowLeft")
        self.assertEqual(state_of(page)["layer"], "3")
        reach('at.tagName === "CANVAS"')
        with self.answers(page):
            page.keyboard.press("ArrowRight")
        first = state_of(page)
        self.assertEqual(first["kind"], "query")
        with self.answers(page):
            page.keyboard.press("ArrowDown")
        self.assertNotEqual(state_of(page)["patch"], first["patch"])
        with self.answers(page):
            page.keyboard.press("Escape")
        self.assertEqual(state_of(page)["kind"], "mean")
        reach('at.dataset.head === "2"')
        with self.answers(page):
            page.keyboard.press("Enter")
        self.assertEqual(state_of(page)["head"], "2")
        self.assertEqual(page.evaluate("() => document.activeElement.dataset.head"), "2", "the focus stays")

    def test_the_address_holds_what_is_looked_at(self):
        page = self.open()
        with self.answers(page):
            page.locator('[data-name="cifar/frog-marsh.jpg"]').click()
        with self.answers(page):
            page.locator("#kind").select_option("mean")
        with self.answers(page):
            page.locator("#layer").fill("1")
        with self.answers(page):
            page.locator("#head").select_option("5")
        page.locator("#opacity").fill("80")
        again = self.open("#" + page.url.partition("#")[2])
        self.assertEqual(again.url, page.url)
        self.assertEqual(again.locator("#kind").input_value(), "mean")
        self.assertEqual(again.locator("#layer").input_value(), "1")
        self.assertEqual(again.locator("#head").input_value(), "5")
        self.assertEqual(again.locator("#opacity").input_value(), "80")
        numpy.testing.assert_array_equal(self.canvas(again), self.canvas(page))

    def test_wrong_addresses(self):
        """What nobody wrote is taken for what can be."""
        page = self.open("#sample=cifar/frog-marsh.jpg&kind=nonsense&layer=-3&head=x&patch=9,9&opacity=1000")
        self.assertIn("no attention of kind nonsense", page.locator(".lack").text_content())
        self.assertEqual(page.locator("#opacity").input_value(), "100")

    def test_dark_and_light(self):
        def ground(page):
            return sum(map(int, re.findall(r"\d+", page.evaluate("() => getComputedStyle(document.body).backgroundColor"))))
        page = self.open(scheme="dark")
        self.assertLess(ground(page), 3 * 60)
        self.shot(page, "one-model-dark")
        page.get_by_role("button", name="Light").click()
        self.assertGreater(ground(page), 3 * 200)
        with self.answers(page, fresh=True):
            page.reload()
        self.assertGreater(ground(page), 3 * 200, "the choice is kept")
        self.assertGreater(ground(self.open(scheme="light")), 3 * 200)

    def test_policy(self):
        with urllib.request.urlopen(f"http://{self.server.http}/") as answer:
            policy, tag = answer.headers["Content-Security-Policy"], answer.headers["ETag"]
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        request = urllib.request.Request(f"http://{self.server.http}/", headers={"If-None-Match": tag})
        with self.assertRaises(urllib.error.HTTPError) as same:
            urllib.request.urlopen(request)
        self.assertEqual(same.exception.code, 304)
        page = self.open()
        page.evaluate("""() => { const script = document.createElement("script");
                                 script.textContent = "window.injected = true"; document.body.append(script); }""")
        self.assertFalse(page.evaluate("() => Boolean(window.injected)"))
        self.assertRegex(self.faults.pop(), "Content Security Policy")

    def test_size(self):
        files = [path for path in (SOURCE / "page").iterdir() if path.is_file()]
        total = sum(path.stat().st_size for path in files)
        print(f"the page is {len(files)} files of {total} bytes", flush=True)
        self.assertGreater(len(files), 10)
        self.assertLess(total, MOST_BYTES)

    def test_accessible(self):
        rules = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}
        four = f"#sample=cifar/deer-buck.jpg&models={EIT},{XCIT},{KV},nobody"
        for state, scheme, width in (("", "light", 1280), ("", "dark", 1280), (four, "dark", 1280), (four, "light", 360),
                                     (f"#sample=cifar/frog-marsh.jpg&models={EIT}&kind=query&patch=0.4,0.4", "light", 1280)):
            page = self.open(state, scheme=scheme, width=width)
            page.locator("#versions tr").first.wait_for()
            page.locator("#neighbour-rows li").first.wait_for()
            if not state:
                page.get_by_role("button", name="Send 200 requests").click()
                page.locator("#burst-text").filter(has_text="p99").wait_for()
            found = Axe().run(page, options=rules).response
            self.assertGreater(len(found["passes"]), 10)
            self.assertEqual([(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]], [],
                             (state, scheme, width))
            if state == four and scheme == "dark":
                self.shot(page, "four-models-dark")


class Flags(unittest.TestCase):
    def test_without_the_flag_there_is_no_page(self):
        server = start_server(models=(KV,), page=())
        self.addCleanup(server.stop)
        for path in ("/", "/page/main.js", "/page/samples"):
            with self.assertRaises(urllib.error.HTTPError) as missing:
                urllib.request.urlopen(f"http://{server.http}{path}")
            self.assertEqual(missing.exception.code, 404, path)

    def test_without_samples_a_picture_is_waited_for(self):
        server = start_server(models=(KV,), page=PAGE[:1])
        self.addCleanup(server.stop)
        with urllib.request.urlopen(f"http://{server.http}/page/samples") as answer:
            self.assertEqual(json.load(answer), {"samples": []})


if __name__ == "__main__":
    unittest.main()
