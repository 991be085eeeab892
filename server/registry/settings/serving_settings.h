// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_SERVING_SETTINGS_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_SERVING_SETTINGS_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file/descriptor.h"
#include "common/mutex.h"
#include "models/engine/precision.h"
#include "models/repository/repository.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// Settings of one model.
struct ModelPlan {
  v1::ModelServing file;      // row of the model in the file; empty if the file has no row for it
  v1::ModelServing serving;   // `file` after `changed` is applied; the policy is always set
  v1::ModelOverride changed;  // changes by the Admin service; empty for most models
};

// Settings of all models: the file of --serving-config with the changes of the Admin service applied. Thread-safe,
// except that an operation (Change, then Keep or Restore) must end before the next operation begins.
class ServingSettings {
 public:
  using Edit = std::function<void(v1::ModelOverride&)>;
  // Behaviour of a change when the state file cannot be written.
  enum class Durability {
    kRequired,    // the change fails
    kBestEffort,  // the change applies in this process, and is written as soon as possible
  };

  struct Options {
    // File with the protobuf text of a ServingConfig, read again when the file changes; empty: no file.
    std::filesystem::path serving_config;
    // File with the protobuf text of an AdminState; every kept change replaces the file. Empty: changes are lost when
    // the process ends.
    std::filesystem::path admin_state;
    // Policy of models without a policy.
    v1::VersionPolicy default_policy;
    // Precision of models without a precision in the file; nullopt: ModelLoader chooses one for
    // each version.
    std::optional<Precision> precision = std::nullopt;
  };

  // Reads both files. INVALID_ARGUMENT names file, position and fault; a server must not start with settings that it
  // cannot interpret. A missing state file counts as empty.
  static absl::StatusOr<std::unique_ptr<ServingSettings>> Open(Options options);

  // Returns the path of the file by which LockState locks a state file.
  static std::string LockOf(const std::string& admin_state) { return admin_state + ".lock"; }

  // Locks the state file until destruction, so that two servers do not overwrite each other's changes. The lock is the
  // file LockOf(admin_state). Then reads the state file again. FAILED_PRECONDITION names the process that holds the
  // lock. For errors of reading, see Open. If the lock file cannot be opened, logs a warning.
  absl::Status LockState();

  // Reads the file of --serving-config again if its stamp has changed. A broken or missing file changes only fault()
  // and is logged once. Returns true if the settings were replaced. Also writes changes that could not be written when
  // they were made.
  bool Reload();
  // Returns OK if the current file of --serving-config is in use; otherwise the error of the last attempt to read it.
  absl::Status fault() const;

  // Returns the settings of a model; if `edit` is set, the settings after that change.
  ModelPlan Plan(const std::string& model, const Edit& edit = nullptr) const;
  // Returns a version's precision: the value for the version in the file of --serving-config, otherwise the file's
  // value for its model, otherwise Options::precision.
  std::optional<Precision> PrecisionOf(const VersionId& id) const;
  // Returns the name of the result of PrecisionOf; "auto" for nullopt.
  std::string NameOfPrecision(const VersionId& id) const;
  // Returns the names of the models that have settings in the file of --serving-config or changes by the Admin service,
  // sorted.
  std::vector<std::string> Models() const;

  // Applies `edit` to the Admin service's changes for a model; an empty result removes the model's row. The change
  // takes effect at once and is staged next to the state file. Until Keep, the state file is unchanged, so a change
  // that fails is never stored. UNAVAILABLE (kRequired only): the change cannot be staged. INVALID_ARGUMENT: the result
  // is not valid. On an error nothing has changed.
  absl::Status Change(const std::string& model, const Edit& edit, Durability durability = Durability::kRequired);
  // Replaces the state file by the current state. UNAVAILABLE: the file is unchanged; the caller must call Restore.
  absl::Status Keep();
  // Undoes a change that is not kept: sets the Admin service's changes for a model to `before`.
  void Restore(const std::string& model, const v1::ModelOverride& before);
  const Options& options() const { return options_; }

 private:
  explicit ServingSettings(Options options) : options_(std::move(options)) {}
  void WritePending();

  const Options options_;
  FileDescriptor lock_;  // lock of the state file, taken by LockState
  mutable Mutex mutex_;
  v1::ServingConfig file_ ABSL_GUARDED_BY(mutex_);
  v1::AdminState state_ ABSL_GUARDED_BY(mutex_);
  std::string stamp_ ABSL_GUARDED_BY(mutex_);  // stamp of the file when it was last read
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  // The change after which neither Keep nor Restore was called yet, if there is one.
  struct OpenChange {
    Durability durability;
    absl::Status staged;  // result of staging the change next to the state file
  };
  std::optional<OpenChange> open_ ABSL_GUARDED_BY(mutex_);
  bool behind_ ABSL_GUARDED_BY(mutex_) = false;  // true: the state file lacks a best-effort change
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_SERVING_SETTINGS_H_
