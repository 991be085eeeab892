# SPDX-License-Identifier: Apache-2.0
# Debian's own interpreter has Debian's python3-yaml; another python3 may stand before it on the path.
find_program(VITRINE_SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT VITRINE_SYSTEM_PYTHON)
  find_program(VITRINE_SYSTEM_PYTHON NAMES python3)
endif()

vitrine_script_test(dashboards_test COMMAND ${VITRINE_SYSTEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/dashboards_test.py)
vitrine_script_test(alerts_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/alerts_test.py
  PROGRAMS vitrine-server vitrine-train)
vitrine_script_test(dashboards_live_test
  COMMAND ${CMAKE_SOURCE_DIR}/script/dashboards-check --live ${CMAKE_BINARY_DIR}
  PROGRAMS vitrine vitrine-repo vitrine-server vitrine-train)
vitrine_script_test(dashboards_schema_test COMMAND ${CMAKE_SOURCE_DIR}/script/dashboards-check --schema)
set_tests_properties(dashboards_test alerts_test dashboards_live_test dashboards_schema_test
  PROPERTIES ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;VITRINE_BIN=${CMAKE_BINARY_DIR}/bin")
