# SPDX-License-Identifier: Apache-2.0
# Sources of a folder are compiled eight at a time: most of what a source costs are its headers, which the eight parse
# once. So names of unnamed namespaces are told apart within a folder. VITRINE_UNITY=OFF compiles each source alone, and
# shows that it includes what it uses (script/nightly).
option(VITRINE_UNITY "compile the sources of a folder together" ON)
set(VITRINE_UNITY_SOURCES 8)

# compile_together(TARGET): sources with compile options of their own stay alone.
function(compile_together target)
  if(NOT VITRINE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR unit "0${count_${folder}} / ${VITRINE_UNITY_SOURCES}")
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}${unit}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
