# SPDX-License-Identifier: Apache-2.0
# The models of sequences and sets; CMakeLists.txt includes this.
vitrine_test(sequences_test
  SOURCES
    pictures.cc
    sequences_attention_test.cc
    sequences_config_test.cc
    sequences_model_test.cc
    sequences_oracle.cc
    sequences_zoo_test.cc
  ROOMS models)

vitrine_test(sequences_learning_test
  SOURCES pictures.cc sequences_learning_test.cc sequences_oracle.cc
  ROOMS models data trainer)
