# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# Writes OUTPUT, a header with the commit that SOURCE is at, and touches it only when that changes. Run at every build:
# the commit moves without the build being configured again. Without a repository, as in a container's build, it is
# what -DVITRINE_REVISION said, else empty.
if(NOT REVISION)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define VITRINE_REVISION \"@REVISION@\"\n" @ONLY)
