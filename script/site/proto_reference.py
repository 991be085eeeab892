# SPDX-License-Identifier: Apache-2.0
"""Makes pages of the services and messages in proto/, with their comments."""
import dataclasses
import pathlib
import re
import subprocess
import tempfile

from google.protobuf import descriptor_pb2

Field = descriptor_pb2.FieldDescriptorProto
TYPES = {value: name.removeprefix("TYPE_").lower() for name, value in Field.Type.items()}
# Field numbers in FileDescriptorProto, DescriptorProto, EnumDescriptorProto and ServiceDescriptorProto. protoc stores
# each comment with a path of such numbers, which leads to the comment's declaration.
MESSAGES, ENUMS, SERVICES, SYNTAX = 4, 5, 6, 12
FIELDS, NESTED, NESTED_ENUMS, ONEOFS, VALUES, METHODS = 2, 3, 4, 8, 2, 2


@dataclasses.dataclass
class Page:
    title: str
    about: str
    files: tuple[str, ...]


API = Page("API", "Services and messages on the wire, from `proto/`. [Errors](errors.md) has the codes, [the Open "
           "Inference Protocol](../how-to/http.md#open-inference-protocol) its own contract.",
           ("classifier", "attention", "features", "registry", "admin"))
TEXT_FILES = Page("Text files", "Messages that people write or read as text, from `proto/`: serving configuration, "
                  "policy, recipes, sweeps, models and the manifest of a version.",
                  ("serving", "access", "recipe", "sweep", "model", "sequence", "manifest"))


def described(folder: pathlib.Path, names: tuple[str, ...]) -> list[descriptor_pb2.FileDescriptorProto]:
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "set"
        files = [f"vitrine/v1/{name}.proto" for name in names]
        subprocess.run(["protoc", f"-I{folder}", "--include_source_info", f"--descriptor_set_out={out}", *files],
                       check=True)
        return list(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


class Comments:
    """The comments before and beside each declaration of a file."""

    def __init__(self, file: descriptor_pb2.FileDescriptorProto):
        self.by_path = {tuple(one.path): one for one in file.source_code_info.location}

    def lines(self, *path: int) -> list[str]:
        at = self.by_path.get(path)
        if at is None:
            return []
        texts = (at.leading_comments, at.trailing_comments)
        return [line.removeprefix(" ") for text in texts for line in text.rstrip("\n").split("\n") if text]

    def sentence(self, *path: int) -> str:
        return escaped(" ".join(line.strip() for line in self.lines(*path)))


def escaped(text: str) -> str:
    """Escapes text, so that Markdown finds no table, tag or emphasis in it. Text in backquotes is not changed."""
    parts = re.split(r"(`[^`]*`)", text.replace("|", "\\|"))
    return "".join(part if index % 2 else re.sub(r"([<>*_\[\]])", r"\\\1", part) for index, part in enumerate(parts))


def type_of(field) -> str:
    if field.type_name:
        name = field.type_name.split(".")[-1]
    else:
        name = TYPES[field.type]
    return f"repeated {name}" if field.label == Field.LABEL_REPEATED else name


def fields(message, comments: Comments, path: tuple[int, ...]):
    yield "| field | type | meaning |\n|---|---|---|"
    for index, field in enumerate(message.field):
        meaning = comments.sentence(*path, FIELDS, index)
        if field.HasField("oneof_index") and not field.proto3_optional:
            meaning = f"One of `{message.oneof_decl[field.oneof_index].name}`. {meaning}"
        yield f"| `{field.name}` | {type_of(field)} | {meaning} |"
    yield ""


def enum(one, comments: Comments, path: tuple[int, ...], outer: str = ""):
    yield f"### {outer}{one.name}\n\n{comments.sentence(*path)}\n\n| value | number | meaning |\n|---|---|---|"
    for index, value in enumerate(one.value):
        yield f"| `{value.name}` | {value.number} | {comments.sentence(*path, VALUES, index)} |"
    yield ""


def message(one, comments: Comments, path: tuple[int, ...], outer: str = ""):
    if one.options.map_entry:
        return
    yield f"### {outer}{one.name}\n\n{comments.sentence(*path)}\n"
    if one.field:
        yield from fields(one, comments, path)
    for index, nested in enumerate(one.nested_type):
        yield from message(nested, comments, (*path, NESTED, index), f"{outer}{one.name}.")
    for index, nested in enumerate(one.enum_type):
        yield from enum(nested, comments, (*path, NESTED_ENUMS, index), f"{outer}{one.name}.")


def service(one, comments: Comments, path: tuple[int, ...]):
    yield f"### Service {one.name}\n\n{comments.sentence(*path)}\n\n| call | from | to | |\n|---|---|---|---|"
    for index, method in enumerate(one.method):
        sides = [("stream " if streams else "") + name.split(".")[-1] for name, streams in (
            (method.input_type, method.client_streaming), (method.output_type, method.server_streaming))]
        yield f"| `{method.name}` | {sides[0]} | {sides[1]} | {comments.sentence(*path, METHODS, index)} |"
    yield ""


def file_sections(file):
    comments = Comments(file)
    yield f"## {file.name}\n"
    head = [line for line in comments.lines(SYNTAX) if not line.startswith("SPDX-")]
    if any(line.startswith("  ") for line in head):  # a table
        yield "```text\n" + "\n".join(head) + "\n```\n"
    else:
        yield escaped("\n".join(head)) + "\n"
    for kind, members, write in ((SERVICES, file.service, service), (MESSAGES, file.message_type, message),
                                 (ENUMS, file.enum_type, enum)):
        for index, one in enumerate(members):
            yield from write(one, comments, (kind, index))


def page(folder: pathlib.Path, wanted: Page) -> str:
    parts = [f"# {wanted.title}\n\n{wanted.about}\n"]
    for file in described(folder, wanted.files):
        parts.extend(file_sections(file))
    return "\n".join(parts)
