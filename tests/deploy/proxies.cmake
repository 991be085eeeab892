# SPDX-License-Identifier: Apache-2.0
# Tests the examples of nginx and HAProxy in front of servers, if these proxies are installed.
vitrine_script_test(proxies_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/proxies_test.py
  PROGRAMS vitrine vitrine-server)
set_tests_properties(proxies_test PROPERTIES
  ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;VITRINE_BIN=${CMAKE_BINARY_DIR}/bin")
