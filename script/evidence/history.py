# SPDX-License-Identifier: Apache-2.0
"""Checks results against the git history: rules are older than results, undecided rules stay undecided, committed results have not
changed, and the recorded commit has the recorded program."""
import functools
import re
import tomllib

import program
import runs
from records import CLAIMS, PAPERS

MISSING = "the full git history is not here, so nothing shows that rules are older than results, and that results have not changed"


def git(root, *arguments):
    """Returns the output of git, or None if it fails."""
    found = program.git(root, *arguments)
    return None if found is None else found.decode()


# Outputs of git that cannot change, because the arguments name commits by their hash. They are cached for audits of changed digits.
lasting = functools.lru_cache(maxsize=None)(git)
digest = functools.lru_cache(maxsize=None)(program.digest)


@functools.lru_cache(maxsize=None)
def claims_at(root, commit):
    """Returns the claims of a commit by their ids."""
    found = {}
    for paper in PAPERS:
        text = git(root, "show", f"{commit}:{CLAIMS}/data/{paper}.toml")
        if text:
            found |= {claim["id"]: claim for claim in tomllib.loads(text)["claim"]}
    return found


def rules_at(root, commit):
    """Returns the rules of a commit by claim."""
    return {identity: claim.get("rule", []) for identity, claim in claims_at(root, commit).items()}


def undecidable_at(root, commit):
    """Returns the rules of a commit that cannot decide: the claim, and the number of the rule."""
    return {(identity, entry["rule"]) for identity, claim in claims_at(root, commit).items() for entry in claim.get("cannot_decide", [])}


def decided_again(root, head):
    """Returns complaints about rules that an earlier commit lists in `cannot_decide`, and HEAD does not."""
    paths = [f"{CLAIMS}/data/{paper}.toml" for paper in PAPERS]
    commits = lasting(root, "log", "--full-history", "--format=%H", head, "--", *paths).split()
    earlier = {entry: commit for commit in commits for entry in undecidable_at(root, commit)}
    return [f"{identity}: its rule {number} could not decide in commit {earlier[identity, number][:12]}, and cannot_decide no longer names it"
            for identity, number in sorted(earlier.keys() - undecidable_at(root, head))]


def experiment_at(root, commit, name):
    text = lasting(root, "show", f"{commit}:{CLAIMS}/data/experiments/{name}.toml")
    return tomllib.loads(text) if text else None


def older_rules(root, head, name, first):
    """Returns complaints if an experiment's rules or grid have changed since the parent of `first`, the commit of its first results."""
    before, complaints = f"{first}^", []
    then = rules_at(root, before)
    for claim, rules in rules_at(root, head).items():
        wanted = [rule for rule in rules if rule["experiment"] == name]
        if wanted != [rule for rule in then.get(claim, []) if rule["experiment"] == name]:
            complaints.append(f"{claim}: its rule on {name} is not the one before the results of {first[:12]}")
    if experiment_at(root, before, name) != experiment_at(root, head, name):
        complaints.append(f"{name}: its grid is not the one before the results of {first[:12]}")
    return complaints


def kept(root, experiment, entry, commit):
    """Returns complaints about results and origins of a commit that have changed since. Rows may get more columns, and
    their seconds may change if the seconds are no score."""
    name = experiment.name
    texts = [lasting(root, "show", f"{commit}:{CLAIMS}/data/runs/{name}.{kind}") for kind in ("csv", "toml")]
    if None in texts:
        return []
    origin = tomllib.loads(texts[1])
    then = runs.Runs(None, runs.rows_of(texts[0].encode()))
    changed = [f"{column} of {cell}" for cell, column in runs.changes(experiment, then, entry)]
    failed = {failure["cell"] for failure in entry.origin.failures}
    changed += [f"failure of {failure['cell']}" for failure in origin.get("failures", []) if failure["cell"] not in failed]
    same_rows = origin["sha256"] == entry.origin.sha256
    changed += [field for field in ("program", "threads", "data_digest", "revision", *(["date"] if same_rows else []))
                if origin.get(field) and origin[field] != getattr(entry.origin, field)]
    changed += [f"cpu, without {cpu}" for cpu in origin["cpu"].split("; ") if cpu not in entry.origin.cpu.split("; ")]
    return [f"runs/{name} has another {changed[0]} than in commit {commit[:12]}: results do not change"] if changed else []


def programs(root, experiment, origin):
    """Returns complaints about a recorded commit that does not exist, or whose sources have another digest."""
    commit = origin.revision
    if not experiment.recipe and not commit:
        there = commit_is_there(root, origin.program)
        return [] if there else [f"{experiment.name}: its program {origin.program} is no commit"]
    if not commit:
        return [f"{experiment.name}: has no revision, a commit whose sources have the digest {origin.program[:12]}"]
    if not commit_is_there(root, commit):
        return [f"{experiment.name}: its revision {commit} is no commit"]
    found = digest(root, commit)
    return [] if found == origin.program else [f"{experiment.name}: its program is {origin.program}, that of its revision {commit} is {found}"]


def commit_is_there(root, commit):
    return bool(re.fullmatch("[0-9a-f]{7,40}", commit)) and lasting(root, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def full(root):
    """Returns True if `root` is the root of a Git repository with its full history."""
    return (root / ".git").exists() and git(root, "rev-parse", "--is-shallow-repository") == "false\n"


def check(root, experiments, found):
    """Returns complaints about the history of the runs in `found`, by the experiment's name."""
    if not found:
        return []
    if not full(root):
        return [MISSING]
    head = git(root, "rev-parse", "HEAD").strip()
    complaints = decided_again(root, head)
    for name, entry in sorted(found.items()):
        complaints += programs(root, experiments[name], entry.origin)
        path = f"{CLAIMS}/data/runs/{name}.csv"
        added = lasting(root, "log", "--diff-filter=A", "--format=%H", head, "--", path).split()
        if not added:
            complaints.append(f"runs/{name}.csv is not committed")
            continue
        complaints += older_rules(root, head, name, added[-1])
        for commit in lasting(root, "log", "--format=%H", head, "--", path, path.replace(".csv", ".toml")).split():
            complaints += kept(root, experiments[name], entry, commit)
    return complaints
