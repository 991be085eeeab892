# SPDX-License-Identifier: Apache-2.0
"""Runs the guide's examples unchanged and compares their output."""

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from conftest import ROOT, Server

Block = Tuple[str, str]  # language, content


def blocks(path: Path) -> List[Block]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", ["docs/how-to/python.md", "docs/how-to/in-process.md", "client/python/README.md"])
@pytest.mark.usefixtures("engine")
def test_documented_examples_print_their_output(document: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A `text` block contains the expected output of the `python` block before it. In the expected output, "..."
    matches anything."""
    for folder in ("samples", "models/bundled"):
        (tmp_path / folder).parent.mkdir(exist_ok=True)
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "cat.jpg").symlink_to(ROOT / "samples/cifar/cat-chelsea.jpg")
    monkeypatch.chdir(tmp_path)
    found = blocks(ROOT / document)
    assert any(language == "python" for language, _ in found)
    (tmp_path / "server").mkdir()
    server = Server(tmp_path / "server", ROOT / "models/bundled", options=["--admin", "127.0.0.1:0"])
    places = {"127.0.0.1:8500": server.address, "127.0.0.1:8502": server.ports["admin"]}
    names: Dict[str, Any] = {}
    printed = ""
    for language, content in found:
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                for written, there in places.items():
                    content = content.replace(written, there)
                exec(compile(content, document, "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            matches = doctest.OutputChecker().check_output(content, printed, doctest.ELLIPSIS)
            assert matches, "%s promises\n%s\nand prints\n%s" % (document, content, printed)
    server.stop()
