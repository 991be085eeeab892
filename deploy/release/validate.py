#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documents of a release. Checks bills of materials against the schema of CycloneDX 1.5, and provenance against the
messages of in-toto and SLSA.

  $(deploy/release/environment)/bin/python deploy/release/validate.py FILE...

A file *.provenance.json is provenance; every other file is a bill of materials. If a file is not valid, prints the reason; the
exit code is then 1.
"""
import json
import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement
from in_toto_attestation.v1 import statement_pb2


def bill_fault(text: str) -> str:
    """Returns the fault of a bill of materials; empty if it is valid."""
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if error:
        return f"not CycloneDX 1.5: {error}"
    document = json.loads(text)
    main = document["metadata"]["component"]
    known = {one["bom-ref"] for one in [main, *main.get("components", []), *document["components"]]}
    used = {name for one in document["dependencies"] for name in [one["ref"], *one["dependsOn"]]}
    return f"dependencies name what is no component: {', '.join(sorted(used - known))}" if used - known else ""


def provenance_fault(text: str) -> str:
    """Returns the fault of a provenance; empty if it is valid."""
    try:
        read = json_format.Parse(text, statement_pb2.Statement())
        statement.Statement.copy_from_pb(read).validate()
        if read.predicate_type != "https://slsa.dev/provenance/v1":
            return f"the predicate type is {read.predicate_type}"
        predicate = json_format.ParseDict(json.loads(text)["predicate"], provenance_pb2.Provenance())
    except (json_format.ParseError, ValueError) as error:
        return f"no statement of in-toto with SLSA's provenance: {error}"
    build = predicate.build_definition
    if not (build.build_type and build.external_parameters.fields and predicate.run_details.builder.id):
        return "SLSA's provenance needs a build type, external parameters and a builder"
    empty = [one for one in build.resolved_dependencies if not (one.uri or one.digest or one.content)]
    return f"{len(empty)} materials have neither URI nor digest" if empty else ""


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    faults = 0
    for path in map(pathlib.Path, sys.argv[1:]):
        fault = (provenance_fault if path.name.endswith(".provenance.json") else bill_fault)(path.read_text())
        faults += bool(fault)
        print(f"{path.name}: {fault or 'valid'}", file=sys.stderr if fault else sys.stdout)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
