# SPDX-License-Identifier: Apache-2.0
# XCiT and X-ViT; CMakeLists.txt includes this.
vitrine_test(xcit_test
  SOURCES
    channel_kernels_test.cc
    convolution_stem_test.cc
    linear_memory_test.cc
    memory_meter.cc
    pictures.cc
    xcit_test.cc
    xvit_test.cc
  ROOMS models)
