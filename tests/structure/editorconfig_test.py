# SPDX-License-Identifier: Apache-2.0
""".editorconfig: Python is indented by four, also where a program has no suffix, and everything else by two."""
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def indents():
    """(pattern, spaces) of the sections that set them, the braces of patterns written out."""
    section, found = "", []
    for line in (SOURCE / ".editorconfig").read_text().splitlines():
        if line.startswith("["):
            section = line[1:-1]
        elif line.startswith("indent_size = "):
            before, words, after = re.fullmatch(r"([^{]*)(?:\{([^}]*)\})?(.*)", section).groups()
            found += [(before + word + after, int(line.split()[-1])) for word in (words or "").split(",")]
    return found


class Indents(unittest.TestCase):
    def test_of_programs(self):
        sections = indents()
        known = {pattern for pattern, _ in sections if "/" in pattern}
        listed = subprocess.run(["git", "ls-files", "script", ".ci", "deploy"], cwd=SOURCE, check=True,
                                capture_output=True, text=True).stdout.split()
        for name in listed:
            if pathlib.Path(name).suffix:
                continue
            with (SOURCE / name).open(errors="replace") as file:
                first = file.readline()
            self.assertEqual(name in known, first.startswith("#!") and "python" in first, name)
        self.assertEqual([name for name in known if not (SOURCE / name).is_file()], [])
        self.assertEqual(dict(sections)["*.py"], 4)
        self.assertEqual({spaces for pattern, spaces in sections if pattern != "*"}, {4})


if __name__ == "__main__":
    unittest.main()
