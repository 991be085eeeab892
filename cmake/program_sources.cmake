# SPDX-License-Identifier: Apache-2.0
# program_sources(RESULT): sets RESULT to the sources that determine the results of the trainer, relative to the root.
# Recipes are left out, because each run stores its recipe. Sources that only report, publish or schedule runs are left
# out, too.
function(program_sources result)
  set(decide
    "common/(data|imaging|simd)/.*"
    "models/[^/]*"
    "models/(families|program|reference|zoo)/.*"
    "models/repository/(files/.*|weights\\.[a-z]+)"
    "proto/vitrine/v1/(model|recipe|sequence)\\.proto"
    "trainer/[^/]*"
    "trainer/(augment|lab|optimise|recipe|scale_out|tasks)/.*"
    "trainer/watch/history\\.[a-z]+"
    "trainer/cli/run(_flags)?\\.cc")
  set(only_report
    "models/attention_(distance|maps)\\.[a-z]+"
    "models/reference/torch_backend/.*"
    "trainer/(program_digest|run_result|work_lock)\\.[a-z]+")
  list(JOIN decide "|" decide)
  list(JOIN only_report "|" only_report)
  set(patterns "")
  foreach(room common models proto trainer)
    foreach(type cc h proto)
      list(APPEND patterns ${CMAKE_SOURCE_DIR}/${room}/*.${type})
    endforeach()
  endforeach()
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources INCLUDE REGEX "^(${decide})$")
  list(FILTER sources EXCLUDE REGEX "^(${only_report})$")
  list(APPEND sources script/pins/libtorch.txt)  # the version of LibTorch, whose kernels and random numbers are used
  set(${result} ${sources} PARENT_SCOPE)
endfunction()
