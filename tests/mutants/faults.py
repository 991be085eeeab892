# SPDX-License-Identifier: Apache-2.0
"""The kinds of faults, and the change of a line for each kind."""

import dataclasses
import hashlib
import re

from cpp import Source, closing

CLASSES = ["operator", "constant", "bound", "condition", "index", "statement"]


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    line: int  # from 1
    before: str
    after: str  # empty: the line is removed
    kind: str
    occurrence: int  # index among equal lines of the file

    @property
    def id(self):
        """Returns an identifier that does not change when lines above the fault are added or removed."""
        said = "\0".join([self.file, self.before.strip(), self.after.strip(), str(self.occurrence)])
        return hashlib.sha256(said.encode()).hexdigest()[:10]


SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*",
         "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "&&": "||", "||": "&&"}
OPERATOR = re.compile(r"(?<=[\w)\]}'] )(<=|>=|==|!=|\+=|-=|\*=|/=|&&|\|\||[<>+*/-])(?= |$)")


def operators(code):
    logical = len(re.findall(r"&&|\|\|", code)) + len(re.findall(r"\b(and|or)\b", code))
    for match in OPERATOR.finditer(code):
        if match.group() == "+" and ('"' in code[:match.start()][-3:] or '"' in code[match.end():][:2]):
            continue  # the + joins text
        if match.group() in ("&&", "||") and (logical > 1 or match.end() == len(code)):
            continue  # the compiler rejects && beside || without parentheses
        yield match.start(), match.end(), SWAPS[match.group()]


NUMBER = re.compile(r"(?<![\w.'])(0[xX][0-9a-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?)([uUlLfF]*)(?![\w.'])")
WORD = re.compile(r"\b(true|false)\b")


def more(number):
    """Returns a larger number. Doubles integers from 10 on, because no test could detect, for example, that a second is one
    nanosecond longer. Adds one to all other numbers."""
    plain = number.replace("'", "")
    if plain.lower().startswith("0x"):
        return hex(int(plain, 16) + 1)
    if re.fullmatch(r"\d+", plain):
        value = int(plain)
        return str(value + 1 if value < 10 else 2 * value)
    return repr(float(plain) + 1)


def constants(code):
    for match in NUMBER.finditer(code):
        before, after = code[:match.start()], code[match.end():]
        if before.endswith("[") and after.startswith("]"):
            continue  # an index
        if re.search(r"\)( const)?( noexcept)? = $", before):
            continue  # a pure virtual function
        if LOOP_START.search(before) and re.match(r"[,;]", after):
            continue  # a bound of a loop, which bounds() changes
        yield match.start(), match.end(), more(match.group(1)) + match.group(2)
    for match in WORD.finditer(code):
        yield match.start(), match.end(), "false" if match.group() == "true" else "true"


LOOP_START = re.compile(r"\bfor \([\w:<>]+ \w+ = $")
LOOP_END = re.compile(r"(?<=; )(\w+) <=? [^;]+;")


def bounds(code):
    for match in re.finditer(r"(\.|->)size\(\)", code):
        yield match.end(), match.end(), " - 1"
    for match in re.finditer(r"\bstd::(min|max)\b", code):
        yield match.start(1), match.end(1), "max" if match.group(1) == "min" else "min"
    for match in re.finditer(r"\bfor \([\w:<>]+ \w+ = (0)(?=[,;])", code):
        yield match.start(1), match.end(1), "1"
    if re.search(r"\bfor \(", code):
        for match in LOOP_END.finditer(code):
            yield match.end(1), match.end(1), " + 1"


def conditions(code):
    for match in re.finditer(r"\bif (?:constexpr )?\(", code):
        end = closing(code, match.end() - 1)
        inside = code[match.end():end]
        start = match.end() + (inside.rfind("; ") + 2 if "; " in inside else 0)
        if end < 0 or re.search(r"[^=!<>]= ", code[start:end]) or "constexpr" in match.group():
            continue  # the condition continues on the next line, declares a variable, or is constexpr
        if re.fullmatch(r"!(?![^&|]*(&&|\|\|)).*", code[start:end]):
            continue  # the loop below removes this `!`
        yield start, end, ("!(", ")")
    for match in re.finditer(r"!(?=[\w(*])", code):
        yield match.start(), match.end(), ""


# Names of index variables.
PLACE = r"(?:i|j|k|c|index|row|column|image|layer|head|position|entry|lane)"


# The text before the size in the declaration of an array.
DECLARED = re.compile(r"(^\s*(static |const |constexpr )*(?!return )[\w:<>]+ \w+|\bnew [\w:]+)\[$")


def indices(code):
    for match in re.finditer(r"(?<=[\w)\]])\[([^\[\]]+)\]", code):
        inside = match.group(1)
        if '"' in inside or "'" in inside or DECLARED.search(code[:match.start() + 1]):
            continue
        yield match.start(1), match.end(1), "1" if inside == "0" else "0"
    for match in re.finditer(rf"(?<=[(,] | \()({PLACE})(?=[,)])|(?<=\w\()({PLACE})(?=[,)])", code):
        if not re.search(r"\[[&=\w, ]*\]\s*\(", code):  # a lambda's parameters
            yield match.start(), match.end(), "0"
    for match in re.finditer(r"(?<=[.>])(front|back)(?=\(\))", code):
        yield match.start(), match.end(), "back" if match.group() == "front" else "front"


CALL = re.compile(r"^\s*(?!return\b|throw\b|else\b|delete\b|ASSIGN_OR_RETURN)[\w:.\->\[\]*&()]+\(.*\);$")
ASSIGNMENT = re.compile(r"^\s*[\w:.\->\[\]*()]+ [-+*/|&]?= [^;]*;$|^\s*(\+\+|--)[\w.\->\[\]]+;$")
EARLY_EXIT = re.compile(r"^\s*if \(.*\) (return\b.*|continue|break);$")


def gone(source, number):
    """Returns the class of the fault that removes this line, or None if the line must stay."""
    code = source.code[number].rstrip()
    following = source.code[number + 1].lstrip() if number + 1 < len(source.code) else ""
    if not source.is_statement(number) or following.startswith("else"):
        return None
    if EARLY_EXIT.match(code):
        return "condition"
    return "statement" if CALL.match(code) or ASSIGNMENT.match(code) else None


def edits(source, number):
    """Yields (class, changed line) for every fault of one line."""
    line, code = source.lines[number], source.code[number].rstrip()
    for kind, finder in [("operator", operators), ("constant", constants), ("bound", bounds),
                         ("condition", conditions), ("index", indices)]:
        for start, end, new in finder(code):
            inserted = new[0] + line[start:end] + new[1] if isinstance(new, tuple) else new
            yield kind, line[:start] + inserted + line[end:]
    kind = gone(source, number)
    if kind is not None:
        yield kind, ""


def mutants_of(file, text):
    source = Source(text)
    seen = {}
    for number, line in enumerate(source.lines):
        same = seen[line.strip()] = seen.get(line.strip(), -1) + 1
        if number in source.skipped:
            continue
        made = set()
        for kind, after in edits(source, number):
            if after != line and after not in made:
                made.add(after)
                yield Mutant(file, number + 1, line, after, kind, same)


def apply(text, mutant):
    """Returns the text of the file with the fault. Raises ValueError if the line has changed since the fault was
    drawn."""
    lines = text.split("\n")
    if mutant.line > len(lines) or lines[mutant.line - 1] != mutant.before:
        raise ValueError(f"{mutant.file}:{mutant.line} has changed since {mutant.id} was drawn")
    lines[mutant.line - 1] = mutant.after
    return "\n".join(lines)
