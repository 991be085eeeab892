# SPDX-License-Identifier: Apache-2.0
"""The PrometheusRule of the monitoring component: the text of deploy/prometheus/rules in one object.

Kustomize can put files only into ConfigMaps. `script/kubernetes-check --update` therefore writes the object, and a test
compares it with the rules.
"""
import yaml

import manifests

FILE = manifests.FOLDER / "components" / "monitoring" / "prometheus-rule.yaml"
RULES = manifests.ROOT / "deploy" / "prometheus" / "rules"
NOTE = "# Written by script/kubernetes-check --update from deploy/prometheus/rules; edit those.\n"


class Dumper(yaml.SafeDumper):
    """Writes multi-line expressions as blocks, so that they stay readable."""


def text_of(dumper: yaml.Dumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


Dumper.add_representer(str, text_of)


def groups() -> list[manifests.Document]:
    return [group for file in sorted(RULES.glob("*.yml")) for group in yaml.safe_load(file.read_text())["groups"]]


def made() -> manifests.Document:
    labels = {f"app.kubernetes.io/{key}": value for key, value in
              (("name", "vitrine"), ("component", "server"), ("part-of", "vitrine"))}
    return {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": "vitrine", "labels": labels}, "spec": {"groups": groups()}}


if __name__ == "__main__":
    FILE.write_text(NOTE + yaml.dump(made(), Dumper=Dumper, sort_keys=False, width=120))
    print(f"{FILE.relative_to(manifests.ROOT)}: {len(groups())} groups")
