# SPDX-License-Identifier: Apache-2.0
# Tests of vitrine-repo as a program, without the command `import`.
vitrine_test(repo_program_test SOURCES ../tool/repo_program_test.cc ../tool/repo_removal_test.cc ROOMS repository models
  PROGRAMS vitrine-repo vitrine_torch)
vitrine_test(gpu_bound_test SOURCES ../tool/gpu_bound_test.cc ROOMS describe models)
vitrine_test(scaling_test SOURCES ../tool/scaling_test.cc ROOMS describe)
vitrine_test(measure_test SOURCES ../tool/measure_test.cc ROOMS describe SANITIZE asan)
vitrine_test(library_files_test SOURCES ../tool/library_files_test.cc ROOMS publish)
vitrine_test(stated_licence_test SOURCES ../tool/stated_licence_test.cc ROOMS publish)
vitrine_test(import_files_test SOURCES ../tool/class_vectors_test.cc ../tool/label_text_test.cc ../tool/model_files_test.cc ../tool/pull_login_test.cc ROOMS publish)
vitrine_test(remote_credentials_test SOURCES ../tool/mirror_test.cc ../tool/remote_credentials_test.cc ROOMS publish)
vitrine_test(repo_quantize_test SOURCES ../tool/repo_quantize_test.cc ROOMS repository models PROGRAMS vitrine-repo)
vitrine_test(linear_head_test SOURCES ../tool/linear_head_test.cc ROOMS publish)
vitrine_test(kept_layers_test SOURCES ../tool/kept_layers_test.cc ROOMS publish SANITIZE asan)
# Runs vitrine-repo and a server for the versions that it publishes.
vitrine_test(head_program_test SOURCES ../tool/head_program_test.cc ROOMS server repository LIBRARIES e2e_testing
  PROGRAMS vitrine-repo)
vitrine_script_test(repo_graph_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/../tool/repo_graph_test.py ${CMAKE_BINARY_DIR} -v
  PROGRAMS vitrine-repo)
# Runs against a model hub that the test starts.
vitrine_script_test(model_cache_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/../tool/cache_test.py ${CMAKE_BINARY_DIR} -v
  PROGRAMS vitrine-repo vitrine-server)
vitrine_script_test(model_survey_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/../tool/survey_test.py ${CMAKE_BINARY_DIR} -v
  PROGRAMS vitrine-repo)
vitrine_script_test(zero_shot_labels_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/../tool/zero_shot_labels_test.py -v)
vitrine_script_test(repo_pull_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/../tool/pull_test.py ${CMAKE_BINARY_DIR} -v
  PROGRAMS vitrine-repo)
# Runs against services that the test starts.
vitrine_script_test(repo_remote_test
  COMMAND ${VITRINE_SYSTEM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/../tool/remote_test.py ${CMAKE_BINARY_DIR} -v
  PROGRAMS vitrine-repo vitrine-server)
