# SPDX-License-Identifier: Apache-2.0
# Headers that most sources of a kind of room include, parsed once per kind instead of once per source: 70 to 90 % of
# compiling a source is parsing headers. A kind is a header of cmake/precompiled/; its name with _test is what the tests
# of such rooms include. Sources include what they use all the same: VITRINE_PRECOMPILE=OFF shows it (script/nightly).
option(VITRINE_PRECOMPILE "parse common headers once" ON)
if(VITRINE_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 does not treat system headers inside a precompiled header as system headers, and warns about std::string's
  # own memcpy (GCC bugs 105329 and 105651). Builds without precompiled headers keep these warnings.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# Tests run once or twice a build, so compiling them counts more than their speed.
set(VITRINE_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

# precompiled_kind(OUT ROOM...): the kind that sees all that the headers of these rooms name.
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

# use_precompiled(TARGET KIND): TARGET's sources see the header of KIND. The compiler refuses (-Winvalid-pch) a target
# whose options differ from those of the kind; sources with options of their own set SKIP_PRECOMPILE_HEADERS.
function(use_precompiled target kind)
  if(VITRINE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM precompiled_${kind})
    if(kind STREQUAL server_test)
      target_compile_options(${target} PRIVATE -pthread)  # required by gRPC's client, which some of these tests link
    endif()
  endif()
endfunction()

# add_precompiled_kind(KIND LIBRARY...): the header of a kind that includes headers of these libraries, and that of its
# tests.
function(add_precompiled_kind kind)
  set(suffixes "")
  if(VITRINE_WITH_TESTS)
    set(suffixes _test)
  endif()
  # Without a launcher of its own no empty word follows.
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
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # or ccache takes none for known
    endif()
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${anew}")
    target_precompile_headers(${target} PRIVATE "\"cmake/precompiled/${kind}${suffix}.h\"")
  endforeach()
endfunction()
