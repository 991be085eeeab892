# SPDX-License-Identifier: Apache-2.0
# Training with several processes.
set(scale_out_sources
  scale_out/agreement.cc
  scale_out/gloo.cc
  scale_out/rendezvous.cc
  scale_out/roll_call.cc)
set(scale_out_libraries "")
# LibTorch's wheel contains the library Gloo and c10d's headers for Gloo. Gloo's own headers come from a Debian package.
set_source_files_properties(scale_out/gloo.cc PROPERTIES COMPILE_DEFINITIONS USE_C10D_GLOO)
