# SPDX-License-Identifier: Apache-2.0
"""What makes and checks the site of docs/ finds what it shall find; the site itself is site_test."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "script/site"))
import check_links  # noqa: E402
import program_reference  # noqa: E402

HELP = """Asks a server.
Usage: one [OPTIONS] SUBCOMMAND

Options:
  -h,--help                       Print this help message and exit
  words                           are no commands here

Subcommands:
  classify                        Say what is on pictures,
                                  all of them.
  token                           Make tokens.

Examples:
  one classify cat.jpg
"""


class Links(unittest.TestCase):
    def faults(self, **pages):
        """What the check says of a site of these pages."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                (pathlib.Path(folder) / f"{name}.html").write_text(text)
            said = io.StringIO()
            with mock.patch.object(sys, "argv", ["check_links.py", folder]), contextlib.redirect_stderr(said), \
                    contextlib.redirect_stdout(io.StringIO()):
                status = check_links.main()
            self.assertEqual(status != 0, bool(said.getvalue()))
            return said.getvalue()

    def test_sound_ones_pass(self):
        self.assertEqual(self.faults(a='<a href="b.html#there">b</a> <a href="https://example.org/x">x</a>'
                                       '<a href="#here">y</a><h1 id="here">a</h1>',
                                     b='<h2 id="there">b</h2><a href="./a.html">a</a>'), "")

    def test_a_page_that_is_missing(self):
        self.assertIn("a.html: c.html is not there", self.faults(a='<a href="c.html">c</a>'))

    def test_an_anchor_that_is_missing(self):
        self.assertIn("a.html: b.html#gone: that page has no such anchor",
                      self.faults(a='<a href="b.html#gone">b</a>', b="<h1 id=here>b</h1>"))

    def test_a_link_out_of_the_site(self):
        self.assertIn("../../etc/hostname is not there", self.faults(a='<a href="../../etc/hostname">x</a>'))

    def test_what_is_loaded_from_elsewhere(self):
        for tag in ('<script src="https://example.org/a.js">', '<link href="//example.org/a.css" rel="stylesheet">',
                    '<img src="http://example.org/a.png">'):
            with self.subTest(tag):
                self.assertIn("from elsewhere", self.faults(a=tag))

    def test_a_site_without_pages_is_no_site(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "argv", ["check_links.py", folder]), \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(check_links.main(), 1)


class Programs(unittest.TestCase):
    def test_commands_are_found_where_they_are_listed_and_nowhere_else(self):
        self.assertEqual(program_reference.commands_in(HELP), ["classify", "token"])
        self.assertEqual(program_reference.commands_in(HELP.split("Subcommands")[0]), [])
        self.assertEqual(program_reference.commands_in(HELP.split("\nExamples")[0]), ["classify", "token"])

    def test_a_program_that_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(FileNotFoundError, "vitrine is missing"):
            program_reference.page(pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main()
