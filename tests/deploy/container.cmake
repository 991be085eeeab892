# SPDX-License-Identifier: Apache-2.0
# Tests the root file systems of the server's image and the client's image, which are made from this build. Also tests the text
# of the Dockerfile and of the compose files. script/container-check builds and runs the images.
vitrine_script_test(container_test COMMAND ${VITRINE_SYSTEM_PYTHON} -m unittest -v container_test
  PROGRAMS vitrine vitrine-repo vitrine-server vitrine-train vitrine_cuda_library fake_cuda)
set_tests_properties(container_test PROPERTIES
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  ENVIRONMENT "VITRINE_BUILD=${CMAKE_BINARY_DIR};VITRINE_LIBTORCH=${LIBTORCH_SITE};PYTHONDONTWRITEBYTECODE=1")
