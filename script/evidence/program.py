# SPDX-License-Identifier: Apache-2.0
"""Computes the digest of the sources that decide the trainer's results, as of a commit. cmake/program_sources.cmake and
cmake/write_program_digest.cmake define it; the trainer writes it into every result."""
import hashlib
import re
import subprocess


def git(root, *arguments, text=None):
    """Returns the output of git as bytes, or None if it fails or is not installed. `text` is its input, as bytes."""
    try:
        ran = subprocess.run(["git", "-C", str(root), *arguments], input=text, capture_output=True)
    except FileNotFoundError:
        return None
    return ran.stdout if ran.returncode == 0 else None


def patterns(listing, name):
    """Returns the regular expression of a list of patterns in program_sources.cmake."""
    block = re.search(rf"set\({name}\n(.*?)\)\n", listing, re.DOTALL)
    return "|".join(re.findall(r'"(.*)"', block[1])).replace(r"\\", "\\")


def sources(root, commit):
    """Returns the names of the sources that decide results, in the order of the digest."""
    listing = git(root, "show", f"{commit}:cmake/program_sources.cmake").decode()
    rooms, types = (re.search(rf"foreach\({name} (.*?)\)", listing)[1].split() for name in ("room", "type"))
    named = re.compile(rf"(?:{'|'.join(rooms)})/.*\.(?:{'|'.join(types)})")
    decide, report = re.compile(patterns(listing, "decide")), re.compile(patterns(listing, "only_report"))
    names = git(root, "ls-tree", "-r", "--name-only", "-z", commit).decode().split("\0")
    found = sorted(name for name in names if named.fullmatch(name) and decide.fullmatch(name) and not report.fullmatch(name))
    return found + re.findall(r"APPEND sources (\S+)\)", listing)


def contents(root, commit, names):
    """Yields the content of each file."""
    stream = git(root, "cat-file", "--batch", text="".join(f"{commit}:{name}\n" for name in names).encode())
    start = 0
    for _ in names:
        head = stream.index(b"\n", start)
        size = int(stream[start:head].split()[-1])
        yield stream[head + 1:head + 1 + size]
        start = head + size + 2


def digest(root, commit):
    """Returns the digest in hexadecimal digits, or None if the commit has no list of such sources."""
    if git(root, "cat-file", "-e", f"{commit}:cmake/program_sources.cmake") is None:
        return None
    names, lines = sources(root, commit), ""
    for name, text in zip(names, contents(root, commit, names)):
        text = re.sub(rb"[ \t\r]*\n[ \t\r\n]*", b"\n", b"\n" + text)
        text = re.sub(rb"\n//[^\n]*", b"", text)
        lines += f"{hashlib.sha256(text).hexdigest()}  {name}\n"
    return hashlib.sha256(lines.encode()).hexdigest()
