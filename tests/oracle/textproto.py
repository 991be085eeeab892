# SPDX-License-Identifier: Apache-2.0
"""Parses protobuf text into nested dicts. Supports only the syntax that ModelConfig and Manifest use."""
import json
import re

TOKEN = re.compile(r'\s*(?:(?P<name>[A-Za-z_]\w*)\s*(?P<open>:?\s*\{)|(?P<key>[A-Za-z_]\w*)\s*:\s*(?P<value>"(?:[^"\\]|\\.)*"|'
                   r'[^\s{}"]+)|(?P<close>\}))\s*')


class Word(str):
    """An enum value, written without quotes."""


def scalar(text):
    if text.startswith('"'):
        return json.loads(text)
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return Word(text)


def parse(text):
    """Returns the message as a dict. A field that occurs more than once becomes a list."""
    stack = [{}]

    def put(key, value):
        message = stack[-1]
        message[key] = value if key not in message else [*as_list(message[key]), value]

    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"not protobuf text: {text[at:at + 40]!r}")
        at = token.end()
        if token["open"]:
            stack.append({"": token["name"]})
        elif token["close"]:
            message = stack.pop()
            put(message.pop(""), message)
        else:
            put(token["key"], scalar(token["value"]))
    if len(stack) != 1:
        raise ValueError("a brace is not closed")
    return stack[0]


def as_list(value):
    return value if isinstance(value, list) else [value]


def write(message):
    """Returns the message as text on one line."""
    parts = []
    for key, values in message.items():
        for value in as_list(values):
            if isinstance(value, dict):
                parts.append(f"{key} {{ {write(value)} }}" if value else f"{key} {{ }}")
            elif isinstance(value, bool):
                parts.append(f"{key}: {'true' if value else 'false'}")
            elif isinstance(value, str) and not isinstance(value, Word):
                parts.append(f"{key}: {json.dumps(value)}")
            else:
                parts.append(f"{key}: {value}")
    return " ".join(parts)
