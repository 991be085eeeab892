# SPDX-License-Identifier: Apache-2.0
# Tests the files that script/release makes in addition to packages. The packages of the test are small fakes.
vitrine_script_test(release_test COMMAND ${VITRINE_SYSTEM_PYTHON} -m unittest -v release_test)
set_tests_properties(release_test PROPERTIES
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
vitrine_script_test(engine_wheel_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/engine_wheel_test.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
  PROGRAMS vitrine_engine_library)
