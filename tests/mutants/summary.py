# SPDX-License-Identifier: Apache-2.0
"""The results of a run, as text and as Markdown."""

import faults
from workshop import KILLED, SURVIVED, TIMEOUT, UNBUILT


def count(outcomes, *verdicts):
    return sum(outcome.verdict in verdicts for outcome in outcomes)


def change(mutant, indent):
    after = mutant.after.strip() or "(the line is gone)"
    return f"{indent}- {mutant.before.strip()}\n{indent}+ {after}"


def headline(outcomes, seed):
    judged = len(outcomes) - count(outcomes, UNBUILT)
    killed = count(outcomes, KILLED, TIMEOUT)
    hung = count(outcomes, TIMEOUT)
    return (f"seed {seed}: {killed} of {judged} killed" + (f" ({hung} of them by a time limit)" if hung else "")
            + f", {count(outcomes, SURVIVED)} survived; {count(outcomes, UNBUILT)} more did not compile")


def rows(outcomes):
    for kind in [*faults.CLASSES, "all"]:
        mine = [outcome for outcome in outcomes if kind == "all" or kind == outcome.mutant.kind]
        yield [kind, count(mine, KILLED), count(mine, TIMEOUT), count(mine, SURVIVED), count(mine, UNBUILT)]


HEAD = ["class", "killed", "timed out", "survived", "did not compile"]


def survivors(outcomes):
    return [outcome.mutant for outcome in outcomes if outcome.verdict == SURVIVED]


def as_text(outcomes, seed):
    lines = ["{:<10} {:>7} {:>10} {:>9} {:>16}".format(*map(str, row)) for row in [HEAD, *rows(outcomes)]]
    lines += [f"\nsurvived: {mutant.file}:{mutant.line} ({mutant.kind}, {mutant.id})\n{change(mutant, '  ')}"
              for mutant in survivors(outcomes)]
    return "\n".join([*lines, "", headline(outcomes, seed)])


def as_markdown(outcomes, seed):
    lines = ["# Mutants", "", headline(outcomes, seed) + ".", "", "| " + " | ".join(HEAD) + " |", "|---|" + "---:|" * 4]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows(outcomes)]
    lines += ["", "## Survivors"]
    for mutant in survivors(outcomes):
        lines += ["", f"`{mutant.file}:{mutant.line}` ({mutant.kind}, {mutant.id})", "```diff", change(mutant, ""), "```"]
    lines += ["", "## All", "", "| id | where | class | verdict | by | seconds |", "|---|---|---|---|---|---:|"]
    lines += [f"| {o.mutant.id} | {o.mutant.file}:{o.mutant.line} | {o.mutant.kind} | {o.verdict} | {o.by} "
              f"| {o.seconds:.0f} |" for o in outcomes]
    return "\n".join(lines) + "\n"
