# SPDX-License-Identifier: Apache-2.0
"""The manifests of deploy/kubernetes, rendered by the first kubectl in PATH, and the manifests of the Helm chart."""
import functools
import pathlib
import re
import subprocess
from typing import Any, Iterator, NamedTuple, Optional

import yaml

import chart

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "kubernetes"

Document = dict[str, Any]


class Pod(NamedTuple):
    """A pod template in a document, for example in a Deployment, a Job or a role of a PyTorchJob."""

    where: str        # "overlays/cpu Deployment/vitrine-server"
    kind: str         # the document's kind
    metadata: Document
    spec: Document

    def containers(self, initial: bool = True) -> list[Document]:
        return self.spec["containers"] + (self.spec.get("initContainers", []) if initial else [])


def kustomizations(kind: str) -> list[pathlib.Path]:
    """Returns every folder whose kustomization.yaml has this kind (Kustomization or Component)."""
    files = sorted(FOLDER.rglob("kustomization.yaml"))
    return [file.parent for file in files if yaml.safe_load(file.read_text())["kind"] == kind]


def name_of(folder: pathlib.Path) -> str:
    return str(folder.relative_to(FOLDER))


def render(folder: pathlib.Path) -> list[Document]:
    said = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True)
    if said.returncode != 0 or said.stderr:
        raise AssertionError(f"kubectl kustomize {folder}: {said.stderr}")
    return [document for document in yaml.safe_load_all(said.stdout) if document]


@functools.cache
def all_documents() -> dict[str, list[Document]]:
    """Returns the documents by folder. Documents of the chart have the key "helm/NAME", where NAME is the file with the
    values."""
    return {**{name_of(folder): render(folder) for folder in kustomizations("Kustomization")}, **chart.examples()}


def folders(kind: str) -> list[str]:
    """Returns the folders with a document of this kind."""
    return [folder for folder in all_documents() if documents(folder, kind)]


def documents(folder: str, kind: Optional[str] = None) -> list[Document]:
    return [one for one in all_documents()[folder] if kind in (None, one["kind"])]


def identity(document: Document) -> str:
    return f"{document['kind']}/{document['metadata']['name']}"


def pods_of(where: str, document: Document, others: list[Document]) -> Iterator[Pod]:
    """Yields the pods that a document describes. `others` are the other documents of its folder."""
    kind, spec = document["kind"], document.get("spec", {})
    templates: dict[str, Document] = {}
    if kind in ("Deployment", "Job"):
        templates[""] = spec["template"]
    elif kind == "CronJob":
        templates[""] = spec["jobTemplate"]["spec"]["template"]
    elif kind == "PyTorchJob":
        templates = {f" {role}": replica["template"] for role, replica in spec["pytorchReplicaSpecs"].items()}
    elif kind == "ServingRuntime":
        # KServe puts the runtime's containers into the pod of the InferenceService.
        for service in others:
            predictor = service.get("spec", {}).get("predictor", {})
            if service["kind"] == "InferenceService" and predictor["model"]["runtime"] == document["metadata"]["name"]:
                pod = {key: value for key, value in predictor.items() if key not in ("model", "minReplicas", "maxReplicas")}
                container = {**spec["containers"][0], "volumeMounts": predictor["model"]["volumeMounts"]}
                templates[""] = {"metadata": {"labels": {"serving.kserve.io/inferenceservice": service["metadata"]["name"]}},
                                 "spec": {**pod, "containers": [container]}}
    for role, template in templates.items():
        yield Pod(f"{where} {identity(document)}{role}", kind, template.get("metadata", {}), template["spec"])


def pods(folder: Optional[str] = None) -> Iterator[Pod]:
    for where, found in all_documents().items():
        if folder in (None, where):
            for document in found:
                yield from pods_of(where, document, found)


def arguments(container: Document) -> list[str]:
    """Returns the command and its arguments. The manifests state the command, although each image starts it by
    default."""
    return [*container.get("command", []), *container.get("args", [])]


def flag(container: Document, name: str) -> Optional[str]:
    """Returns the value of --name=value; "" for --name without a value; None without the flag."""
    for argument in arguments(container):
        if argument == name or argument.startswith(name + "="):
            return argument[len(name) + 1:]
    return None


def container_of(pod: Pod, program: str) -> Optional[Document]:
    for container in pod.containers():
        if program in arguments(container)[:1]:
            return container
    return None


def quantity(text: Any) -> float:
    """Parses a quantity of Kubernetes, for example 4, 500m or 256Mi."""
    found = re.fullmatch(r"([0-9.]+)(m|[KMGT]i?|k)?", str(text))
    if not found:
        raise AssertionError(f"{text} is no quantity")
    units = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    return float(found[1]) * units.get(found[2] or "", 1)


def seconds(text: str) -> float:
    """Parses a duration as the programs do, for example 250ms or 1m30s."""
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", text)
    if "".join(number + unit for number, unit in parts) != text:
        raise AssertionError(f"{text} is no duration")
    return sum(float(number) * {"ms": 1e-3, "s": 1, "m": 60, "h": 3600}[unit] for number, unit in parts)


def selects(selector: Document, labels: dict[str, str]) -> bool:
    """Returns True if a selector (matchLabels, matchExpressions) matches the labels. An empty selector matches all
    labels."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for row in selector.get("matchExpressions", []):
        inside = labels.get(row["key"]) in row.get("values", [])
        if {"In": not inside, "NotIn": inside, "Exists": row["key"] not in labels,
                "DoesNotExist": row["key"] in labels}[row["operator"]]:
            return False
    return True
