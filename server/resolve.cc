// SPDX-License-Identifier: Apache-2.0
#include "server/resolve.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/join_faults.h"
#include "common/machine/core_list.h"
#include "common/status_macros.h"
#include "models/repository/repository.h"
#include "models/repository/wrong_folder.h"
#include "server/identity/identity.h"
#include "server/registry/absent_versions.h"
#include "server/registry/settings/serving_settings.h"
#include "server/registry/version/memory_budget.h"
#include "server/trace/otlp_options.h"

namespace vitrine {
namespace {

// Shares of the memory limit of the process's control group, in percent. Their sum is 80; the remaining fifth is for
// decoding, computing, the program itself, and freed memory that the allocator keeps.
constexpr int kModelShare = 50;
constexpr int kQueueShare = 10;      // images and tensors between admission and answer
constexpr int kTransportShare = 10;  // received messages and bodies that are still in memory
constexpr int kAnswerShare = 10;     // answers that clients have not read yet
static_assert(kModelShare + kQueueShare + kTransportShare + kAnswerShare <= 80);

// Limits `bytes` to `percent` of the control group's memory limit, if there is one. Does nothing if `flag` was given,
// or if `bytes` differs from the default.
void Share(const ServerOptions& options, const Machine& machine, const char* flag, int percent, int64_t by_default,
           int64_t& bytes) {
  if (!machine.memory_limited || options.chosen.contains(flag) || bytes != by_default) return;
  bytes = std::min(bytes, std::max<int64_t>(machine.memory_bytes / 100 * percent, 1));
}

std::filesystem::path FolderOf(const std::string& path) {
  return std::filesystem::absolute(path).parent_path();
}

absl::Status CheckNoFolder(const char* flag, const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_directory(path, ignored)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, " is \"", path, "\", a folder; name a file"));
}

// Checks that a file can be created, without creating it.
absl::Status CheckCanBeCreated(const char* flag, const std::string& path) {
  if (path.empty() || access(FolderOf(path).c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is \"", path, "\"; no file can be written in ", FolderOf(path).string()));
}

absl::Status CheckAuditLog(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return CheckCanBeCreated("--audit-log", path);
  if (access(path.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--audit-log is \"", path, "\", which this user may not write"));
}

// Checks that the folder of a remote repository's copy exists or can be made. Tries this with a folder of another name,
// and removes that folder again. Several servers may start at once, and the check of one server must not make or remove
// the folder of another server.
absl::Status CheckCache(const ServerOptions& options) {
  namespace fs = std::filesystem;
  const std::string& cache = options.remote.cache;
  std::error_code error;
  if (cache.empty() || !options.models.empty() || !IsRemoteRepository(options.repository)) return absl::OkStatus();
  if (fs::is_directory(cache, error)) return absl::OkStatus();
  fs::path existing = fs::absolute(cache);
  // A symbolic link to a missing folder counts as an existing path, because no folder can be made in its place.
  while (existing.has_relative_path() && fs::symlink_status(existing, error).type() == fs::file_type::not_found) {
    existing = existing.parent_path();
  }
  std::string trial = (existing / ".vitrine-check-XXXXXX").string();
  if (mkdtemp(trial.data()) != nullptr) {
    (void)rmdir(trial.c_str());
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--repository-cache is \"", cache, "\"; no folder can be made in ",
                                                 existing.string(), ": ", strerror(errno)));
}

// Returns the options, but without the TLS files if the certificate or the key is not set, because Validate reports
// this fault.
IdentityOptions FilesOf(IdentityOptions identity) {
  if (identity.tls.certificate.empty() || identity.tls.key.empty()) identity.tls = {};
  return identity;
}

}  // namespace

