// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/serving_settings.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file/process_lock.h"
#include "common/status_macros.h"
#include "server/observe/log.h"
#include "server/process/text_file.h"
#include "server/registry/settings/serving_rules.h"

namespace vitrine {
namespace {

absl::StatusOr<v1::ServingConfig> ReadConfig(const std::filesystem::path& path) {
  v1::ServingConfig config;
  RETURN_IF_ERROR(ReadTextProto(path, config));
  const absl::Status valid = ValidateServing(config);
  if (valid.ok()) return config;
  return absl::InvalidArgumentError(absl::StrCat(path.string(), ": ", std::string(valid.message())));
}

// Validates an operator's changes for a model on their own, without the model's row in the file of --serving-config.
absl::Status ValidateOverride(const v1::ModelOverride& row) {
  return ValidateServing(MergeServing(v1::ModelServing(), row));
}

absl::StatusOr<v1::AdminState> ReadState(const std::filesystem::path& path) {
  v1::AdminState state;
  const absl::Status read = ReadTextProto(path, state);
  if (absl::IsNotFound(read)) return state;
  RETURN_IF_ERROR(read);
  std::set<std::string> seen;
  for (const v1::ModelOverride& row : state.models()) {
    absl::Status valid = ValidateOverride(row);
    if (valid.ok() && !seen.insert(row.model()).second) {
      valid = absl::InvalidArgumentError(absl::StrCat("model \"", row.model(), "\" has two rows"));
    }
    if (!valid.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(path.string(), ": ", std::string(valid.message())));
    }
  }
  return state;
}

// Prefixes an error with the flag that names the file.
template <typename T>
absl::StatusOr<T> Named(absl::string_view flag, absl::StatusOr<T> read) {
  if (read.ok()) return read;
  return absl::Status(read.status().code(), absl::StrCat(flag, " ", std::string(read.status().message())));
}

absl::Status CannotBeKept(const absl::Status& why) {
  return absl::UnavailableError(
      absl::StrCat("the change cannot be saved and was not made: ", std::string(why.message())));
}

// Returns the row of a model, or an empty row.
template <typename Row>
Row RowOf(const google::protobuf::RepeatedPtrField<Row>& rows, const std::string& model) {
  for (const Row& row : rows) {
    if (row.model() == model) return row;
  }
  return Row();
}

void SetRow(v1::AdminState& state, const v1::ModelOverride& row) {
  auto& rows = *state.mutable_models();
  RemoveIf(rows, [&](const v1::ModelOverride& held) { return held.model() == row.model(); });
  if (!IsEmpty(row)) *state.add_models() = row;
  std::sort(rows.begin(), rows.end(),
            [](const v1::ModelOverride& a, const v1::ModelOverride& b) { return a.model() < b.model(); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServingSettings>> ServingSettings::Open(Options options) {
  std::unique_ptr<ServingSettings> settings(new ServingSettings(std::move(options)));
  const Options& with = settings->options_;
  MutexLock lock(settings->mutex_);
  if (!with.serving_config.empty()) {
    settings->stamp_ = FileStamp(with.serving_config);
    ASSIGN_OR_RETURN(settings->file_, Named("--serving-config", ReadConfig(with.serving_config)));
  }
  if (!with.admin_state.empty()) {
    ASSIGN_OR_RETURN(settings->state_, Named("--admin-state", ReadState(with.admin_state)));
  }
  return settings;
}

absl::Status ServingSettings::LockState() {
  const std::string& state = options_.admin_state.native();
  if (state.empty()) return absl::OkStatus();
  absl::StatusOr<FileDescriptor> lock = LockForProcess(LockOf(state));
  if (lock.ok()) {
    lock_ = *std::move(lock);
    MutexLock change(mutex_);  // the previous owner of the lock file may have changed the state file
    ASSIGN_OR_RETURN(state_, Named("--admin-state", ReadState(state)));
    return absl::OkStatus();
  }
  if (!absl::IsAlreadyExists(lock.status())) {
    spdlog::warn("--admin-state {}: a second server with this file would not be noticed: {}", state,
                 std::string(lock.status().message()));
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("--admin-state ", state,
                                                    " is in use by another server: ", lock.status().message(),
                                                    "; end that server, or give this one a file of its own"));
}

bool ServingSettings::Reload() {
  WritePending();
  const std::filesystem::path& path = options_.serving_config;
  if (path.empty()) return false;
  const std::string stamp = FileStamp(path);
  {
    MutexLock lock(mutex_);
    if (stamp == stamp_) return false;
  }
  absl::StatusOr<v1::ServingConfig> config = ReadConfig(path);
  MutexLock lock(mutex_);
  // A file that could not be read is tried again even if its stamp is unchanged. An invalid file is tried again only if
  // its stamp has changed. An empty stamp differs from the stamp of any file, so the file is read again and fault()
  // becomes OK even if the file becomes readable without a change.
  stamp_ = config.ok() || absl::IsInvalidArgument(config.status()) ? stamp : "";
  if (!config.ok()) {
    if (config.status() != fault_) {
      Log(LogLevel::kError, "a settings file is rejected, its previous content stays in effect",
          {{"fault", absl::StrCat("--serving-config ", std::string(config.status().message()))}});
    }
    fault_ = config.status();
    return false;
  }
  Log(LogLevel::kInfo, "serving config read", {{"file", path.string()}, {"models", int64_t{config->models_size()}}});
  file_ = *std::move(config);
  fault_ = absl::OkStatus();
  return true;
}

absl::Status ServingSettings::fault() const {
  MutexLock lock(mutex_);
  return fault_;
}

ModelPlan ServingSettings::Plan(const std::string& model, const Edit& edit) const {
  MutexLock lock(mutex_);
  ModelPlan plan;
  plan.changed = RowOf(state_.models(), model);
  if (edit) edit(plan.changed);
  plan.changed.set_model(model);
  plan.file = RowOf(file_.models(), model);
  plan.serving = MergeServing(plan.file, plan.changed);
  if (!plan.serving.has_version_policy()) {
    *plan.serving.mutable_version_policy() =
        file_.has_default_policy() ? file_.default_policy() : options_.default_policy;
  }
  return plan;
}

std::optional<Precision> ServingSettings::PrecisionOf(const VersionId& id) const {
  MutexLock lock(mutex_);
  const v1::ModelServing row = RowOf(file_.models(), id.model);
  for (const v1::VersionPrecision& of : row.version_precisions()) {
    if (of.version() == id.version) return ParsePrecision(of.precision());
  }
  const std::optional<Precision> precision = ParsePrecision(row.precision());
  return precision ? precision : options_.precision;
}

std::string ServingSettings::NameOfPrecision(const VersionId& id) const {
  const std::optional<Precision> precision = PrecisionOf(id);
  return precision ? Name(*precision) : "auto";
}

std::vector<std::string> ServingSettings::Models() const {
  MutexLock lock(mutex_);
  std::set<std::string> names;
  for (const v1::ModelServing& row : file_.models()) names.insert(row.model());
  for (const v1::ModelOverride& row : state_.models()) names.insert(row.model());
  return std::vector<std::string>(names.begin(), names.end());
}

absl::Status ServingSettings::Change(const std::string& model, const Edit& edit, Durability durability) {
  MutexLock lock(mutex_);
  v1::ModelOverride row = RowOf(state_.models(), model);
  edit(row);
  row.set_model(model);
  RETURN_IF_ERROR(ValidateOverride(row));
  v1::AdminState state = state_;
  SetRow(state, row);
  absl::Status staged;
  if (!options_.admin_state.empty()) staged = StageTextProto(options_.admin_state, state);
  if (!staged.ok() && durability == Durability::kRequired) return CannotBeKept(staged);
  open_ = OpenChange{durability, std::move(staged)};
  state_ = std::move(state);
  return absl::OkStatus();
}

absl::Status ServingSettings::Keep() {
  MutexLock lock(mutex_);
  if (!open_.has_value()) return absl::OkStatus();
  absl::Status written = open_->staged;
  if (written.ok() && !options_.admin_state.empty()) written = CommitFile(options_.admin_state);
  if (!written.ok() && open_->durability == Durability::kRequired) return CannotBeKept(written);
  open_.reset();
  if (!written.ok()) {
    spdlog::error("admin state: {}; the change is in effect until the process ends, and is written as soon as possible",
                  std::string(written.message()));
  }
  behind_ = !written.ok();
  return absl::OkStatus();
}

void ServingSettings::Restore(const std::string& model, const v1::ModelOverride& before) {
  MutexLock lock(mutex_);
  v1::ModelOverride row = before;
  row.set_model(model);
  SetRow(state_, row);
  open_.reset();
  if (!options_.admin_state.empty()) DropStaged(options_.admin_state);
}

// Does nothing while a change is open, because the change may still fail.
void ServingSettings::WritePending() {
  MutexLock lock(mutex_);
  if (!behind_ || open_.has_value()) return;
  if (!StageTextProto(options_.admin_state, state_).ok() || !CommitFile(options_.admin_state).ok()) return;
  behind_ = false;
  spdlog::info("admin state: {} is written again and complete", options_.admin_state.string());
}

}  // namespace vitrine
