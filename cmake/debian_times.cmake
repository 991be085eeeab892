# SPDX-License-Identifier: Apache-2.0
# Sets the modification times of all files of a package to $SOURCE_DATE_EPOCH. CPack runs this script before it packs
# the files.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +
    COMMAND_ERROR_IS_FATAL ANY)
endif()
