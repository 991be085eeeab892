# SPDX-License-Identifier: Apache-2.0
vitrine_script_test(systemd_test COMMAND ${VITRINE_SYSTEM_PYTHON} -m unittest -v systemd_test PROGRAMS vitrine-server)
set_tests_properties(systemd_test PROPERTIES
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  ENVIRONMENT "VITRINE_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
