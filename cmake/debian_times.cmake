# SPDX-License-Identifier: Apache-2.0
# Sets the times of all files of a folder to $SOURCE_DATE_EPOCH. CPack runs this script before it packs the folder.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +
    COMMAND_ERROR_IS_FATAL ANY)
endif()
