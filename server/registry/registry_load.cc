// SPDX-License-Identifier: Apache-2.0
// Loads versions for the registry: for the first time, after their files were replaced, and after a failure.
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"
#include "server/observe/log.h"
#include "server/process/crash_stack.h"
#include "server/process/text_file.h"
#include "server/registry/registry.h"

namespace vitrine {
namespace {

constexpr char kGone[] = "its folder is gone from the repository; it serves from memory and cannot be loaded again";

}  // namespace

// Polls the models on this thread and on other threads with the same niceness; each thread polls one model at a time.
void Registry::PollSideBySide(const std::vector<ModelLook>& looks) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < looks.size(); i = next++) {
      PollModel(looks[i].model, looks[i].present);
    }
  };
  std::vector<std::thread> beside;
  const absl::Cleanup join = [&beside] {
    for (std::thread& thread : beside) thread.join();
  };
  while (beside.size() + 1 < std::min<size_t>(looks.size(), static_cast<size_t>(options_.loads_at_once))) {
    try {
      beside.emplace_back([&work] {
        const CrashHandlerStack crash_stack;
        pthread_setname_np(pthread_self(), "load");
        work();
      });
    } catch (const std::system_error&) {
      break;  // if no more threads can start, the threads that run do all loads
    }
  }
  work();
}

// Loads a version, or restores a retiring version.
void Registry::Bring(const VersionId& id, const ModelPlan& plan) {
  const absl::StatusOr<VersionStatus> known = Get(id.model, id.version);
  if (known.ok() && known->state == v1::RETIRING && known->model != nullptr) {
    spdlog::info("model {} version {} serves again", id.model, id.version);
    table_.Change(id, [&](KnownVersion& version) {
      const std::string loaded = version.stamp;
      version = KnownVersion{};
      version.stamp = loaded;
      version.status = {id, v1::READY, "", known->model, {}, 0};
    });
    return;
  }
  table_.Change(id, [](KnownVersion& version) {
    version.status.state = v1::LOADING;
    version.status.reason.clear();
  });
  // The stamps are taken before reading, so that a change of the files during the load is noticed.
  const std::string manifest_stamp = ManifestStamp(id), stamp = FilesStamp(id), folder_stamp = FolderStamp(id);
  const absl::Time begin = clock_.Now();
  const absl::StatusOr<ModelHandle> loaded = Load(id, plan);
  if (!loaded.ok()) return TellFailure(id, loaded.status(), manifest_stamp, folder_stamp);
  claims_.Release(id, [&] {
    table_.Change(id, [&](KnownVersion& version) {
      version = KnownVersion{};
      version.stamp = stamp;
      version.status = {id, v1::READY, "", *loaded, {}, 0};
    });
  });
  TellReady(**loaded, clock_.Now() - begin);
  const std::map<int64_t, std::string> waiting = table_.Waiting(id.model);
  if (const auto waits = waiting.find(id.version); waits != waiting.end()) {
    Log(LogLevel::kWarning, "version waits", {{"model", id.model}, {"version", id.version}, {"reason", waits->second}});
  }
}

// Returns true if the files or the requested precision have changed since the version was loaded, and an attempt to
// load it is due.
bool Registry::IsReplaced(const KnownVersion& known, const std::set<int64_t>& present) const {
  const VersionId& id = known.status.id;
  return known.status.state == v1::READY && present.contains(id.version) && clock_.Now() >= known.retry_at &&
         FilesStamp(id) != known.stamp;
}

void Registry::ReloadReplaced(const std::string& model, const std::set<int64_t>& present) {
  for (const KnownVersion& known : table_.Known(model)) {
    if (stopping()) return;
    if (IsReplaced(known, present)) Replace(known);
    const VersionStatus& status = known.status;
    if (status.state == v1::READY && !present.contains(status.id.version) && status.reason != kGone) {
      Log(LogLevel::kWarning, "the folder of a version that serves is gone from the repository",
          {{"model", status.id.model}, {"version", status.id.version}});
      table_.Change(status.id, [](KnownVersion& version) { version.status.reason = kGone; });
    }
    // If the files on disk are the loaded files (again), an earlier error of the version is cleared.
    if (status.state == v1::READY && !status.reason.empty() && FilesStamp(status.id) == known.stamp) {
      table_.Change(status.id, [](KnownVersion& version) { version.status.reason.clear(); });
    }
  }
}

