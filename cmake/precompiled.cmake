# SPDX-License-Identifier: Apache-2.0
# Precompiles common headers, because parsing headers takes 70 to 90 % of the time to compile a source. A kind is a
# precompiled header, cmake/precompiled/KIND.h, for the sources of some rooms (cmake/rooms.cmake). KIND_test.h is for
# the tests of these rooms. Sources must still include all headers that they use: script/nightly builds with
# VITRINE_PRECOMPILE=OFF.
option(VITRINE_PRECOMPILE "parse common headers once" ON)
if(VITRINE_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 does not treat system headers inside a precompiled header as system headers, and warns about std::string's
  # own memcpy (GCC bugs 105329 and 105651). Builds without precompiled headers keep these warnings.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# Tests run only once or twice per build, so a short compile time is more important than their speed.
set(VITRINE_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

# precompiled_kind(OUT ROOM...): sets OUT to the kind for sources that use these rooms.
function(precompiled_kind out)
  set(kind text)
  foreach(candidate "client:client" "tensors:reference|checkpoint|torch_backend|trainer" "server:server|inprocess")
    string(REGEX REPLACE ":.*" "" name ${candidate})
    string(REGEX REPLACE ".*:" "" rooms ${candidate})
    foreach(room ${ARGN})
      if(room MATCHES "^(${rooms})$")
        set(kind ${name})
      endif()
    endforeach()
  endforeach()
  set(${out} ${kind} PARENT_SCOPE)
endfunction()

# use_precompiled(TARGET KIND): makes the sources of TARGET include the header of KIND. The compiler rejects the header
# (-Winvalid-pch) if a source has other options than the header was compiled with. Therefore sources with their own
# options set SKIP_PRECOMPILE_HEADERS.
function(use_precompiled target kind)
  if(VITRINE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM precompiled_${kind})
    if(kind STREQUAL server_test)
      target_compile_options(${target} PRIVATE -pthread)  # required by gRPC's client, which some of these tests link
    endif()
  endif()
endfunction()

# add_precompiled_kind(KIND LIBRARY...): precompiles KIND.h and KIND_test.h, which include headers of these libraries.
function(add_precompiled_kind kind)
  set(suffixes "")
  if(VITRINE_WITH_TESTS)
    set(suffixes _test)
  endif()
  # The launcher is not quoted, so that an empty launcher adds no argument.
  set(anew ${CMAKE_SOURCE_DIR}/cmake/anew ${CMAKE_CXX_COMPILER_LAUNCHER})
  foreach(suffix "" ${suffixes})
    set(target precompiled_${kind}${suffix})
    add_library(${target} OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled/owner.cc)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE ${ARGN})
    if(suffix)
      target_link_libraries(${target} PRIVATE GTest::gmock)
      target_compile_options(${target} PRIVATE ${VITRINE_TEST_OPTIONS} $<$<STREQUAL:${kind},server>:-pthread>)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # required by ccache
    endif()
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${anew}")
    target_precompile_headers(${target} PRIVATE "\"cmake/precompiled/${kind}${suffix}.h\"")
  endforeach()
endfunction()
