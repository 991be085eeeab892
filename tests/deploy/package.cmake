# SPDX-License-Identifier: Apache-2.0
# Packs the programs of this build. script/release --check installs packages on a bare Debian.
vitrine_script_test(package_test COMMAND ${VITRINE_SYSTEM_PYTHON} -m unittest -v package_test
  PROGRAMS vitrine-server_pages vitrine-repo_pages vitrine_pages)
set_tests_properties(package_test PROPERTIES
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  ENVIRONMENT "VITRINE_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
