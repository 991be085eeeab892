# SPDX-License-Identifier: Apache-2.0
# Sources of a folder are compiled eight at a time: most of what a source costs are its headers, which the eight parse
# once. So names of unnamed namespaces are told apart within a folder. VITRINE_UNITY=OFF compiles each source alone, and
# shows that it includes what it uses (script/nightly).
#
# CMake's own UNITY_BUILD would name the sources by absolute paths, and one checkout could not take from the compiler's
# cache what another one has put there.
option(VITRINE_UNITY "compile the sources of a folder together" ON)
set(VITRINE_UNITY_SOURCES 8)

# Whether a source has flags of its own, or is not there before the build.
function(stays_alone out source)
  set(alone OFF)
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_UNITY_BUILD_INCLUSION GENERATED)
    get_source_file_property(value ${source} ${property})
    if(value)
      set(alone ON)
    endif()
  endforeach()
  set(${out} ${alone} PARENT_SCOPE)
endfunction()

# compile_together(TARGET): of the sources that it has by now, whose own flags have been set.
function(compile_together target)
  if(NOT VITRINE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    stays_alone(alone ${source})
    if(alone)
      list(APPEND compiled ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND in_${folder} ${source})
    list(LENGTH in_${folder} number)
    math(EXPR number "(${number} - 1) / ${VITRINE_UNITY_SOURCES}")
    set(unit ${CMAKE_BINARY_DIR}/units/${target}/${folder}_${number}.cc)
    list(APPEND units ${unit})
    list(APPEND sources_of_${unit} ${source})
  endforeach()
  list(REMOVE_DUPLICATES units)
  foreach(unit ${units})
    list(LENGTH sources_of_${unit} length)
    if(length EQUAL 1)
      list(APPEND compiled ${CMAKE_SOURCE_DIR}/${sources_of_${unit}})
    else()
      list(TRANSFORM sources_of_${unit} REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
      list(JOIN lines "" text)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
      list(APPEND compiled ${unit})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${compiled}")
endfunction()
