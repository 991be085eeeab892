# SPDX-License-Identifier: Apache-2.0
"""Checks that rules are older than results: the commit before an experiment's first results must have the same rule as
HEAD."""
import subprocess
import tomllib

from records import CLAIMS, PAPERS

MISSING = "the full git history is not here, so nothing shows that rules are older than results"


def git(root, *arguments):
    """Returns the output of git, or None if it fails."""
    ran = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    return ran.stdout if ran.returncode == 0 else None


def rules_at(root, commit):
    """Returns the rules of a commit by claim."""
    found = {}
    for paper in PAPERS:
        text = git(root, "show", f"{commit}:{CLAIMS}/data/{paper}.toml")
        if text:
            found |= {claim["id"]: claim.get("rule", []) for claim in tomllib.loads(text)["claim"]}
    return found


def experiment_at(root, commit, name):
    text = git(root, "show", f"{commit}:{CLAIMS}/data/experiments/{name}.toml")
    return tomllib.loads(text) if text else None


def check(root, names):
    """Returns complaints about experiments whose rule or grid has changed since the commit before their first results."""
    if not names:
        return []
    if git(root, "rev-parse", "--is-shallow-repository") != "false\n":
        return [MISSING]
    complaints, now = [], rules_at(root, "HEAD")
    for name in sorted(names):
        added = git(root, "log", "--diff-filter=A", "--format=%H", "--", f"{CLAIMS}/data/runs/{name}.csv").split()
        if not added:
            complaints.append(f"runs/{name}.csv is not committed")
            continue
        before = f"{added[-1]}^"
        then = rules_at(root, before)
        for claim, rules in now.items():
            wanted = [rule for rule in rules if rule["experiment"] == name]
            if wanted != [rule for rule in then.get(claim, []) if rule["experiment"] == name]:
                complaints.append(f"{claim}: its rule on {name} is not the one before the results of {added[-1][:12]}")
        if experiment_at(root, before, name) != experiment_at(root, "HEAD", name):
            complaints.append(f"{name}: its grid is not the one before the results of {added[-1][:12]}")
    return complaints
