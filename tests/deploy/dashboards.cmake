# SPDX-License-Identifier: Apache-2.0
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
