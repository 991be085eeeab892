# SPDX-License-Identifier: Apache-2.0
"""Tests the package that pip builds, and its types."""

import inspect
import re
import subprocess
import sys
import zipfile
from importlib import metadata, resources
from pathlib import Path
from typing import List

import pytest
from conftest import ROOT

import vitrine
import vitrine.aio

PACKAGE = ROOT / "client/python"


def run(*command: str, cwd: Path) -> str:
    ran = subprocess.run([sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def contents(folder: Path) -> List[str]:
    (wheel,) = folder.glob("*.whl")
    return sorted(zipfile.ZipFile(wheel).namelist())


def test_a_source_distribution_includes_the_contract(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools.protoc", reason="this grpcio-tools wants an older setuptools", exc_type=ImportError)
    before = sorted(PACKAGE.rglob("src/**/*.py"))
    pip = ("pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "-w")
    run(*pip, str(tmp_path / "direct"), str(PACKAGE), cwd=tmp_path)
    run("hatchling", "build", "-t", "sdist", "-d", str(tmp_path), cwd=PACKAGE)
    (sdist,) = tmp_path.glob("*.tar.gz")
    run(*pip, str(tmp_path / "again"), str(sdist), cwd=tmp_path)
    assert contents(tmp_path / "direct") == contents(tmp_path / "again")
    version = (ROOT / "VERSION").read_text().strip()
    assert [wheel.name.split("-")[1] for wheel in tmp_path.glob("*/*.whl")] == [version, version]
    twins = {path.name for path in PACKAGE.glob("src/vitrine/_aio/*.py")} - {"__init__.py"}
    for name in ("LICENSE", "py.typed", *twins, "v1/descriptors.binpb", "v1/classifier_pb2.py", "v1/classifier_pb2.pyi"):
        assert "vitrine/" + name in contents(tmp_path / "direct")
    assert sorted(PACKAGE.rglob("src/**/*.py")) == before, "the build wrote into the sources"


def test_package_metadata_is_correct() -> None:
    about = metadata.metadata("vitrine")
    assert vitrine.__version__ == about["Version"] == (ROOT / "VERSION").read_text().strip()
    assert about["License-Expression"] == "Apache-2.0"
    licence = resources.files("vitrine").joinpath("LICENSE").read_text()
    assert licence == (ROOT / "LICENSE").read_text()
    assert "pandas" in about.get_all("Provides-Extra", [])
    needed = [need for need in metadata.requires("vitrine") or [] if "extra ==" not in need]
    assert len(needed) == 4 and not any("pandas" in need for need in needed)


def test_every_public_name_exists_and_is_documented() -> None:
    assert sorted(vitrine.__all__) == vitrine.__all__
    assert all(getattr(vitrine, name).__doc__ for name in vitrine.__all__ if name != "ImageSource")
    for kind in (vitrine.Client, vitrine.AdminClient, vitrine.aio.Client, vitrine.aio.AdminClient):
        methods = [method for name, method in vars(kind).items() if not name.startswith("_")]
        assert all(method.__doc__ for method in methods)
        names = {name for method in methods for name in inspect.signature(method).parameters}
        assert "deadline" in names and not [name for name in names if "timeout" in name]


@pytest.mark.skipif(sys.version_info < (3, 10), reason="mypy of today does not know numpy's stubs of Python 3.9")
def test_mypy_accepts_the_package(tmp_path: Path) -> None:
    assert metadata.version("mypy")
    options = ("--config-file", str(PACKAGE / "pyproject.toml"), "--cache-dir", str(Path(sys.prefix) / "mypy"))
    run("mypy", *options, "-p", "vitrine", cwd=tmp_path)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="mypy of today does not know numpy's stubs of Python 3.9")
def test_mypy_accepts_the_code_of_the_guide(tmp_path: Path) -> None:
    """mypy accepts the guide's code, which distinguishes Result from Refused by `ok`, and rejects code without `ok`."""
    options = ("--strict", "--cache-dir", str(Path(sys.prefix) / "mypy"))
    document = (ROOT / "docs/how-to/python.md").read_text()
    shown = re.findall(r"^```python\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    examples = [block for block in shown if "if not result.ok" in block]
    assert len(examples) >= 2 and any("embed_many" in block for block in examples)
    before = "import vitrine\nimport numpy as np\nfrom pathlib import Path\nclient = vitrine.Client()\n"
    for number, block in enumerate(examples):
        use = tmp_path / ("guide_%d.py" % number)
        use.write_text(before + block)
        run("mypy", *options, str(use), cwd=tmp_path)
    careless = tmp_path / "careless.py"
    careless.write_text(before + "for result in client.classify_many([]):\n    print(result.top1)\n")
    said = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(careless)], cwd=tmp_path, capture_output=True, text=True
    )
    assert said.returncode == 1 and 'of "Result | Refused" has no attribute "top1"' in said.stdout, said.stdout
