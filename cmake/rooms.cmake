# SPDX-License-Identifier: Apache-2.0
# A room is a folder with its own library. This table lists the rooms and, for each room, the rooms that it may use.
# tests/structure checks includes and linked libraries against this table. Only the room client and tests link
# vitrine_services, and with it gRPC.
set(ROOMS "")
# room(NAME FOLDER [ROOM...]): declares a room. Sources of FOLDER may include and link each ROOM. Folders inside FOLDER
# that are rooms have their own rules.
macro(room name folder)
  list(APPEND ROOMS ${name})
  set(ROOM_ALLOWS_${name} ${ARGN})
endmacro()
room(proto proto)
room(statistics common/statistics)
room(imaging common/imaging proto)
room(data common/data imaging proto)
room(drawing common/drawing imaging proto)
room(charts common/charts drawing imaging proto)
room(models models proto)
room(engine models/engine models proto)
room(cuda models/engine/cuda models engine proto)
room(reference models/reference models proto)
room(repository models/repository models proto)
room(checkpoint models/reference/checkpoint models reference repository proto)
room(torch_backend models/reference/torch_backend models engine reference proto)
room(trainer trainer models reference checkpoint imaging data repository drawing charts statistics proto)
room(describe models/tool/describe models engine cuda drawing charts repository proto)
room(publish models/tool/publish models engine imaging data drawing charts statistics repository proto)
room(tool models/tool describe publish models engine imaging data drawing charts statistics repository proto)
room(server server models engine imaging repository drawing proto)
room(client client inprocess proto imaging data drawing charts statistics)
room(inprocess client/engine server models engine imaging repository drawing proto)

# A release compiles ROOMS_OF_LOOPS with -O3, because this makes their loops faster. ROOMS_OF_COMMANDS are compiled with
# -O1, which takes a third less compile time. More optimisation would not make them faster, because commands mostly wait
# for servers or for the engine, and the load generator spends its time in gRPC. All other rooms are compiled with -O2,
# which takes a tenth less compile time than -O3.
set(ROOMS_OF_LOOPS imaging data drawing charts repository engine reference checkpoint torch_backend trainer)
set(ROOMS_OF_COMMANDS client describe publish)
set(VITRINE_PLAIN_OPTIONS $<$<CONFIG:Release>:-O2>)
set(VITRINE_COMMAND_OPTIONS $<$<CONFIG:Release>:-O1>)

