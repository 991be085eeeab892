# SPDX-License-Identifier: Apache-2.0
"""Tests the code that requests the shown result, and the downloads of files and of the model card."""

import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import PIL.Image

from page_case import EIT, FROG, KV, PAGE, SAMPLES, PageCase, ask, start_server


class CodeAndFiles(PageCase):
    def code(self, page, language):
        page.get_by_role("button", name="Use from code").first.click()
        page.get_by_role("button", name=language, exact=True).click()
        text = page.locator("#code-text").text_content()
        page.get_by_role("button", name="Close").last.click()
        return text

    def run_in(self, folder, *command, text):
        done = subprocess.run(command, input=text, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_curl_command_works(self):
        page = self.open("#sample=cifar/frog-marsh.jpg&kind=mean&layer=1&head=3")
        with tempfile.TemporaryDirectory() as folder:
            answer = json.loads(self.run_in(folder, "bash", text=self.code(page, "curl")))
        self.assertEqual(self.expected(answer), self.predictions(page))
        places = {(found["kind"], found["layer"], found["head"]) for found in answer["attention"]}
        self.assertIn(("mean", 1, 3), places)

    def test_curl_for_a_sample_with_special_characters_works(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "group"))
            shutil.copy(FROG, os.path.join(folder, "group", "50% off, #1?.jpg"))
            server = start_server(models=(EIT,), page=("--page", "--page-samples", folder))
            self.addCleanup(server.stop)
            page = self.open(server=server)
            answer = json.loads(self.run_in(folder, "bash", text=self.code(page, "curl")))
        self.assertEqual(self.expected(answer), self.predictions(page))

    def test_curl_for_an_uploaded_file_works(self):
        page = self.open()
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "it's a frog.jpg")
            shutil.copy(FROG, name)
            self.upload(page, name)
            answer = json.loads(self.run_in(folder, "bash", text=self.code(page, "curl")))
        self.assertEqual(self.expected(answer), self.predictions(page))

    def test_code_for_a_converted_image_reads_the_converted_file(self):
        """If the page converted an image to PNG, the code that the page shows reads this PNG, and the user can save it."""
        page = self.open()
        with tempfile.TemporaryDirectory() as folder:
            PIL.Image.open(FROG).save(os.path.join(folder, "pond.gif"))
            self.upload(page, os.path.join(folder, "pond.gif"))
            page.get_by_role("button", name="Use from code").click()
            self.assertIn("pond.png", page.locator("#sheet .hint").inner_text())
            with page.expect_download() as download:
                page.get_by_role("button", name="Save it").click()
            download.value.save_as(os.path.join(folder, download.value.suggested_filename))
            page.keyboard.press("Escape")
            answer = json.loads(self.run_in(folder, "bash", text=self.code(page, "curl")))
        self.assertEqual(self.expected(answer), self.predictions(page))
        with self.answers(page):
            page.get_by_role("button", name="Camera").click()
            self.until(lambda: page.evaluate("() => document.getElementById('video').videoWidth > 0"), "the camera")
            page.get_by_role("button", name="Take the picture").click()
        self.assertIn("'@camera.jpg'", self.code(page, "curl"))

    @unittest.skipUnless(shutil.which("node"), "there is no node")
    def test_the_javascript_code_works(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        with tempfile.TemporaryDirectory() as folder:
            lines = self.run_in(folder, "node", "--input-type=module", text=self.code(page, "JavaScript")).splitlines()
        self.assertEqual([line.split()[0] for line in lines], [label for label, _ in self.predictions(page)])

    def test_the_python_code_works(self):
        """The code requests the attention of the patch that the page's address names. script/test-python-client tests the client
        itself."""
        page = self.open(f"#sample=cifar/frog-marsh.jpg&models={EIT}@2&kind=query&patch=0.4,0.4")
        code = self.code(page, "Python")
        compile(code, "page", "exec")
        self.assertIn(f'vitrine.Client("{self.server.http}")', code)
        self.assertIn("version=2", code)
        self.assertRegex(code, r'vitrine.Attention\("query", layers=\[-1\], query=\d+\)')
        self.assertIn('heads="all"', code)
        self.assertIn("\nresult.attention[0].draw()", code)
        page = self.open("#sample=cifar/frog-marsh.jpg&kind=mean&layer=1&head=3")
        self.assertIn("\nnext(each for each in result.attention if each.head == 3).draw()", self.code(page, "Python"))
        page = self.open("#sample=cifar/frog-marsh.jpg&kind=none")
        self.assertNotIn("draw", self.code(page, "Python"))

    def saved(self, page, name):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).first.click()
        return download.value.suggested_filename, download.value.path().read_bytes()

    def test_results_can_be_saved_as_files(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        name, png = self.saved(page, "Save picture")
        self.assertEqual(name, f"frog-marsh.{EIT}.png")
        shown = self.canvas(page)
        self.assertEqual(PIL.Image.open(io.BytesIO(png)).size, (shown.shape[1], shown.shape[0]))
        name, text = self.saved(page, "Save JSON")
        self.assertEqual(name, f"frog-marsh.{EIT}.json")
        self.assertEqual(json.loads(text)["predictions"], ask(self.server, EIT, FROG.read_bytes())["predictions"])

    def test_the_model_card_is_shown(self):
        page = self.open("#sample=cifar/frog-marsh.jpg")
        page.get_by_role("button", name="About the model").click()
        page.locator(".model-card").wait_for()
        card = page.locator(".model-card").inner_text()
        for words in ("3,765,760", "airplane, automobile", "36 to 144 tokens", "of 10,000 test 32x32 pictures", "SHA-256", "Apache-2.0"):
            self.assertIn(words, card)
        page.keyboard.press("Escape")
        self.assertTrue(page.locator("#sheet").is_hidden())

    def test_code_is_usable_on_a_phone(self):
        """A panel that is longer than the screen is shown from its beginning, and every button is inside the panel."""
        page = self.open("#sample=cifar/frog-marsh.jpg", width=360, height=640)
        page.get_by_role("button", name="About the model").click()
        self.assertGreaterEqual(page.locator("#sheet-title").bounding_box()["y"], 0)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Use from code").click()
        listing = page.locator(".listing").bounding_box()
        for tab in page.locator(".tabs button").all():
            box = tab.bounding_box()
            self.assertLessEqual(box["x"] + box["width"], listing["x"] + listing["width"] + 0.5)

    def test_many_requests_need_the_flag(self):
        self.assertTrue(self.open().locator("#burst").is_visible())
        server = start_server(models=(KV,), page=("--page", "--page-samples", str(SAMPLES)))
        self.addCleanup(server.stop)
        page = self.open("#sample=digits/digit-7.png", server)
        page.locator("#versions tr").first.wait_for()
        self.assertFalse(page.locator("#burst").is_visible())
        self.assertIn("--page-burst", PAGE)
