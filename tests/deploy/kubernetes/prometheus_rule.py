# SPDX-License-Identifier: Apache-2.0
"""The PrometheusRule of the monitoring component: deploy/prometheus/rules in one object, word for word but for where the
runbooks are served.

Kustomize can put files into ConfigMaps only, so the object is written by `script/kubernetes-check --update`, and a test
compares it with the rules.
"""
import argparse
import copy

import yaml

import manifests

FILE = manifests.FOLDER / "components" / "monitoring" / "prometheus-rule.yaml"
RULES = manifests.ROOT / "deploy" / "prometheus" / "rules"
# What runbook_url begins with where nobody says otherwise.
RUNBOOKS = "docs/runbooks"
NOTE = "# Written by script/kubernetes-check --update from deploy/prometheus/rules; edit those.\n"


class Dumper(yaml.SafeDumper):
    """Multi-line expressions stay readable."""


def text_of(dumper: yaml.Dumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


Dumper.add_representer(str, text_of)


def groups() -> list[manifests.Document]:
    return [group for file in sorted(RULES.glob("*.yml")) for group in yaml.safe_load(file.read_text())["groups"]]


def annotations(found: list[manifests.Document]) -> list[manifests.Document]:
    return [rule["annotations"] for group in found for rule in group["rules"] if "alert" in rule]


def runbooks_of(document: manifests.Document) -> set[str]:
    """The addresses before the names of the pages."""
    return {one["runbook_url"].rpartition("/")[0] for one in annotations(document["spec"]["groups"])}


def served_at(runbooks: str) -> list[manifests.Document]:
    found = copy.deepcopy(groups())
    for one in annotations(found):
        one["runbook_url"] = one["runbook_url"].replace(RUNBOOKS, runbooks, 1)
    return found


def made(runbooks: str = RUNBOOKS) -> manifests.Document:
    labels = {f"app.kubernetes.io/{key}": value for key, value in
              (("name", "vitrine"), ("component", "server"), ("part-of", "vitrine"))}
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": "vitrine", "labels": labels}, "spec": {"groups": served_at(runbooks)}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="kubernetes-check --update")
    parser.add_argument("--runbooks", default=RUNBOOKS, metavar="URL", help="where docs/runbooks is served")
    FILE.write_text(NOTE + yaml.dump(made(parser.parse_args().runbooks.rstrip("/")), Dumper=Dumper, sort_keys=False, width=120))
    print(f"{FILE.relative_to(manifests.ROOT)}: {len(groups())} groups")
