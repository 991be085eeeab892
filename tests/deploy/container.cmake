# SPDX-License-Identifier: Apache-2.0
# The root file system of the client's image, made of this build; the Dockerfile and the compose files as texts. Building
# and running the images is script/container-check.
vitrine_script_test(container_test COMMAND ${VITRINE_SYSTEM_PYTHON} -m unittest -v container_test
  PROGRAMS vitrine vitrine-repo vitrine-server vitrine-train)
set_tests_properties(container_test PROPERTIES
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  ENVIRONMENT "VITRINE_BUILD=${CMAKE_BINARY_DIR};VITRINE_LIBTORCH=${LIBTORCH_SITE};PYTHONDONTWRITEBYTECODE=1")
