// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_TEST_H_
#define VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_TEST_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/registry/registry.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {

// Provides a folder that the registry accepts as a repository, with a loader that fails for chosen versions.
class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vitrine-registry-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(root());
  }
  ~RegistryTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path root() const { return folder_ / "repository"; }

  void Add(const std::string& model, int64_t version, const std::string& manifest = "manifest") {
    const std::filesystem::path folder = root() / model / std::to_string(version);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "manifest.textproto") << manifest;
  }

  absl::StatusOr<ModelHandle> Load(const VersionId& id) {
    loads_.push_back(absl::StrCat(id.model, "/", id.version));
    if (bad_.contains(id)) return absl::FailedPreconditionError(absl::StrCat("weights.safetensors of ", id.version));
    auto model = std::make_shared<LoadedModel>();
    model->id = id;
    std::ifstream(root() / id.model / std::to_string(id.version) / "manifest.textproto") >> model->weights_sha256;
    return model;
  }

  RegistryOptions Options(int keep = 1) {
    RegistryOptions options;
    options.root = root();
    options.keep_versions = keep;
    return options;
  }
  Registry::Loader Loader() {
    return [this](const VersionId& id) { return Load(id); };
  }

  std::filesystem::path folder_;
  FakeClock clock_;
  std::set<VersionId> bad_;
  std::vector<std::string> loads_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_TEST_H_
