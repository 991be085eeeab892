# SPDX-License-Identifier: Apache-2.0
"""Generates the blocking client from the asyncio client.

    generate_sync.py SRC OUT     OUT/vitrine/NAME.py from each SRC/vitrine/_aio/NAME.py, except HAND_WRITTEN

hatch_build.py runs it for each build. A build fails if a rule matches nothing, or if the result still contains a word
of asyncio.
"""

import re
import sys
from pathlib import Path

# Regular expressions and their replacements, in this order.
RULES = (
    (r"\basync (def|for) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit|next)__", r"__\1__"),
    (r"\.aclose\(", ".close("),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsyncGenerator\[(.*?), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncIterable(\[ImageSource\])?, ", ""),
    (r"\bAsync(Generator|Iterator)\b", r"\1"),
    (r"\bvitrine\._?aio\b", "vitrine"),
    # Documentation:
    (r"The asyncio client", "The blocking client"),
    (
        r"For one event loop: create it inside the loop\. Images are read and converted in the loop's threads\.",
        "Thread-safe; every call blocks. A process that forks must create its clients after the fork.",
    ),
    (r"For one event loop: create\s+it inside the loop\.", "Thread-safe."),
    (r"(Cancels the calls in flight)\.", r"\1, which then raise Cancelled."),
    (r", also an asynchronous one, or", ", or"),
    (
        r"A result is returned as soon as it .* while `images` waits for the\s+next image\. ",
        "It is iterated, and the images are read, in the thread that takes the results.\n        ",
    ),
    (r"At the first step, not at the call:", "At the call, not later:"),
)


HAND_WRITTEN = ("__init__.py", "_driver.py")


def generate(source: Path, out: Path) -> None:
    obsolete = {pattern for pattern, _ in RULES}
    for path in sorted(source.glob("vitrine/_aio/*.py")):
        if path.name in HAND_WRITTEN:
            continue
        text = path.read_text(encoding="utf-8")
        for pattern, replacement in RULES:
            text, count = re.subn(pattern, replacement, text)
            if count:
                obsolete.discard(pattern)
        for number, line in enumerate(text.splitlines(), 1):
            if re.search("(?i)async|await|aio", line):
                sys.exit("%s:%d: no rule of generate_sync.py for: %s" % (path, number, line.strip()))
        licence, code = text.split("\n", 1)
        note = "# Generated from _aio/%s by generate_sync.py; edit that file." % path.name
        (out / "vitrine" / path.name).write_text("\n".join((licence, note, code)), encoding="utf-8")
    if obsolete:
        sys.exit("generate_sync.py: these rules match nothing: %s" % ", ".join(sorted(obsolete)))


if __name__ == "__main__":
    generate(Path(sys.argv[1]), Path(sys.argv[2]))
