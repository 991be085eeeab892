# SPDX-License-Identifier: Apache-2.0
# Makes packages reproducible. CPack runs this script on the packages that it has made.
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../deploy/debian/normalize ${CPACK_PACKAGE_FILES} COMMAND_ERROR_IS_FATAL ANY)
