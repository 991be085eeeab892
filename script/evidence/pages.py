# SPDX-License-Identifier: Apache-2.0
"""Makes the page of a paper: its claims, and the figures that the paper prints."""
import words
from notebooks import REPOSITORY

MADE = "Made by `script/claims build`; change the [data](data/{paper}.toml) instead. [What the words mean](index.md)"


def cell(text):
    """Returns text for a cell of a Markdown table."""
    return str(text).replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def table(columns, rows):
    lines = ["| " + " | ".join(map(cell, columns)) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def said_word(shown):
    """Returns the verdict word of a claim in the form that the pages show."""
    claim = shown.claim
    return words.counted(claim) if claim.evidence == "none" else claim.word


def labels(selector):
    return ", ".join(f"{name} {label}" for name, label in selector.items()) or "all runs"


def bounds(rule):
    """Returns the bounds of a rule in words."""
    compared = f"`{rule.metric}` of {labels(rule.of)}"
    if rule.compare in ("above", "equal"):
        compared += f" less that of {labels(rule.to)}"
    if rule.compare == "above":
        return f"{compared} is above {rule.margin:g}"
    if rule.compare == "equal":
        return f"{compared} is within {rule.margin:g} of 0"
    if rule.compare == "order":
        return f"`{rule.metric}` rises in every step of {' to '.join(labels(step) for step in rule.steps)}"
    if rule.compare == "correlation":
        compared = f"rank correlation of `{rule.metric}` and `{rule.to['metric']}` over each {rule.per}"
    if rule.compare == "exponent":
        compared = f"exponent of {compared} in {rule.per}"
    limits = [f"{side} {limit:g}" for side, limit in (("at least", rule.low), ("at most", rule.high)) if limit is not None]
    return f"{compared} is {' and '.join(limits)}"


def rule_row(rule, verdict):
    scale = "same model, data and length" if rule.scale == "same" else "reduced"
    result = f"**{verdict.word}**. {cell(verdict.text)}" if verdict else "not yet run"
    return (f"{cell(rule.says)} ([{rule.experiment}](experiments.md#{rule.experiment}); {cell(bounds(rule))}; n {rule.pairs}; {scale}): "
            f"{result}")


def run_of(shown):
    """Returns the state of a claim's runs."""
    claim = shown.claim
    if shown.verdicts:
        return "; ".join(verdict.word for verdict in shown.verdicts.values())
    if claim.rules:
        return "rule, not yet run"
    if claim.missing.startswith("not yet run"):
        return "not yet run"
    return "out of reach" if claim.missing else "nothing to run"


def quoted(quote):
    """Returns a printed figure and its place."""
    place = [quote.table, quote.row] + [quote.column] * (quote.column != "figure")
    return f"{quote.figure} ({', '.join(place)})"


def facts(shown):
    """Returns the rows of a claim's section: name and text."""
    claim = shown.claim
    kind = f" ({words.TITLES[claim.evidence]})" if claim.evidence != "none" else ""
    rows = [("word", f"**{said_word(shown)}**{kind}")]
    if claim.printed:
        rows.append(("printed", cell("; ".join(map(quoted, claim.printed)))))
    lacks = "missing" if claim.evidence == "none" else "for a run"
    texts = [("finding", shown.finding), *(("also known", text) for text in shown.also), ("note", claim.note), (lacks, claim.missing),
             ("cost", shown.cost)]
    rows += [(name, cell(text)) for name, text in texts if text]
    if claim.source:
        rows.append(("file", f"[{claim.source}](../../../{claim.source})"))
    return rows + [("rule", rule_row(rule, shown.verdicts.get(number))) for number, rule in enumerate(claim.rules)]


def section(paper, shown):
    claim = shown.claim
    lines = [f"### {claim.id}", "", f"{cell(claim.says)} ({cell(claim.place)})", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in facts(shown)]
    if claim.id in FIGURES or any(verdict.values for verdict in shown.verdicts.values()):
        lines += ["", f"![{FIGURES.get(claim.id, f'every pair of {claim.id}')}](figures/{paper}-{claim.id}.svg)"]
    return lines + [""]


# Claims whose stored outputs are drawn.
FIGURES = {"K21": "validation loss of characters at 1,000 steps, a dot for each run",
           "K23": "validation loss of number words, a dot for each run",
           "K26": "validation loss of translation, a dot for each run"}


def printed_tables(printed):
    lines = ["## Printed figures", "", "As transcribed, digit by digit. Tables that no claim rests on are left out.", ""]
    for name, content in printed.tables.items():
        lines += [f"**{cell(name)}**: {cell(content.title)}", ""]
        lines += table(["", *content.columns], [[cell(row), *map(cell, figures)] for row, figures in content.rows.items()])
        lines.append("")
    return lines


def stored_files(outputs):
    lines = ["## The authors' files", "", f"Read from `{REPOSITORY}`; `script/claims outputs --notebooks DIR` reads them again.", ""]
    rows = []
    for name, entry in outputs.items():
        rows.append([f"[{name}](data/outputs/{name}.json)", cell(entry["path"] + (f", cell {entry['cell']}" if entry["cell"] else "")),
                     cell(entry["reads"]), f"`{entry['commit'][:12]}`", f"`{entry['sha256'][:16]}`"])
    return lines + table(["record", "file", "what it holds", "commit", "SHA-256 of the file"], rows) + [""]


def page(paper, library):
    printed, claims = library.printed[paper], library.claims[paper]
    lines = [f"# Claims of {printed.title}", "", MADE.format(paper=paper) + ".", "", f"The subject: {printed.subject}.", ""]
    lines += table(["claim", "place", "content", "word", "by runs"],
                   [[f"[{shown.claim.id}](#{shown.claim.id.lower()})", cell(shown.claim.place), cell(shown.claim.says), said_word(shown),
                     run_of(shown)] for shown in claims])
    lines += ["", "## One by one", ""]
    for shown in claims:
        lines += section(paper, shown)
    if paper == "004":
        lines += stored_files(library.outputs)
    return "\n".join(lines + printed_tables(printed)).rstrip("\n") + "\n"
