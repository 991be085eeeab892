# SPDX-License-Identifier: Apache-2.0
"""Commands and flags of the built programs, from --help."""
import functools
import os
import pathlib
import re
import subprocess
from typing import Optional

PROGRAMS = ("vitrine-server", "vitrine-train", "vitrine-repo", "vitrine")


def folder() -> Optional[pathlib.Path]:
    """Returns the folder of the built programs; None if they are not built."""
    path = pathlib.Path(os.environ.get("VITRINE_BIN", "build/bin")).resolve()
    return path if all((path / program).exists() for program in PROGRAMS) else None


@functools.cache
def help_of(command: tuple[str, ...]) -> str:
    said = subprocess.run([str(folder() / command[0]), *command[1:], "--help"], capture_output=True, text=True, timeout=60)
    if said.returncode != 0:
        raise AssertionError(f"{' '.join(command)} --help ends with {said.returncode}: {said.stderr}")
    return said.stdout


def flags_of(command: tuple[str, ...]) -> set[str]:
    """Returns the flags that have their own line in the help. Ignores flags in examples."""
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z0-9][a-z0-9-]*)", help_of(command), re.M))


def commands_of(command: tuple[str, ...]) -> set[str]:
    section = re.search(r"^Subcommands:\n((?:  .*\n)+)", help_of(command), re.M)
    return set(re.findall(r"^  (\S+)", section[1], re.M)) if section else set()


def faults(line: list[str]) -> list[str]:
    """Returns the unknown commands and flags of a program's command line."""
    command = (pathlib.PurePath(line[0]).name,)
    rest = line[1:]
    while rest and rest[0] in commands_of(command):
        command += (rest[0],)
        rest = rest[1:]
    if len(command) == 1 and commands_of(command) and rest and not rest[0].startswith("-"):
        return [f"{command[0]} has no command {rest[0]}"]
    known = flags_of(command)
    return [f"{' '.join(command)} has no {argument.split('=')[0]}"
            for argument in rest if argument.startswith("--") and argument.split("=")[0] not in known]


def program_lines(words: list[str]) -> list[list[str]]:
    """Returns a list with the container's command line, or an empty list if it runs none of our programs."""
    return [words] if words and pathlib.PurePath(words[0]).name in PROGRAMS else []
