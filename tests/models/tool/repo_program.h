// SPDX-License-Identifier: Apache-2.0
// Runs vitrine-repo in a temporary folder of the test.
#ifndef VITRINE_TESTS_MODELS_TOOL_REPO_PROGRAM_H_
#define VITRINE_TESTS_MODELS_TOOL_REPO_PROGRAM_H_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine {

inline constexpr char kProgram[] = VITRINE_BIN "/vitrine-repo";

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string error;
};

// A fixture with a folder that is removed after the test.
class RepoProgram : public ::testing::Test {
 protected:
  RepoProgram() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vitrine-repo-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RepoProgram() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  Outcome Run(const std::string& arguments) const { return Shell(absl::StrCat(kProgram, " ", arguments)); }

  Outcome Shell(const std::string& command) const {
    const std::string errors = Path("stderr");
    Outcome outcome;
    FILE* pipe = popen(absl::StrCat(command, " 2> ", errors).c_str(), "r");
    char piece[4096];
    for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) outcome.out.append(piece, got);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    outcome.error = ReadFile(errors);
    return outcome;
  }

  std::filesystem::path folder_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_MODELS_TOOL_REPO_PROGRAM_H_
