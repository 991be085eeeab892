# SPDX-License-Identifier: Apache-2.0
"""Tests the search of the site that script/docs builds, in a browser. `script/test-page BUILD site_search` runs it."""
import functools
import http.server
import os
import pathlib
import sys
import threading
import unittest

from playwright.sync_api import sync_playwright

from page_case import CHROMIUM, PATIENCE

SITE = pathlib.Path(os.environ["VITRINE_BUILD"]) / "site"


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class SiteSearch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=SITE))
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.server_close)
        cls.addClassCleanup(cls.server.shutdown)
        cls.browser = cls.enterClassContext(sync_playwright()).chromium.launch(**CHROMIUM)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.page = self.browser.new_page()
        self.said = []
        self.page.on("console", lambda message: message.type in ("error", "warning") and self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def open(self, query=""):
        self.page.goto(f"http://127.0.0.1:{self.server.server_address[1]}/index.html{query}")

    def links(self):
        """Returns [path of the page, title and matching text] of each result, best first."""
        self.page.wait_for_selector(".md-search-result__link", state="attached", timeout=PATIENCE * 1000)
        return self.page.locator(".md-search-result__link").evaluate_all("all => all.map(each => [each.pathname, each.textContent])")

    def test_the_search_for_a_flag_finds_its_program(self):
        for query in ("max-queue-requests", "--max-queue-requests", "--max-in-flight", "--if-absent"):
            self.open(f"?q={query}")
            self.assertIn("/reference/programs.html", [path for path, _ in self.links()], query)
        self.assertEqual(self.said, [])

    def test_a_flag_can_be_typed(self):
        self.open()
        field = self.page.locator("input[data-md-component=search-query]")
        field.click()
        field.press_sequentially("--max-queue-requests")
        self.assertTrue(self.links())
        self.assertEqual(self.said, [])

    def test_words_are_found(self):
        self.open("?q=goodput overload")
        self.assertTrue(any("scheduling" in path or "overload" in path for path, _ in self.links()[:5]))
        self.assertEqual(self.said, [])


if not SITE.is_dir():
    print("site_search: SKIPPED, nothing was tested: there is no site; script/docs makes it", file=sys.stderr)
    sys.exit(77)
