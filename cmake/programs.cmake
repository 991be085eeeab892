# SPDX-License-Identifier: Apache-2.0
# Programs for users, and the files that are installed with them.
include(GNUInstallDirs)

# vitrine_command(NAME SOURCES a.cc ... ROOMS ... [LIBRARIES ...]): adds a vitrine_program that parses flags. It is
# compiled with -O1, because flags are parsed only once per start, and a third of the compile time would be spent on more
# optimisation.
function(vitrine_command name)
  vitrine_program(${name} ${ARGN})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# vitrine_install(PROGRAM PACKAGE): installs PROGRAM as a part of the Debian package PACKAGE (cmake/debian.cmake), with the
# manual page and the shell completions that PROGRAM prints.
function(vitrine_install program package)
  set(pages ${CMAKE_BINARY_DIR}/pages)
  file(MAKE_DIRECTORY ${pages})
  set(made ${pages}/${program}.1 ${pages}/${program}.bash ${pages}/_${program})
  add_custom_command(OUTPUT ${made}
    COMMAND sh -c "$<TARGET_FILE:${program}> --manual-page > ${program}.1"
    COMMAND sh -c "$<TARGET_FILE:${program}> --completion bash > ${program}.bash"
    COMMAND sh -c "$<TARGET_FILE:${program}> --completion zsh > _${program}"
    WORKING_DIRECTORY ${pages}
    DEPENDS ${program}
    VERBATIM)
  add_custom_target(${program}_pages ALL DEPENDS ${made})
  install(TARGETS ${program} RUNTIME COMPONENT ${package})
  install(FILES ${pages}/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${package})
  install(FILES ${pages}/${program}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME ${program} COMPONENT ${package})
  install(FILES ${pages}/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT ${package})
endfunction()
