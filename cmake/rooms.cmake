# The rooms and who may use whom. tests/structure checks includes and link edges against this table.
set(ROOM_ALLOWS_proto "")
set(ROOM_ALLOWS_imaging proto)
set(ROOM_ALLOWS_data imaging proto)
set(ROOM_ALLOWS_report imaging proto)
set(ROOM_ALLOWS_models proto)
set(ROOM_ALLOWS_repository models proto)
set(ROOM_ALLOWS_trainer models imaging data repository report proto)
set(ROOM_ALLOWS_server models imaging repository report proto)
set(ROOM_ALLOWS_client proto imaging data report)

# vitrine_room(NAME SOURCES a.cc ... [ROOMS imaging proto ...] [LIBRARIES absl::status ...])
# The static library vitrine_NAME. Rooms that are not allowed stop the configuration.
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
endfunction()

# vitrine_program(NAME SOURCES a.cc ... ROOMS ... [LIBRARIES ...])
# An executable in build/bin. torch_cpu comes first where a room needs it: it exports BLAS symbols that OpenCV's
# libblas exports too, and the first one wins.
function(vitrine_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  foreach(room ${arg_ROOMS})
    if(room MATCHES "^(models|repository|trainer|server)$")
      set(torch torch_cpu)
    endif()
    list(APPEND rooms vitrine_${room})
  endforeach()
  target_link_libraries(${name} PRIVATE ${torch} ${rooms} ${arg_LIBRARIES})
endfunction()

# vitrine_test(NAME SOURCES x_test.cc ... ROOMS ... [LIBRARIES ...]): a GoogleTest program run by ctest.
# Tests that need data read $VITRINE_DATA and say what they skip without it.
function(vitrine_test name)
  vitrine_program(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gmock_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
