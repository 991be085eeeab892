# SPDX-License-Identifier: Apache-2.0
"""Makes a page with the --help of every program and of each of its commands."""
import pathlib
import re
import subprocess

PROGRAMS = ("vitrine", "vitrine-repo", "vitrine-train", "vitrine-server")
# With this boost, a search for a flag lists this reference page before pages that only mention the flag.
INTRODUCTION = """---
search:
  boost: 100
---
# Programs and flags

What every program and every command prints with `--help`, taken from the programs when this site was built.
"""


def help_of(program: pathlib.Path, words: list[str]) -> str:
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        called = " ".join([program.name, *words])
        raise RuntimeError(f"{called} --help ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip("\n")


def commands_in(text: str) -> list[str]:
    """Returns the names under "Subcommands:"."""
    section = re.search(r"^Subcommands:\n((?:(?:  .*)?\n)*?)(?=\S|\Z)", text + "\n", re.MULTILINE)
    return re.findall(r"^  ([a-z][a-z-]*)(?=\s|$)", section[1], re.MULTILINE) if section else []


def sections(program: pathlib.Path, words: list[str]):
    text = help_of(program, words)
    level = "#" * (2 + len(words))
    yield f"{level} {' '.join([program.name, *words])}\n\n```text\n{text}\n```\n"
    for command in commands_in(text):
        yield from sections(program, [*words, command])


def page(folder: pathlib.Path) -> str:
    parts = [INTRODUCTION]
    for name in PROGRAMS:
        if not (folder / name).exists():
            raise FileNotFoundError(f"{folder / name} is missing; script/docs without a folder builds it")
        parts.extend(sections(folder / name, []))
    return "\n".join(parts)
