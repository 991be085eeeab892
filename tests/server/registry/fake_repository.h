// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_REGISTRY_FAKE_REPOSITORY_H_
#define VITRINE_TESTS_SERVER_REGISTRY_FAKE_REPOSITORY_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
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
#include "server/observe/model_metrics.h"
#include "server/registry/registry.h"

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
  FakeRepository() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vitrine-registry-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(root());
  }
  ~FakeRepository() { std::filesystem::remove_all(folder_); }
  FakeRepository(const FakeRepository&) = delete;
  FakeRepository& operator=(const FakeRepository&) = delete;

  std::filesystem::path folder() const { return folder_; }
  std::filesystem::path root() const { return folder_ / "repository"; }

  void Add(const std::string& model, int64_t version) {
    const std::filesystem::path made = folder_ / "made";
    std::filesystem::create_directories(made);
    std::ofstream(made / "manifest.textproto") << "manifest";
    std::filesystem::create_directories(root() / model);
    std::filesystem::rename(made, root() / model / std::to_string(version));
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / (name + ".new")) << text;
    std::filesystem::rename(folder_ / (name + ".new"), folder_ / name);
  }

  absl::StatusOr<ModelHandle> Load(const VersionId& id) {
    loads.push_back(absl::StrCat(id.model, "/", id.version));
    if (id == slow) {
      loading = true;
      finish_.wait(false);
    }
    if (bad.contains(id)) return absl::FailedPreconditionError(absl::StrCat("weights.safetensors of ", id.version));
    auto model = std::make_shared<LoadedModel>();
    model->id = id;
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
  std::filesystem::path folder_;
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
