// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_ENGINE_LOCAL_MODEL_H_
#define VITRINE_CLIENT_ENGINE_LOCAL_MODEL_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/engine/precision.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/execution/executor.h"
#include "server/serve/scheduling/scheduler.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// A version on disk and the root of its repository.
struct VersionPlace {
  std::string repository;
  VersionId id;
};

// Finds the version that `model` names. vitrine_engine_load describes the syntax of `model`. `repository` may be empty.
// INVALID_ARGUMENT or NOT_FOUND: the message names the missing part and the remedy.
absl::StatusOr<VersionPlace> FindVersion(const std::string& repository, const std::string& model);

// An image of a call. `bytes` is the file, or the data of the tensor that `request` declares; it outlives the call.
struct LocalImage {
  v1::ClassifyRequest request;
  std::string_view bytes;
};

// A version in memory with its own Scheduler and ExecutorPool, which are classes of the server. It has no transport, no
// registry and no admission. Thread-safe.
class LocalModel {
 public:
  // Loads a version. Returns the errors of ModelLoader. `threads` is the number of worker threads; 0: one per core that
  // this process may use.
  static absl::StatusOr<std::unique_ptr<LocalModel>> Load(const VersionPlace& place, int threads, Precision precision);
  ~LocalModel();  // no Run may be in progress

  const ModelHandle& version() const { return model_; }
  // Returns the version as the Registry service describes it, with its labels.
  v1::ModelVersion Describe() const;
  // Returns true if this process was forked after Load. The threads then exist only in the parent process.
  bool IsForked() const;

  // Computes the images and blocks until all are answered. Returns their answers in the same order.
  std::vector<absl::StatusOr<v1::ClassifyResponse>> Run(std::vector<LocalImage> images);

 private:
  LocalModel(VersionId id, ModelHandle model, int threads);

  const VersionId id_;
  const pid_t process_;
  const ModelHandle model_;
  Scheduler scheduler_;
  ExecutorPool executors_;  // last member: its threads use the scheduler
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_ENGINE_LOCAL_MODEL_H_
