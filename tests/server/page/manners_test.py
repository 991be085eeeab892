# SPDX-License-Identifier: Apache-2.0
"""Tests narrow screens, keyboard use, links, dark and light mode, content security policy, page size and accessibility."""

import re

import numpy

from page_case import EIT, KV, SOURCE, XCIT, PageCase, state_of

MOST_BYTES = 150_000


class PageQuality(PageCase):
    def test_use_with_the_keyboard_only(self):
        page = self.open()

        def reach(holds, key="Tab"):
            for _ in range(80):
                page.keyboard.press(key)
                if page.evaluate(f"() => {{ const at = document.activeElement; return Boolean({holds}); }}"):
                    return
            self.fail(f"{key} does not reach an element with {holds}")

        reach('at.dataset.name === "cifar/horse-bay.jpg"')
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid", "the focused element must be visible")
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
        page.keyboard.press("Alt+ArrowRight")  # a shortcut of the browser, which must not change the kind
        self.assertEqual(state_of(page)["kind"], "mean")
        reach('at.dataset.head === "2"')
        with self.answers(page):
            page.keyboard.press("Enter")
        self.assertEqual(state_of(page)["head"], "2")
        self.assertEqual(page.evaluate("() => document.activeElement.dataset.head"), "2", "the element must keep the focus")

    def test_the_link_to_the_answers_keeps_the_state(self):
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={KV},{EIT}&kind=mean&layer=1")
        before = page.url
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        self.until(lambda: page.evaluate("() => document.activeElement.id") == "answers", "the focus")
        self.assertEqual((page.url, page.locator(".card").count()), (before, 2))

    def test_the_address_has_the_state_of_the_page(self):
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

    def test_a_browser_that_limits_changes_of_the_address(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        page.evaluate("() => { history.replaceState = () => { throw new DOMException('too many', 'SecurityError'); }; }")
        before = self.canvas(page)
        page.locator("#opacity").fill("100")
        self.assertGreater(numpy.abs(self.canvas(page) - before).mean(), 1)
        with self.answers(page):
            page.locator("#kind").select_option("mean")

    def test_wrong_addresses_are_reported(self):
        """Invalid parts of the address are replaced by valid values."""
        page = self.open("#sample=cifar/frog-marsh.jpg&kind=nonsense&layer=-3&head=x&patch=9,9&opacity=1000")
        self.assertIn("no attention of kind nonsense", page.locator(".lack").text_content())
        self.assertEqual(page.locator("#opacity").input_value(), "100")
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT},{EIT}")
        self.assertEqual(page.locator(".card").count(), 1)

    def test_both_colour_schemes_are_readable(self):
        def ground(page):
            return sum(map(int, re.findall(r"\d+", page.evaluate("() => getComputedStyle(document.body).backgroundColor"))))
        page = self.open(scheme="dark")
        self.assertLess(ground(page), 3 * 60)
        page.get_by_role("button", name="Light").click()
        self.assertGreater(ground(page), 3 * 200)
        with self.answers(page, fresh=True):
            page.reload()
        self.assertGreater(ground(page), 3 * 200, "the page must keep the chosen mode")
        self.assertGreater(ground(self.open(scheme="light")), 3 * 200)

    def test_the_content_security_policy_is_strict(self):
        page = self.open()
        page.evaluate("""() => { const script = document.createElement("script");
                                 script.textContent = "window.injected = true"; document.body.append(script); }""")
        self.assertFalse(page.evaluate("() => Boolean(window.injected)"))
        self.assertRegex(self.faults.pop(), "Content Security Policy")

    def test_the_page_is_small(self):
        files = [path for path in (SOURCE / "server/page").iterdir() if path.is_file()]
        total = sum(path.stat().st_size for path in files)
        print(f"the page is {len(files)} files of {total} bytes", flush=True)
        self.assertGreater(len(files), 10)
        self.assertLess(total, MOST_BYTES)

    def test_dialogs_are_accessible(self):
        for scheme, width in (("light", 1280), ("dark", 360)):
            page = self.open(scheme=scheme, width=width)
            self.assertEqual(page.evaluate("() => document.documentElement.scrollWidth"), width)
            for button in ("Use from code", "About the model", "Camera"):
                page.get_by_role("button", name=button).click()
                page.locator("dialog[open]").wait_for()
                self.accessible(page, (scheme, button), "dialog[open]")
                page.keyboard.press("Escape")
            page.locator("#file").set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"})
            page.locator("#trouble").wait_for()
            self.accessible(page, (scheme, "no picture"), "main")

    def test_the_page_is_accessible(self):
        four = f"#sample=cifar/deer-buck.jpg&models={EIT},{XCIT},{KV},nobody"
        query = f"#sample=cifar/frog-marsh.jpg&models={EIT}&kind=query&patch=0.4,0.4"
        for state, scheme, width in ((query, "light", 1280), (four, "dark", 1280), (four, "light", 360)):
            page = self.open(state, scheme=scheme, width=width)
            self.assertEqual(page.evaluate("() => document.documentElement.scrollWidth"), width, state)
            page.locator("#versions tr").first.wait_for()
            page.locator("#neighbour-rows li").first.wait_for()
            self.accessible(page, (state, scheme, width))
