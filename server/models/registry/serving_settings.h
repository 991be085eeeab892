// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_SERVING_SETTINGS_H_
#define VITRINE_SERVER_MODELS_REGISTRY_SERVING_SETTINGS_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "engine/precision.h"
#include "repository/repository.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// How one model is served.
struct ModelPlan {
  v1::ModelServing file;      // the row of the file; empty where it has none
  v1::ModelServing serving;   // the file's with the changes of the Admin service over it; policy always set
  v1::ModelOverride changed;  // what the Admin service has changed; empty for most models
};

// How every model is served: the file of --serving-config with the changes of the Admin service over it. Thread-safe,
// but for changes: between the first Change of one and its Keep or Restore nobody begins another.
class ServingSettings {
 public:
  using Edit = std::function<void(v1::ModelOverride&)>;
  // Of a change, where the state file cannot be written.
  enum class Durability {
    kRequired,    // it is not made
    kBestEffort,  // it holds in this process, and is written as soon as that is possible
  };

  struct Options {
    // Protobuf text of a ServingConfig, read again when it changes; empty: none.
    std::filesystem::path serving_config;
    // Protobuf text of an AdminState, replaced by every change; empty: changes are forgotten with the process.
    std::filesystem::path admin_state;
    // For models without a policy.
    v1::VersionPolicy default_policy;
    // For models that the file says nothing about.
    Precision precision = Precision::kFp32;
  };

  // Reads both files. INVALID_ARGUMENT names file, place and fault, for either: a server does not start on settings
  // that it does not understand. A state file that is not there yet is empty.
  static absl::StatusOr<std::unique_ptr<ServingSettings>> Open(Options options);

  // Reads the file of --serving-config again if it looks different from the last time. One that is broken or gone
  // changes nothing but fault(), and is logged once. True if other settings hold now. Also writes what could not be
  // written when it was changed.
  bool Reload();
  // Why the file as it was last seen is not used; OK if it is.
  absl::Status fault() const;

  // With `edit`: how the model would be served after that change.
  ModelPlan Plan(const std::string& model, const Edit& edit = nullptr) const;
  // In what a version is to be computed: as the file says of it, or of its model, else the default.
  Precision PrecisionOf(const VersionId& id) const;
  // Every model that the file or the Admin service says something about.
  std::vector<std::string> Models() const;

  // Applies `edit` to what the Admin service has set for a model; an empty result is forgotten. It holds from now on,
  // and lies ready beside the state file, which only Keep replaces: what turns out not to come off was never kept.
  // UNAVAILABLE if it cannot be written, INVALID_ARGUMENT if what comes out is not valid; then nothing has changed.
  absl::Status Change(const std::string& model, const Edit& edit, Durability durability = Durability::kRequired);
  // Replaces the state file by what holds. UNAVAILABLE: it stands as before; Restore must follow.
  absl::Status Keep();
  // Back to what the Admin service had set for a model before a change that is not kept.
  void Restore(const std::string& model, const v1::ModelOverride& before);
  const Options& options() const { return options_; }

 private:
  explicit ServingSettings(Options options) : options_(std::move(options)) {}
  void WriteWhatIsBehind();

  const Options options_;
  mutable Mutex mutex_;
  v1::ServingConfig file_ ABSL_GUARDED_BY(mutex_);
  v1::AdminState state_ ABSL_GUARDED_BY(mutex_);
  std::string stamp_ ABSL_GUARDED_BY(mutex_);  // of the file when it was last read
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  // The change that is neither kept nor restored, if there is one.
  struct OpenChange {
    Durability durability;
    absl::Status staged;  // whether it lies ready beside the state file
  };
  std::optional<OpenChange> open_ ABSL_GUARDED_BY(mutex_);
  bool behind_ ABSL_GUARDED_BY(mutex_) = false;  // the state file lacks something that was kept by best effort
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_SERVING_SETTINGS_H_
