# SPDX-License-Identifier: Apache-2.0
# Renders deploy/kubernetes and checks it.
vitrine_script_test(kubernetes_test
  COMMAND ${CMAKE_SOURCE_DIR}/script/kubernetes-check ${CMAKE_BINARY_DIR}
  PROGRAMS vitrine vitrine-repo vitrine-server vitrine-train)
