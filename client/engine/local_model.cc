// SPDX-License-Identifier: Apache-2.0
#include "client/engine/local_model.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "models/repository/names.h"
#include "models/repository/selection.h"
#include "server/observe/log.h"
#include "server/process/clock.h"
#include "server/registry/model_loader.h"
#include "server/registry/version/version_status.h"
#include "server/serve/execution/response.h"
#include "server/serve/request/plan_request.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Returns the repository, model and version if `path` is the folder of a version; else nullopt.
std::optional<VersionPlace> VersionFolder(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path / "manifest.textproto", error)) return std::nullopt;
  const std::optional<int64_t> version = ParseVersion(path.filename().string());
  if (!version.has_value()) return std::nullopt;
  return VersionPlace{path.parent_path().parent_path().string(), {path.parent_path().filename().string(), *version}};
}

absl::StatusOr<VersionPlace> FindIn(const std::string& repository, const std::string& model) {
  ASSIGN_OR_RETURN(VersionId id, FindOneVersion(repository, model));
  return VersionPlace{repository, std::move(id)};
}

BatchOptions BatchesOf(const ExecutorOptions& executor) {
  BatchOptions options;
  options.executors = executor.ThreadCount();
  return options;
}

ExecutorOptions ExecutorsOf(int threads) {
  ExecutorOptions options;
  options.threads = threads;
  return options;
}

// Answers of one call, filled in by executors.
class Answers {
 public:
  explicit Answers(size_t count) : answers_(count, absl::UnknownError("not answered")), missing_(count) {}

  void Put(size_t i, absl::StatusOr<v1::ClassifyResponse> answer) {
    MutexLock lock(mutex_);
    answers_[i] = std::move(answer);
    if (--missing_ == 0) complete_.NotifyAll();  // notifies under the lock, because the waiter destroys this object
  }

  std::vector<absl::StatusOr<v1::ClassifyResponse>> Wait() {
    MutexLock lock(mutex_);
    while (missing_ > 0) complete_.Wait(mutex_);
    return std::move(answers_);
  }

 private:
  Mutex mutex_;
  CondVar complete_;
  std::vector<absl::StatusOr<v1::ClassifyResponse>> answers_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<VersionPlace> FindVersion(const std::string& repository, const std::string& model) {
  if (!repository.empty()) return FindIn(repository, model);
  if (model.empty()) return absl::InvalidArgumentError("no model was named; give a path, or NAME or NAME@VERSION");
  std::error_code error;
  fs::path path = fs::absolute(model, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // the path ends with a slash
  if (std::optional<VersionPlace> found = VersionFolder(path); found.has_value()) return *found;
  const bool is_path = model.find('/') != std::string::npos;
  const char* const known = std::getenv("VITRINE_REPOSITORY");
  if (!is_path && known != nullptr && *known != '\0') return FindIn(known, model);
  const std::string name = path.filename().string();
  const fs::path folder = path.parent_path() / name.substr(0, name.find('@'));
  if (fs::is_directory(folder, error)) return FindIn(path.parent_path().string(), name);
  if (is_path) {
    return absl::NotFoundError(
        absl::StrCat("there is no folder ", folder.string(),
                     "; give the folder of a version, or REPOSITORY/NAME or REPOSITORY/NAME@VERSION"));
  }
  return absl::NotFoundError(absl::StrCat("\"", model,
                                          "\" is no folder, and $VITRINE_REPOSITORY is not set; set it to a ",
                                          "repository of models, or give REPOSITORY/", model));
}

absl::StatusOr<std::unique_ptr<LocalModel>> LocalModel::Load(const VersionPlace& place, int threads,
                                                             Precision precision) {
  static std::once_flag once;
  std::call_once(once, [] { StartLogging("error", "text"); });
  const ExecutorOptions executors = ExecutorsOf(threads);
  RETURN_IF_ERROR(executors.Validate());
  const ModelLoader::Parts parts = {.cores = [&executors] { return executors.ThreadCount(); },
                                    .precision_of = [precision](const VersionId&) { return precision; }};
  ASSIGN_OR_RETURN(ModelHandle model, ModelLoader(place.repository, Device(), parts).Load(place.id));
  return std::unique_ptr<LocalModel>(new LocalModel(place.id, std::move(model), threads));
}

LocalModel::LocalModel(VersionId id, ModelHandle model, int threads)
    : id_(std::move(id)),
      process_(getpid()),
      model_(std::move(model)),
      scheduler_(BatchesOf(ExecutorsOf(threads)), SteadyClock()),
      executors_(ExecutorsOf(threads), scheduler_, MakeResponse, SteadyClock()) {}

LocalModel::~LocalModel() {
  scheduler_.Stop(absl::ZeroDuration());
}

v1::ModelVersion LocalModel::Describe() const {
  VersionStatus status;
  status.id = id_;
  status.state = v1::READY;
  status.model = model_;
  v1::ModelVersion version = vitrine::Describe(status);
  version.mutable_labels()->Assign(model_->labels.begin(), model_->labels.end());
  return version;
}

bool LocalModel::IsForked() const {
  return getpid() != process_;
}

std::vector<absl::StatusOr<v1::ClassifyResponse>> LocalModel::Run(std::vector<LocalImage> images) {
  Answers answers(images.size());
  // Plans all images before the first image is submitted. PlanRequest may throw, and this function must not end while a
  // submitted image has no answer.
  std::vector<absl::StatusOr<InferenceRequest>> plans;
  plans.reserve(images.size());
  for (LocalImage& image : images) {
    plans.push_back(PlanRequest({.message = std::move(image.request), .input = image.bytes}, model_));
  }
  const absl::Time arrival = SteadyClock().Now();
  // Created before the loop, because its creation may throw. The loop must not throw, because other threads may already
  // answer images of this call.
  const absl::Status no_memory = absl::ResourceExhaustedError("memory ran out; use fewer or smaller images per call");
  for (size_t i = 0; i < plans.size(); ++i) {
    absl::StatusOr<InferenceRequest>& plan = plans[i];
    if (!plan.ok()) {
      answers.Put(i, plan.status());
      continue;
    }
    plan->arrival = arrival;
    try {
      plan->done = [&answers, i, arrival](absl::StatusOr<v1::ClassifyResponse> answer) {
        if (answer.ok()) {
          const absl::Duration total = SteadyClock().Now() - arrival;
          answer->mutable_timings()->set_total(static_cast<float>(absl::ToDoubleSeconds(total)));
        }
        answers.Put(i, std::move(answer));
      };
      scheduler_.Submit(*std::move(plan));
    } catch (const std::exception&) {
      answers.Put(i, no_memory);
    }
  }
  return answers.Wait();
}

}  // namespace vitrine
