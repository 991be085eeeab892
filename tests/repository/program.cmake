# SPDX-License-Identifier: Apache-2.0
# vitrine-repo as a user runs it, but for `import`.
vitrine_test(repo_program_test SOURCES repo_program_test.cc ROOMS repository models PROGRAMS vitrine-repo)