ServerOptions Resolve(ServerOptions options, const Device& device, const Machine& machine) {
  options.executor.device = device;
  options.executor.device.batch = options.device_batch;
  options.executor.cores = machine.cores;
  if (options.executor.threads == 0) options.executor.threads = DefaultExecutors(device, machine.Threads());
  const bool room = options.executor.threads <= static_cast<int>(machine.cores.size());
  options.executor.pin = options.pin == "on" || (options.pin == "auto" && machine.exclusive && room);
  options.admission.executors = options.executor.ThreadCount();
  if (options.rpc.queues == 0) options.rpc.queues = QueuesFor(options.executor.ThreadCount());
  options.batch.executors = options.executor.ThreadCount();
  options.batch.slow_apart = options.executor.SlowThreadCount() > 0;
  options.admission.in_parts = options.batch.executors > 0 && options.batch.max_wait <= absl::ZeroDuration();
  options.admission.max_batch_tokens = options.batch.max_batch_tokens;
  options.admission.patience = options.batch.patience;
  options.registry.root = options.folder();
  options.registry.loads_at_once = options.executor.ThreadCount();

  const ServerOptions defaults;
  Share(options, machine, "--max-queue-bytes", kQueueShare, defaults.admission.max_bytes, options.admission.max_bytes);
  Share(options, machine, "--max-answer-bytes", kAnswerShare, defaults.admission.max_answer_bytes,
        options.admission.max_answer_bytes);
  Share(options, machine, "--max-transport-bytes", kTransportShare, defaults.rpc.max_transport_bytes,
        options.rpc.max_transport_bytes);
  // To receive a message of the maximum size, the transport needs room for two such messages.
  options.rpc.max_transport_bytes = std::max(options.rpc.max_transport_bytes, 2 * options.rpc.max_message_bytes);
  if (device.kind == Device::Kind::kCpu) {
    Share(options, machine, "--model-memory", kModelShare, defaults.registry.max_memory_bytes,
          options.registry.max_memory_bytes);
  }
  return options;
}

LogFields DescribeMachine(const Machine& machine, const ServerOptions& resolved) {
  const int64_t models = resolved.registry.max_memory_bytes;
  return {{"cores", CoreListText(machine.cores)},
          {"cpus", machine.cpus},
          {"exclusive", machine.exclusive ? "yes" : "no"},
          {"memory_mib", machine.memory_bytes >> 20},
          {"memory_of", machine.memory_limited ? "control_group" : "machine"},
          {"executors", int64_t{resolved.executor.ThreadCount()}},
          {"pinned", resolved.executor.pin ? "yes" : "no"},
          {"model_memory_mib", models == kNoMemoryLimit ? LogValue("unlimited") : LogValue(models >> 20)},
          {"queue_mib", resolved.admission.max_bytes >> 20},
          {"transport_mib", resolved.rpc.max_transport_bytes >> 20},
          {"answers_mib", resolved.admission.max_answer_bytes >> 20}};
}

absl::Status CheckConfiguration(const ServerOptions& options) {
  std::vector<std::string> faults;
  const auto add = [&faults](const absl::Status& status) {
    if (status.ok()) return;
    for (const auto line : absl::StrSplit(status.message(), '\n')) {
      const std::string sentence(line);
      if (std::find(faults.begin(), faults.end(), sentence) == faults.end()) faults.push_back(sentence);
    }
  };
  add(options.Validate());
  add(Identity::Open(FilesOf(options.identity)).status());
  add(ServingSettings::Open(options.registry.Serving()).status());
  add(CheckCache(options));
  add(CheckNoFolder("--port-file", options.port_file));
  add(CheckCanBeCreated("--port-file", options.port_file));
  add(CheckNoFolder("--audit-log", options.admin.audit_log));
  if (!options.tracing.headers.empty()) add(ReadOtlpHeaders(options.tracing.headers).status());
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
}

absl::Status CheckFiles(const ServerOptions& options) {
  return JoinFaults(
      {CheckAuditLog(options.admin.audit_log), CheckCanBeCreated("--admin-state", options.registry.admin_state)});
}

absl::Status CheckRepository(const ServerOptions& options) {
  // A missing copy of a remote repository is no fault, because the copy is first made when the server starts.
  std::error_code ignored;
  if (IsRemoteRepository(options.repository) && !std::filesystem::exists(options.folder(), ignored)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Listing listing, ListRepository(options.folder()));
  RETURN_IF_ERROR(listing.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<ServingSettings> settings, ServingSettings::Open(options.registry.Serving()));
  std::map<std::string, std::set<int64_t>> present;
  for (const VersionId& id : listing.versions) present[id.model].insert(id.version);
  LogAbsentVersions(*settings, present);
  if (!listing.versions.empty() || options.allow_empty) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(ExplainNoVersions(options.folder()), "; the server would not be ready without --allow-empty"));
}

ServerOptions WithoutNewFiles(ServerOptions options) {
  options.admin.audit_log.clear();
  // If the lock file cannot be created, admin_state is kept, so that LockState logs the same warning as at a start.
  const std::string lock = ServingSettings::LockOf(options.registry.admin_state);
  std::error_code ignored;
  const bool can_be_created = access(FolderOf(lock).c_str(), W_OK) == 0;
  if (can_be_created && !std::filesystem::exists(lock, ignored)) options.registry.admin_state.clear();
  return options;
}

}  // namespace vitrine
