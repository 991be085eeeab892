# vitrine-repo as a user runs it, but for `import`.
vitrine_test(repo_program_test SOURCES repo_program_test.cc ROOMS repository models PROGRAMS vitrine-repo)
# The diagrams that it draws.
vitrine_test(repo_drawing_test
  SOURCES repo_drawing_test.cc ${CMAKE_SOURCE_DIR}/programs/repo_roofline.cc ${CMAKE_SOURCE_DIR}/programs/repo_table.cc
  ROOMS report proto LIBRARIES absl::status absl::statusor absl::strings absl::str_format)
