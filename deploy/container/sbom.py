# SPDX-License-Identifier: Apache-2.0
"""Makes the software bill of materials of a container image, as CycloneDX 1.5 JSON. It lists packages that are copied into the image,
or are compiled into its programs."""
import pathlib
import uuid
from typing import Optional

from origins import Origin, sha256


def reference(origin: Origin) -> str:
    return origin.purl


def component(origin: Origin, files: list[pathlib.Path], root: pathlib.Path) -> dict:
    """Returns the component of a package: its metadata, and the digests of its files as they are in the image (stripped)."""
    entry = {
        "type": "library",
        "bom-ref": reference(origin),
        "name": origin.name,
        "version": origin.version,
        "purl": origin.purl,
    }
    if origin.digest:
        entry["externalReferences"] = [{
            "type": "distribution",
            "url": f"https://pypi.org/project/{origin.name}/{origin.version}/",
            "hashes": [{"alg": "SHA-256", "content": origin.digest}],
        }]
    elif origin.homepage:
        entry["externalReferences"] = [{"type": "website", "url": origin.homepage}]
    properties = [{"name": "vitrine:linkage", "value": "shared" if files else "compiled in"}]
    if origin.source:
        properties.append({"name": "vitrine:debian-source", "value": origin.source})
    entry["properties"] = properties
    if files:
        entry["components"] = [{
            "type": "file",
            "bom-ref": f"{reference(origin)}#{file.relative_to(root)}",
            "name": "/" + str(file.relative_to(root)),
            "hashes": [{"alg": "SHA-256", "content": sha256(file)}],
        } for file in sorted(files)]
    return entry


def programs(name: str, version: str, revision: str, files: list[pathlib.Path], root: pathlib.Path) -> dict:
    return {
        "type": "application",
        "bom-ref": name,
        "name": name,
        "version": f"{version}+{revision}" if revision else version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "components": [{
            "type": "file",
            "bom-ref": f"{name}#{file.relative_to(root)}",
            "name": "/" + str(file.relative_to(root)),
            "hashes": [{"alg": "SHA-256", "content": sha256(file)}],
        } for file in sorted(files)],
    }


def document(main: dict, components: list[dict], dependencies: Optional[list[dict]] = None) -> dict:
    """Returns the whole document; without `dependencies`, `main` depends on every component. The serial number is computed from the
    content, so that equal images have equal documents."""
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": main, "lifecycles": [{"phase": "build"}]},
        "components": components,
        "dependencies": dependencies or [{"ref": main["bom-ref"], "dependsOn": [c["bom-ref"] for c in components]}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, repr(content))
    return {**content, "serialNumber": f"urn:uuid:{serial}"}
