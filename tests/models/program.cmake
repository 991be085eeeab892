# SPDX-License-Identifier: Apache-2.0
vitrine_test(model_program_test
  SOURCES program_builder_test.cc program_demand_test.cc program_weights_test.cc pictures.cc small_forms.cc
  ROOMS models)
