// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REPOSITORY_SAMPLE_VERSION_H_
#define VITRINE_TESTS_MODELS_REPOSITORY_SAMPLE_VERSION_H_

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "models/repository/stored_version.h"
#include "tests/scratch_folder.h"

namespace vitrine {

// Returns the parent of scratch folders for tests that publish often: in memory if possible, where fsync is fast.
std::filesystem::path FastParent();

// Returns a small version that can be published. `fill` is the value of every weight; it identifies the version.
Draft SampleDraft(float fill);

// Returns the `fill` of a version that was read.
float FillOf(const StoredVersion& version);

// Returns the names in a folder, including hidden ones, sorted.
std::vector<std::string> Entries(const std::filesystem::path& folder);

// Sets the age of temporary folders that publishers left in a model's folder to two days.
void MakeTemporaryFoldersOld(const std::filesystem::path& model);

void WriteFile(const std::filesystem::path& path, std::string_view bytes);

// Status code for files with unexpected content.
inline constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

MATCHER_P2(Fails, code, message, "") {
  *result_listener << arg.status().ToString();
  return arg.status().code() == code &&
         testing::ExplainMatchResult(message, std::string(arg.status().message()), result_listener);
}

MATCHER_P2(Refuses, code, message, "") {
  *result_listener << arg.ToString();
  return arg.code() == code && testing::ExplainMatchResult(message, std::string(arg.message()), result_listener);
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_MODELS_REPOSITORY_SAMPLE_VERSION_H_