// Loads a version whose files were replaced. If the load fails, the version in memory keeps serving, and the load is
// retried as for a failed version.
void Registry::Replace(const KnownVersion& known) {
  const VersionId& id = known.status.id;
  // The stamps are taken before reading, so that a change of the files during the load is noticed.
  const std::string stamp = FilesStamp(id), folder_stamp = FolderStamp(id);
  const absl::Time begin = clock_.Now();
  const absl::StatusOr<ModelHandle> loaded = Load(id, settings_.Plan(id.model));
  const bool differs =
      loaded.ok() && ((*loaded)->weights_sha256 != known.status.model->weights_sha256 ||
                      (*loaded)->manifest.SerializeAsString() != known.status.model->manifest.SerializeAsString());
  const bool other_precision = loaded.ok() && (*loaded)->precision != known.status.model->precision;
  const std::string wanted = settings_.NameOfPrecision(id);
  const bool wants_other = wanted != "auto" && wanted != known.status.model->precision;
  if (!loaded.ok() || differs) {
    Log(LogLevel::kWarning,
        wants_other && !loaded.ok() ? "a version cannot be served in the requested precision"
                                    : "the files of a version were replaced; publish a new version instead",
        {{"model", id.model},
         {"version", id.version},
         {"serving", loaded.ok() ? "the new files" : "the loaded version"},
         {"precision", known.status.model->precision},
         {"asked", wanted},
         {"reason", std::string(loaded.status().message())}});
  }
  // `before` is declared before the call of Change, so that the model is freed after Change has released its lock.
  const ModelHandle before = known.status.model;
  claims_.Release(id, [&] {
    table_.Change(id, [&](KnownVersion& version) {
      if (!loaded.ok()) {
        version.retry_at = clock_.Now() + DelayAfter(version.failures++);
        version.refused = folder_stamp;
        version.status.reason = absl::StrCat(wants_other ? absl::StrCat("it cannot be served in ", wanted)
                                                         : "its files were replaced and cannot be served",
                                             ", so the loaded version continues to serve: ", loaded.status().message());
        return;
      }
      version.status.reason.clear();
      version.stamp = stamp;
      version.failures = 0;
      if (!differs && !other_precision) return;
      version.status.model = *loaded;
      version.suspended = false;  // the version is now like a newly loaded version
    });
  });
  if (differs || other_precision) TellReady(**loaded, clock_.Now() - begin);
}

absl::StatusOr<ModelHandle> Registry::Load(const VersionId& id, const ModelPlan& plan) {
  claims_.Claim(id, 0, {}, kNoMemoryLimit).IgnoreError();  // always succeeds; LogLoading and CoresPerLoad read claims
  reclaimer_.Reclaim();  // frees models that wait in the reclaimer, because no limit counts their memory
  const absl::Time begin = clock_.Now();
  absl::StatusOr<ModelHandle> loaded = LoadWithinLimits(id, plan);
  if (parts_.attempted != nullptr) parts_.attempted(id, loaded.status(), clock_.Now() - begin);
  if (!loaded.ok()) claims_.Release(id);
  return loaded;
}

void Registry::LogLoading() const {
  const std::string names = claims_.Names();
  if (!names.empty()) Log(LogLevel::kWarning, "the process ends while versions are loading", {{"versions", names}});
}

// Logs that a version is ready. Called after the version is in the table, because readers of the log line may request
// the version.
void Registry::TellReady(const LoadedModel& loaded, absl::Duration spent) {
  Log(LogLevel::kInfo, "version ready",
      {{"model", loaded.id.model},
       {"version", loaded.id.version},
       {"device", loaded.device},
       {"precision", loaded.precision},
       {"bytes", loaded.device_bytes},
       {"load_ms", absl::ToDoubleMilliseconds(spent)}});
}

// Claims memory by the manifest's sizes before loading, and by the actual size after loading.
absl::StatusOr<ModelHandle> Registry::LoadWithinLimits(const VersionId& id, const ModelPlan& plan) {
  const auto claim = [&](int64_t bytes) {
    return claims_.Claim(id, bytes, plan.serving.limits(), options_.max_memory_bytes);
  };
  int64_t bytes = 0;
  if (parts_.bytes_of != nullptr) {
    ASSIGN_OR_RETURN(bytes, parts_.bytes_of(id));
  }
  RETURN_IF_ERROR(claim(bytes));
  ASSIGN_OR_RETURN(ModelHandle loaded, parts_.load(id));
  RETURN_IF_ERROR(claim(loaded->BudgetBytes()));
  return reclaimer_.Keep(std::move(loaded));
}

absl::Duration Registry::DelayAfter(int failures) const {
  return std::min(options_.last_retry, options_.first_retry * (int64_t{1} << std::min(failures, 20)));
}

void Registry::TellFailure(const VersionId& id, const absl::Status& fault, const std::string& manifest_stamp,
                           const std::string& folder_stamp) {
  absl::Duration delay;
  table_.Change(id, [&](KnownVersion& known) {
    known.status.state = v1::FAILED;
    known.status.reason = std::string(fault.message());
    known.stamp = manifest_stamp;
    known.refused = folder_stamp;
    delay = DelayAfter(known.failures++);
    known.retry_at = clock_.Now() + delay;
  });
  const int64_t serving = table_.Traffic(id.model).stable;
  const ModelPlan plan = settings_.Plan(id.model);
  std::vector<std::string> labels;
  for (const v1::VersionLabel& label : plan.serving.labels()) {
    if (label.version() == id.version) labels.push_back(label.label());
  }
  LogFields fields = {{"model", id.model},
                      {"version", id.version},
                      {"reason", std::string(fault.message())},
                      {"serving_version", serving},
                      {"next_try", absl::FormatDuration(delay)}};
  // Requests that name these labels are rejected until the version is READY.
  if (!labels.empty()) fields.emplace_back("labels", absl::StrJoin(labels, ","));
  Log(LogLevel::kWarning, "version refused", fields);
}

std::string Registry::ManifestStamp(const VersionId& id) const {
  return absl::StrCat(FileStamp(options_.root / id.model / std::to_string(id.version) / kManifestFile), ", ",
                      settings_.NameOfPrecision(id));
}

std::string Registry::FilesStamp(const VersionId& id) const {
  const std::filesystem::path weights = options_.root / id.model / std::to_string(id.version) / kWeightsFile;
  return absl::StrCat(ManifestStamp(id), ", ", FileStamp(weights));
}

}  // namespace vitrine
