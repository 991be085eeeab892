// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_REGISTRY_FAKE_REPOSITORY_H_
#define VITRINE_TESTS_SERVER_REGISTRY_FAKE_REPOSITORY_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "models/repository/manifest.h"
#include "server/observe/model_metrics.h"
#include "server/registry/registry.h"
#include "tests/scratch_folder.h"

namespace vitrine {

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// A folder that the registry accepts as a repository, with a loader that fails for chosen versions.
class FakeRepository {
 public:
  FakeRepository() { std::filesystem::create_directory(root()); }

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path root() const { return folder() / "repository"; }

  // Publishes a version, or replaces the manifest of an existing version.
  void Add(const std::string& model, int64_t version, const std::string& manifest = "manifest") const {
    const std::filesystem::path place = root() / model / std::to_string(version);
    const bool exists = std::filesystem::exists(place);
    folder_.Write(exists ? (place / kManifestFile).string() : absl::StrCat("made/", kManifestFile), manifest);
    if (exists) return;
    std::filesystem::create_directories(root() / model);
    std::filesystem::rename(folder() / "made", place);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::rename(folder_.Write(name + ".new", text), folder() / name);
  }

  absl::StatusOr<ModelHandle> Load(const VersionId& id) {
    loads.push_back(absl::StrCat(id.model, "/", id.version));
    if (during_load) during_load(id);
    if (id == slow) {
      loading = true;
      finish_.wait(false);
    }
    if (bad.contains(id)) return absl::FailedPreconditionError(absl::StrCat("weights.safetensors of ", id.version));
    auto model = std::make_shared<LoadedModel>();
    model->id = id;
    model->weights_sha256 = ReadFile(root() / id.model / std::to_string(id.version) / kManifestFile);
    model->device_bytes = bytes;
    if (const auto own = labels.find(id); own != labels.end()) model->labels = own->second;
    model->metrics = MetricsOf(id.model);
    model->version_metrics = std::make_shared<VersionMetrics>();
    return model;
  }
  Registry::Loader Loader() {
    return [this](const VersionId& id) { return Load(id); };
  }

  // Returns the metrics that all versions of a model share.
  std::shared_ptr<ModelMetrics> MetricsOf(const std::string& model) const {
    MutexLock lock(mutex_);
    std::shared_ptr<ModelMetrics>& metrics = metrics_[model];
    if (metrics == nullptr) metrics = std::make_shared<ModelMetrics>();
    return metrics;
  }

  std::set<VersionId> bad;
  std::vector<std::string> loads;
  int64_t bytes = 100;                                   // size of each version's weights
  std::map<VersionId, std::vector<std::string>> labels;  // class labels of versions; other versions have none
  std::function<void(const VersionId&)> during_load;     // called at the beginning of each load; may be null
  VersionId slow;  // version whose load sets `loading` and then blocks until Finish
  std::atomic<bool> loading = false;
  void Finish() {
    finish_ = true;
    finish_.notify_all();
  }

 private:
  std::atomic<bool> finish_ = false;
  mutable Mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<ModelMetrics>> metrics_ ABSL_GUARDED_BY(mutex_);
  const ScratchFolder folder_;
};

// Calls `holds` until it returns true. Returns false after 20 seconds.
inline bool Eventually(const std::function<bool()>& holds) {
  const absl::Time end = SteadyClock().Now() + absl::Seconds(20);
  while (!holds()) {
    if (SteadyClock().Now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Returns the state of each known version, for example "m/1 READY".
inline std::vector<std::string> States(const Registry& registry) {
  std::vector<std::string> states;
  for (const VersionStatus& status : registry.List()) {
    states.push_back(absl::StrCat(status.id.model, "/", status.id.version, " ", v1::ModelState_Name(status.state)));
  }
  return states;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_REGISTRY_FAKE_REPOSITORY_H_
