# SPDX-License-Identifier: Apache-2.0
"""Reads the data of docs/research/claims/: printed figures, claims, stored outputs, experiments."""
import dataclasses
import pathlib
import tomllib

from figures import D

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLAIMS = pathlib.PurePath("docs/research/claims")
PAPERS = ("000", "001", "002", "003", "004")


class Broken(Exception):
    """A contradiction in the data. The message names the place."""


@dataclasses.dataclass(frozen=True)
class Table:
    title: str
    columns: list
    rows: dict


@dataclasses.dataclass(frozen=True)
class Printed:
    """The tables of a paper, as printed."""

    title: str
    subject: str
    tables: dict

    def text(self, table, row, column):
        try:
            found = self.tables[table]
            return found.rows[row][found.columns.index(column)]
        except (KeyError, ValueError):
            raise Broken(f"no printed figure at {table}, {row}, {column}") from None

    def figure(self, table, row, column):
        return D(self.text(table, row, column))

    def row(self, table, row):
        return [self.figure(table, row, column) for column in self.tables[table].columns]

    def column(self, table, column):
        """Returns the figures of a column by row."""
        return {row: self.figure(table, row, column) for row in self.tables[table].rows}


@dataclasses.dataclass(frozen=True)
class Quote:
    """A printed figure on which a claim is based, and the figure's place in the tables."""

    table: str
    row: str
    column: str
    figure: str


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule by which runs decide a claim; docs/research/claims/index.md explains the comparisons."""

    experiment: str
    compare: str
    metric: str
    of: dict
    to: dict = dataclasses.field(default_factory=dict)
    per: str = ""
    steps: list = dataclasses.field(default_factory=list)
    low: float | None = None
    high: float | None = None
    margin: float = 0.0
    pairs: int = 0
    scale: str = "reduced"
    says: str = ""


@dataclasses.dataclass(frozen=True)
class Claim:
    id: str
    place: str
    says: str
    evidence: str
    word: str
    printed: list = dataclasses.field(default_factory=list)
    source: str = ""
    note: str = ""
    missing: str = ""
    cost: str = ""
    rules: list = dataclasses.field(default_factory=list)
    cannot_decide: list = dataclasses.field(default_factory=list)  # {rule = 1, reason = "..."}: its runs cannot test the claim


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A sweep of vitrine-train, or runs of another program with results in the same format."""

    name: str
    block: int
    title: str
    hours: float
    seeds: list
    axes: list
    recipe: str = ""
    epochs: float = 0
    metric: str = ""
    lower_is_better: bool = False
    set: list = dataclasses.field(default_factory=list)
    data: str = ""
    command: str = ""
    prepare: list = dataclasses.field(default_factory=list)
    needs: str = ""
    deviates: list = dataclasses.field(default_factory=list)


def load(path):
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise Broken(f"{path.name} is not TOML: {error}") from None


def made(kind, values, where):
    try:
        return kind(**values)
    except TypeError as error:
        raise Broken(f"{where}: {error}") from None


def read_printed(folder, paper):
    content = load(folder / "data" / "printed" / f"{paper}.toml")
    tables = {}
    for name, table in content.items():
        if not isinstance(table, dict):
            continue
        tables[name] = made(Table, table, f"printed/{paper}.toml, {name}")
        for row, cells in table["rows"].items():
            if len(cells) != len(table["columns"]):
                raise Broken(f"printed/{paper}.toml, {name}, {row}: {len(cells)} figures for {len(table['columns'])} columns")
    return Printed(content["title"], content["subject"], tables)


def read_claims(folder, paper):
    claims = []
    for entry in load(folder / "data" / f"{paper}.toml")["claim"]:
        where = f"{paper}.toml, {entry.get('id', 'a claim without id')}"
        quotes = [Quote(*quote) for quote in entry.pop("printed", [])]
        rules = [made(Rule, rule, where) for rule in entry.pop("rule", [])]
        claims.append(made(Claim, entry | {"printed": quotes, "rules": rules}, where))
    return claims


def read_experiments(folder):
    experiments = {}
    for path in sorted((folder / "data" / "experiments").glob("*.toml")):
        experiments[path.stem] = made(Experiment, load(path) | {"name": path.stem}, path.name)
    return experiments
