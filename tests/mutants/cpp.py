# SPDX-License-Identifier: Apache-2.0
"""Represents a C++ file as lines of code. Recognizes comments, strings, and lines that are not mutated.

Relies on the project's clang-format: binary operators are between spaces, but `*` and `&` of types are not.
"""

import re

# Lines that have no effect at run time.
WITHOUT_BEHAVIOUR = re.compile(r"^\s*(#|using\b|namespace\b|template\b|static_assert\b|friend\b|typedef\b)|\boperator\b")
# Statements that only write the log, name a thread for a debugger, reserve memory, prefetch, or assert. Tests do not check log
# lines, the other statements change only the speed, and release builds do not contain assert.
LOG_OR_HINT = re.compile(r"^\s*(if \(.*\) )?(spdlog::|vitrine::Log\(|Log\(LogLevel|pthread_setname_np\(|assert\(|__builtin_prefetch\(|"
                         r"[\w.\->\[\]*()]+(\.|->)(reserve|shrink_to_fit)\()")

# Error messages and the alignment of table columns, which are not mutated.
ERROR = re.compile(r"\b(?:\w+Error|Refused?|[Ww]rong|Fail)\(")
COLUMN = re.compile(r'\{"_*", (?:true|false)\}')

TOKENS = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>R"(?P<end>[^()\s\\]*)\(.*?\)(?P=end)")
  | (?P<text>"(?:\\.|[^"\\\n])*")
  | (?P<number>(?<![\w.])\.?\d(?:[\w.]|'[0-9a-fA-F]|(?<=[eE])[+-])*)
  | (?P<character>'(?:\\.|[^'\\\n])+')
""", re.VERBOSE | re.DOTALL)


def masked(text):
    """Returns text of the same length in which comments are spaces and the inside of strings is underscores."""
    def cover(match):
        found = match.group()
        if match.lastgroup == "number" or match.group("number"):
            return found
        if match.group("comment"):
            return re.sub(r"[^\n]", " ", found)
        return found[0] + re.sub(r"[^\n]", "_", found[1:-1]) + found[-1]
    return TOKENS.sub(cover, text)


def closing(code, opening):
    """Returns the index of the parenthesis that closes the parenthesis at `opening`, or -1 if there is none."""
    depth = 0
    for index in range(opening, len(code)):
        depth += (code[index] in "([{") - (code[index] in ")]}")
        if depth == 0:
            return index
    return -1


def without_words_for_people(code):
    """Returns the masked text. The arguments of status messages and the alignments of columns are underscores as
    well."""
    cover = lambda found: re.sub(r"[^\n]", "_", found)
    start = 0
    while (match := ERROR.search(code, start)) is not None:
        end = closing(code, match.end() - 1)
        start = match.end()
        if end > 0:
            code = code[:start] + cover(code[start:end]) + code[end:]
    return COLUMN.sub(lambda match: cover(match.group()), code)


class Source:
    """The lines of one file. `code[n]` is the masked form of `lines[n]`. `skipped` has the numbers of the lines that
    are not mutated."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.code = without_words_for_people(masked(text)).split("\n")
        self.skipped = set()
        inside = 0  # number of open parentheses of a skipped statement
        for number, code in enumerate(self.code):
            starts = LOG_OR_HINT.search(code) or WITHOUT_BEHAVIOUR.search(code)
            if not inside and not starts and code.strip():
                continue
            self.skipped.add(number)
            if inside or LOG_OR_HINT.search(code):
                inside = max(0, inside + code.count("(") - code.count(")"))

    def begins_statement(self, number):
        """Returns True if the code before this line ends a statement."""
        for code in reversed(self.code[:number]):
            if code.strip():
                return code.rstrip().endswith((";", "{", "}", ":")) or code.lstrip().startswith("#")
        return True

    def is_statement(self, number):
        code = self.code[number].rstrip()
        return code.endswith(";") and self.begins_statement(number) and code.count("(") == code.count(")")
