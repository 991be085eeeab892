# SPDX-License-Identifier: Apache-2.0
# The prepared form of the layers and the kernels behind it; models/CMakeLists.txt includes this after vitrine_models.
target_sources(vitrine_models PRIVATE
  kernels/cpu/cpu_path.cc
  kernels/cpu/fold.cc
  kernels/cpu/kernels_portable.cc
  kernels/cpu/linear.cc
  kernels/cpu/packed_linear.cc
  kernels/cpu/workspace.cc
  layers/feed_forward_prepared.cc)

# One file per instruction set. The kernels say themselves where a product and a sum are rounded once: elsewhere the
# compiler may not contract, or one register tile could round another way than the next.
set_source_files_properties(kernels/cpu/kernels_portable.cc PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND avx512 -Wno-maybe-uninitialized)  # GCC 12 warns of its own avx512fintrin.h, bug 105593
  endif()
  target_sources(vitrine_models PRIVATE
    kernels/cpu/kernels_avx2.cc kernels/cpu/kernels_avx512.cc kernels/cpu/kernels_avx512_bf16.cc)
  set_source_files_properties(kernels/cpu/kernels_avx2.cc PROPERTIES
    COMPILE_OPTIONS "-mavx2;-mfma;-ffp-contract=off" SKIP_PRECOMPILE_HEADERS ON)
  set_source_files_properties(kernels/cpu/kernels_avx512.cc PROPERTIES
    COMPILE_OPTIONS "${avx512}" SKIP_PRECOMPILE_HEADERS ON)
  set_source_files_properties(kernels/cpu/kernels_avx512_bf16.cc PROPERTIES
    COMPILE_OPTIONS "${avx512};-mavx512bf16" SKIP_PRECOMPILE_HEADERS ON)
endif()
