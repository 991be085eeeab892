# SPDX-License-Identifier: Apache-2.0
# Compiles the kernels, one file per instruction set. -ffp-contract=off: the compiler fuses no product with a sum; only
# explicit calls in the kernels fuse them. If the compiler fused them, two register tiles could round differently.
# -fno-math-errno: a square root is one instruction, which can be vectorised. -falign-functions=64: each function starts
# at a cache line. Without this option, the address of a loop can change with each link, which changes the speed of a
# matrix product by up to 5 %.
set(kernels_arithmetic -ffp-contract=off -fno-math-errno -falign-functions=64)
if(VITRINE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # With these flags, AddressSanitizer calls functions to check loads and stores, and UBSan does not check pointers.
  # With inline checks of both sanitizers in the unrolled tiles, the kernels would take eight times as long to compile.
  list(APPEND kernels_arithmetic -fno-sanitize=alignment,pointer-overflow
    -mllvm -asan-instrumentation-with-call-threshold=0)
endif()
set(kernels_avx2 -mavx2 -mfma)
set(kernels_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND kernels_avx512 -Wno-uninitialized)  # GCC 12 warns of its own avx512fintrin.h, bug 105593
endif()
set(kernels_avx512_bf16 ${kernels_avx512} -mavx512bf16)
set(kernels_avx512_vnni ${kernels_avx512} -mavx512vnni)
set(kernels_amx ${kernels_avx512_bf16} -mavx512vnni -mamx-tile -mamx-bf16 -mamx-int8)
set(kernels_avx2_vnni ${kernels_avx2} -mavxvnni)
set(kernels_avx2_pairs ${kernels_avx2})
set(kernels_neon_dot -march=armv8.2-a+dotprod)
set(kernels_neon_bf16 -march=armv8.2-a+bf16)

# add_kernels(TARGET PATH...): adds kernels/kernels_PATH.cc of the current folder, with the flags of PATH, to TARGET.
# Skips a PATH for another processor architecture.
function(add_kernels target)
  foreach(path ${ARGN})
    if(path MATCHES "^neon")
      set(processors "^(aarch64|arm64)$")
    elseif(path MATCHES "^portable")
      set(processors "")
    else()
      set(processors "^(x86_64|AMD64)$")
    endif()
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "${processors}")
      continue()
    endif()
    target_sources(${target} PRIVATE kernels/kernels_${path}.cc)
    set_source_files_properties(kernels/kernels_${path}.cc PROPERTIES
      COMPILE_OPTIONS "${kernels_${path}};${kernels_arithmetic}" SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()
