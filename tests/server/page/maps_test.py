# SPDX-License-Identifier: Apache-2.0
"""Compares the maps on the page with the server's overlays and numbers."""

import base64

import numpy

from page_case import EIT, FROG, SAMPLES, PageCase, ask, pixels, state_of


class Maps(PageCase):
    def server_overlay(self, query):
        """Returns the pixels of the overlay that the server draws, and the `grid` of the answer."""
        answer = ask(self.server, EIT, FROG.read_bytes(), f"attention={query}&attention_encoding=png")
        return pixels(base64.b64decode(answer["attention"][0]["png"])), answer["grid"]

    def difference(self, ours, theirs, without=None):
        """Returns the mean and the 99th percentile of the differences between pixels. Ignores the frame of the server's
        overlay and the rectangle `without`."""
        inside = numpy.abs(ours - theirs[:ours.shape[0]])[3:-3, 3:-3].max(axis=2)
        if without is not None:
            top, bottom, left, right = without
            inside[max(0, top - 6):bottom + 3, max(0, left - 6):right + 3] = 0
        return inside.mean(), numpy.percentile(inside, 99)

    def test_the_map_equals_the_servers_overlay(self):
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
        self.assertGreater(self.difference(self.canvas(page), other)[0], 4, "another map must differ by more")

    def test_without_the_map_the_image_is_shown(self):
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

    def test_the_legend_has_the_maps_largest_value(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT}&kind=class")
        answer = ask(self.server, EIT, FROG.read_bytes(), "attention=class&attention_encoding=float")
        high = numpy.max(answer["attention"][0]["values"])
        self.assertIn(f"{100 * high:.1f} %", page.locator(".legend .ends").text_content())

    def test_matrices_are_drawn(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT}&kind=weights")
        grid = ask(self.server, EIT, FROG.read_bytes())["grid"]
        tokens = grid["rows"] * grid["columns"] + 1
        self.assertEqual(self.canvas(page).shape, (tokens, tokens, 3))

    def test_distances_are_drawn(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        values = ask(self.server, EIT, FROG.read_bytes(), "attention=distance")["attention"][0]["values"]
        self.assertEqual(page.locator("#distance-charts circle").count(), len(values) * len(values[0]))
        mean = numpy.mean(values, axis=1)[0]
        label = page.locator("#distance-charts svg").get_attribute("aria-label")
        self.assertIn(f"by layer {float(f'{mean:.3g}'):g}", label)

    def test_nearest_samples_are_listed(self):
        page = self.open("#sample=cifar/horse-bay.jpg")
        page.locator("#neighbour-rows li").first.wait_for()

        def embedding(path):
            return numpy.array(ask(self.server, EIT, path.read_bytes(), "features=class")["features"][0]["values"])
        own = embedding(SAMPLES / "cifar" / "horse-bay.jpg")
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
