# SPDX-License-Identifier: Apache-2.0
# Renders deploy/kubernetes and deploy/helm and checks them.
vitrine_script_test(kubernetes_test
  COMMAND ${CMAKE_SOURCE_DIR}/script/kubernetes-check ${CMAKE_BINARY_DIR}
  PROGRAMS vitrine vitrine-repo vitrine-server vitrine-train)