# vitrine_room(NAME SOURCES a.cc ... [ROOMS imaging proto ...] [LIBRARIES absl::status ...])
# Adds the static library vitrine_NAME. The configuration fails if NAME may not use one of the ROOMS.
function(vitrine_room name)
  cmake_parse_arguments(arg "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  foreach(room ${arg_ROOMS})
    if(NOT room IN_LIST ROOM_ALLOWS_${name})
      message(FATAL_ERROR "${name}/ may not use ${room}/; it may use: ${ROOM_ALLOWS_${name}}")
    endif()
    list(APPEND rooms vitrine_${room})
  endforeach()
  add_library(vitrine_${name} STATIC ${arg_SOURCES})
  target_include_directories(vitrine_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(vitrine_${name} PUBLIC ${rooms} ${arg_LIBRARIES})
  if(name IN_LIST ROOMS_OF_COMMANDS)
    target_compile_options(vitrine_${name} PRIVATE ${VITRINE_COMMAND_OPTIONS})
  elseif(NOT name IN_LIST ROOMS_OF_LOOPS)
    target_compile_options(vitrine_${name} PRIVATE ${VITRINE_PLAIN_OPTIONS})
  endif()
  precompiled_kind(kind ${name})
  use_precompiled(vitrine_${name} ${kind})
  compile_together(vitrine_${name})
endfunction()

# vitrine_executable(NAME SUFFIX SOURCES a.cc ... ROOMS ... [LIBRARIES ...])
# Adds an executable. If a room needs torch_cpu, torch_cpu is linked first: it exports the same BLAS symbols as libblas,
# and the linker uses the first library that has a symbol. SUFFIX is the suffix of the precompiled header, "" or "_test".
function(vitrine_executable name suffix)
  cmake_parse_arguments(arg "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  # Programs are compiled with -fPIC like libraries, instead of -fPIE, because they use the same precompiled header.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  foreach(room ${arg_ROOMS})
    if(room MATCHES "^(reference|checkpoint|torch_backend|trainer)$")
      set(torch torch_cpu)
    endif()
    list(APPEND rooms vitrine_${room})
  endforeach()
  target_link_libraries(${name} PRIVATE ${torch} ${rooms} ${arg_LIBRARIES})
  precompiled_kind(kind ${arg_ROOMS})
  if(suffix OR NOT kind STREQUAL text)  # programs of kind text have other compiler options than the header text.h
    use_precompiled(${name} ${kind}${suffix})
  endif()
  compile_together(${name})
endfunction()

# vitrine_program(NAME SOURCES a.cc ... ROOMS ... [LIBRARIES ...]): adds an executable in build/bin.
function(vitrine_program name)
  vitrine_executable(${name} "" ${ARGN})
endfunction()

# vitrine_lends_messages(PROGRAM): exports the protobuf messages of PROGRAM, for libvitrine_torch.so, which PROGRAM
# loads.
function(vitrine_lends_messages program)
  target_link_options(${program} PRIVATE
    "LINKER:--export-dynamic-symbol=*7vitrine2v1*" "LINKER:--export-dynamic-symbol=descriptor_table_vitrine*")
endfunction()

# vitrine_test_library(NAME SOURCES a.cc ... ROOMS ... [LIBRARIES ...]): adds a library that several test programs use.
function(vitrine_test_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  list(TRANSFORM arg_ROOMS PREPEND vitrine_ OUTPUT_VARIABLE rooms)
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LIBRARIES} ${rooms} GTest::gmock)
  target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/gen)
  target_compile_options(${name} PRIVATE ${VITRINE_TEST_OPTIONS})
  precompiled_kind(kind ${arg_ROOMS})
  use_precompiled(${name} ${kind}_test)
  compile_together(${name})
endfunction()

# label_test(NAME TIMED PROGRAMS): labels a test `e2e` if it starts programs or servers of Vitrine, otherwise `unit`. A
# test that measures real time also has the label `timed`, and runs alone. script/test accepts names of tests and
# labels.
function(label_test name timed programs)
  if(programs)
    set_property(TEST ${name} APPEND PROPERTY LABELS e2e)
    set_property(TEST ${name} PROPERTY COST 10)  # starts early while ctest does not know how long tests take
  else()
    set_property(TEST ${name} APPEND PROPERTY LABELS unit)
  endif()
  if(timed)
    set_property(TEST ${name} APPEND PROPERTY LABELS timed)
    set_property(TEST ${name} PROPERTY RUN_SERIAL ON)
  endif()
endfunction()

# needs_absent(OUT NAME...): sets OUT to ON if this build lacks one of these rooms or programs, otherwise to OFF.
function(needs_absent out)
  set(${out} OFF PARENT_SCOPE)
  foreach(name ${ARGN})
    if(name IN_LIST VITRINE_ABSENT)
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# vitrine_test(NAME [TIMED] SOURCES x_test.cc ... ROOMS ... [LIBRARIES ...] [PROGRAMS vitrine-server ...]
#              [SANITIZE asan tsan])
# Adds a GoogleTest program that ctest runs. PROGRAMS are built before the test; tests/paths.h has their paths. SANITIZE
# lists the runs of script/sanitize that include the test. An `e2e` test with asan is in the run asan-e2e. Tests that
# need data read them from the folder $VITRINE_DATA. If the variable is not set, they report the parts that they skip.
function(vitrine_test name)
  cmake_parse_arguments(arg "TIMED" "" "SOURCES;ROOMS;LIBRARIES;PROGRAMS;SANITIZE" ${ARGN})
  needs_absent(left_out ${arg_ROOMS} ${arg_PROGRAMS})
  if(left_out)
    return()
  endif()
  vitrine_executable(${name} _test SOURCES ${arg_SOURCES} ROOMS ${arg_ROOMS} LIBRARIES ${arg_LIBRARIES}
    GTest::gmock_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/gen)  # tests/paths.h
  target_compile_options(${name} PRIVATE ${VITRINE_TEST_OPTIONS})
  if(arg_PROGRAMS)
    add_dependencies(${name} ${arg_PROGRAMS})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if("e2e_testing" IN_LIST arg_LIBRARIES)
    list(APPEND arg_PROGRAMS e2e_testing)
  endif()
  label_test(${name} "${arg_TIMED}" "${arg_PROGRAMS}")
  foreach(sanitizer ${arg_SANITIZE})
    if(arg_PROGRAMS)
      string(APPEND sanitizer -e2e)
    endif()
    add_dependencies(sanitize-${sanitizer} ${name})
    set_property(TEST ${name} APPEND PROPERTY LABELS sanitize-${sanitizer})
  endforeach()
endfunction()
foreach(run asan asan-e2e tsan)
  add_custom_target(sanitize-${run})
endforeach()

# vitrine_script_test(NAME [TIMED] COMMAND ... [PROGRAMS vitrine-server ...])
# Adds a test that runs a command for at most ten minutes. Exit code 77 means that the test was skipped. The target NAME
# builds PROGRAMS.
function(vitrine_script_test name)
  cmake_parse_arguments(arg "TIMED" "" "COMMAND;PROGRAMS" ${ARGN})
  needs_absent(left_out ${arg_PROGRAMS})
  if(left_out)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
  add_custom_target(${name})
  if(arg_PROGRAMS)
    add_dependencies(${name} ${arg_PROGRAMS})
  endif()
  label_test(${name} "${arg_TIMED}" "${arg_PROGRAMS}")
endfunction()

# vitrine_fuzzer(NAME SOURCES x_fuzz.cc ROOMS ...): adds a libFuzzer program. Only for the preset `asan`.
add_custom_target(fuzzers)
function(vitrine_fuzzer name)
  vitrine_program(${name} ${ARGN})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzzers ${name})
endfunction()

# Writes a line "target: linked libraries" per room, which tests/structure reads. Call this function after all rooms are
# added.
function(write_link_edges file)
  set(text "")
  foreach(room services ${ROOMS})
    if(TARGET vitrine_${room})
      get_target_property(links vitrine_${room} LINK_LIBRARIES)
      string(APPEND text "vitrine_${room}: ${links}\n")
    endif()
  endforeach()
  file(WRITE ${file} "${text}")
endfunction()
