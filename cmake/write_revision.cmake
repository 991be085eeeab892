# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# Writes OUTPUT, a header with the checked-out commit of SOURCE, if the commit has changed. Runs at every build, because
# CMake does not configure again after a new commit. The CMake option -DVITRINE_REVISION replaces the commit, for
# example in the build of a container image, which has no Git repository. Without repository and option, the revision is
# empty.
if(NOT REVISION)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define VITRINE_REVISION \"@REVISION@\"\n" @ONLY)
