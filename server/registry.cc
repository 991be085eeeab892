#include "server/registry.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "repository/text.h"

namespace vitrine {
namespace {

// Added to the niceness of the polling thread: about a tenth of the share of a serving thread on a full core.
constexpr int kLoaderNiceness = 10;
// Most names or versions in a refusal: clients take 8 KiB of trailing metadata.
constexpr size_t kMostListed = 10;

std::string StateName(v1::ModelState state) {
  return v1::ModelState_Name(state);
}

}  // namespace

absl::Status RegistryOptions::Validate() const {
  if (root.empty()) return absl::InvalidArgumentError("the repository's folder is not named");
  if (poll_interval < absl::Milliseconds(10) || poll_interval > absl::Hours(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("poll_interval is ", absl::FormatDuration(poll_interval), "; it must be 10 ms to 1 h"));
  }
  if (keep_versions < 1 || keep_versions > 100) {
    return absl::InvalidArgumentError(absl::StrCat("keep_versions is ", keep_versions, "; it must be 1 to 100"));
  }
  if (first_retry <= absl::ZeroDuration() || last_retry < first_retry) {
    return absl::InvalidArgumentError(absl::StrCat("first_retry is ", absl::FormatDuration(first_retry),
                                                   " and last_retry ", absl::FormatDuration(last_retry),
                                                   "; the first must be above zero and at most the last"));
  }
  return absl::OkStatus();
}

v1::ModelVersion Describe(const VersionStatus& status, bool with_labels) {
  v1::ModelVersion version;
  version.set_model(status.id.model);
  version.set_version(status.id.version);
  version.set_state(status.state);
  version.set_reason(status.reason);
  if (status.model == nullptr) return version;
  const LoadedModel& model = *status.model;
  *version.mutable_config() = model.manifest.config();
  *version.mutable_provenance() = model.manifest.provenance();
  version.set_weights_sha256(model.weights_sha256);
  version.set_parameters(model.manifest.parameters());
  version.set_device_bytes(model.device_bytes);
  for (const AttentionAbility::Offer& has : model.attention.offers) {
    version.add_attention_kinds(has.kind);
    version.set_layers(std::max(version.layers(), has.layers));
    version.set_heads(std::max(version.heads(), has.heads));
    v1::AttentionOffer& offer = *version.add_attention();
    offer.set_kind(has.kind);
    offer.set_layers(has.layers);
    offer.set_heads(has.heads);
  }
  for (const v1::FeatureKind kind : model.features.kinds) version.add_feature_kinds(kind);
  version.set_feature_width(model.features.width);
  if (with_labels) {
    for (const std::string& label : model.labels) version.add_labels(label);
  }
  return version;
}

Registry::Registry(RegistryOptions options, Loader loader, const Clock& clock)
    : options_(std::move(options)), loader_(std::move(loader)), clock_(clock) {}

Registry::~Registry() {
  Stop();
}

void Registry::Start() {
  MutexLock lock(poller_mutex_);
  if (stopping() || poller_ != nullptr) return;
  poller_ = std::make_unique<Ticker>(options_.poll_interval, [this, first = true]() mutable {
    // On Linux this is the niceness of the calling thread alone.
    if (first) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kLoaderNiceness);
    first = false;
    if (!stopping()) Poll();
  });
}

void Registry::Stop() {
  stop_.store(true, std::memory_order_release);
  std::unique_ptr<Ticker> poller;
  {
    MutexLock lock(poller_mutex_);
    poller = std::move(poller_);
  }
}

bool Registry::WaitForFirstPoll(absl::Duration timeout) {
  const absl::Time end = SteadyClock().Now() + timeout;
  MutexLock lock(mutex_);
  while (!first_poll_done_ && SteadyClock().Now() < end) polled_.WaitFor(mutex_, end - SteadyClock().Now());
  return first_poll_done_;
}

void Registry::Poll() {
  ReapRetired();
  absl::StatusOr<std::vector<VersionId>> listed = ListVersions(options_.root);
  if (listed.ok()) {
    std::map<std::string, std::set<int64_t>> present;
    for (const VersionStatus& known : List()) present[known.id.model];
    for (const VersionId& id : *listed) present[id.model].insert(id.version);
    for (const auto& [model, versions] : present) PollModel(model, versions);
  }
  MutexLock lock(mutex_);
  if (listed.status() != repository_status_) {
    if (listed.ok()) {
      spdlog::info("repository {} can be read again", options_.root.string());
    } else {
      spdlog::warn("{}; what is loaded serves on", std::string(listed.status().message()));
    }
    repository_status_ = listed.status();
  }
  first_poll_done_ = true;
  polled_.NotifyAll();
}

void Registry::PollModel(const std::string& model, const std::set<int64_t>& present) {
  std::set<int64_t> candidates = present;
  for (const VersionStatus& known : Versions(model)) {
    if (known.state == v1::READY) {
      // Serves on even if it is gone from the disk.
      candidates.insert(known.id.version);
    } else if (known.state == v1::FAILED && !present.contains(known.id.version)) {
      Remove(known.id);
    }
  }
  int good = 0;
  for (auto version = candidates.rbegin(); version != candidates.rend() && good < options_.keep_versions; ++version) {
    if (stopping()) return;
    const VersionId id{model, *version};
    if (IsReady(id) || (MayLoad(id) && TryLoad(id))) ++good;
  }
  RetireAllBut(model, options_.keep_versions);
}

bool Registry::IsReady(const VersionId& id) const {
  MutexLock lock(mutex_);
  const Known* known = FindKnown(id);
  return known != nullptr && known->status.state == v1::READY;
}

bool Registry::MayLoad(const VersionId& id) const {
  const std::string stamp = ManifestStamp(id);
  MutexLock lock(mutex_);
  const Known* known = FindKnown(id);
  if (known == nullptr) return true;
  // A version that is retiring was replaced by a newer one and does not come back.
  if (known->status.state != v1::FAILED) return false;
  return clock_.Now() >= known->retry_at || stamp != known->manifest_stamp;
}

bool Registry::TryLoad(const VersionId& id) {
  Change(id, [](Known& known) { known.status.state = v1::LOADING; });
  // Before reading, so that a manifest that changes meanwhile is noticed.
  const std::string stamp = ManifestStamp(id);
  const absl::Time begin = clock_.Now();
  absl::StatusOr<ModelHandle> loaded = loader_(id);
  const absl::Time end = clock_.Now();
  if (loaded.ok()) {
    spdlog::info("model {} version {} is ready on {} ({} bytes, {:.0f} ms)", id.model, id.version, (*loaded)->device,
                 (*loaded)->device_bytes, absl::ToDoubleMilliseconds(end - begin));
    Change(id, [&](Known& known) {
      known = Known{};
      known.status = {id, v1::READY, "", *std::move(loaded)};
    });
    return true;
  }
  absl::Duration delay;
  Change(id, [&](Known& known) {
    known.status.state = v1::FAILED;
    known.status.reason = std::string(loaded.status().message());
    known.manifest_stamp = stamp;
    delay = std::min(options_.last_retry, options_.first_retry * (int64_t{1} << std::min(known.failures, 20)));
    known.failures += 1;
    known.retry_at = end + delay;
  });
  const absl::StatusOr<ModelHandle> serving = Find(id.model);
  spdlog::warn("model {} version {} is refused: {}; {}; next try in {}", id.model, id.version,
               std::string(loaded.status().message()),
               serving.ok() ? absl::StrCat("version ", (*serving)->id.version, " serves on") : "no version serves",
               absl::FormatDuration(delay));
  return false;
}

void Registry::RetireAllBut(const std::string& model, int keep) {
  std::vector<VersionStatus> versions = Versions(model);
  std::reverse(versions.begin(), versions.end());
  for (VersionStatus& status : versions) {
    if (status.state != v1::READY || keep-- > 0) continue;
    spdlog::info("model {} version {} retires", status.id.model, status.id.version);
    Change(status.id, [](Known& known) {
      known.status.state = v1::RETIRING;
      known.retiring = known.status.model;
      known.status.model = nullptr;  // not the last: `status` holds one, so that nothing is freed under the lock
    });
  }
}

void Registry::ReapRetired() {
  std::vector<VersionId> gone;
  {
    MutexLock lock(mutex_);
    for (const auto& [model, versions] : models_) {
      for (const auto& [version, known] : versions) {
        if (known.status.state == v1::RETIRING && known.retiring.expired()) gone.push_back({model, version});
      }
    }
  }
  for (const VersionId& id : gone) Remove(id);
}

const Registry::Known* Registry::FindKnown(const VersionId& id) const {
  const auto model = models_.find(id.model);
  if (model == models_.end()) return nullptr;
  const auto version = model->second.find(id.version);
  return version == model->second.end() ? nullptr : &version->second;
}

VersionStatus Registry::Snapshot(const Known& known) {
  VersionStatus status = known.status;
  if (status.state == v1::RETIRING) status.model = known.retiring.lock();
  return status;
}

void Registry::Change(const VersionId& id, const std::function<void(Known&)>& change) {
  MutexLock listeners_lock(listeners_mutex_);
  v1::ModelEvent event;
  {
    MutexLock lock(mutex_);
    Known& known = models_[id.model][id.version];
    known.status.id = id;
    change(known);
    *event.mutable_version() = Describe(Snapshot(known), /*with_labels=*/false);
  }
  for (const auto& [number, listener] : listeners_) listener(event);
}

void Registry::Remove(const VersionId& id) {
  MutexLock listeners_lock(listeners_mutex_);
  v1::ModelEvent event;
  event.set_removed(true);
  {
    MutexLock lock(mutex_);
    const auto model = models_.find(id.model);
    if (model == models_.end()) return;
    const auto version = model->second.find(id.version);
    if (version == model->second.end()) return;
    *event.mutable_version() = Describe(version->second.status, /*with_labels=*/false);
    model->second.erase(version);
    if (model->second.empty()) models_.erase(model);
  }
  for (const auto& [number, listener] : listeners_) listener(event);
}

absl::StatusOr<ModelHandle> Registry::Find(std::string_view model, std::optional<int64_t> version) const {
  MutexLock lock(mutex_);
  const auto versions = models_.find(model);
  if (versions != models_.end()) {
    for (auto known = versions->second.rbegin(); known != versions->second.rend(); ++known) {
      if (known->second.status.state != v1::READY) continue;
      if (!version.has_value() || *version == known->first) return known->second.status.model;
    }
  }
  return NotFound(model, version);
}

absl::StatusOr<VersionStatus> Registry::Get(std::string_view model, std::optional<int64_t> version) const {
  MutexLock lock(mutex_);
  const auto versions = models_.find(model);
  if (versions == models_.end()) return NotFound(model, version);
  if (version.has_value()) {
    const auto known = versions->second.find(*version);
    if (known == versions->second.end()) return NotFound(model, version);
    return Snapshot(known->second);
  }
  for (auto known = versions->second.rbegin(); known != versions->second.rend(); ++known) {
    if (known->second.status.state == v1::READY) return known->second.status;
  }
  return Snapshot(versions->second.rbegin()->second);
}

std::vector<VersionStatus> Registry::List() const {
  MutexLock lock(mutex_);
  std::vector<VersionStatus> list;
  for (const auto& [model, versions] : models_) {
    for (const auto& [version, known] : versions) list.push_back(Snapshot(known));
  }
  return list;
}

std::vector<VersionStatus> Registry::Versions(const std::string& model) const {
  std::vector<VersionStatus> list = List();
  std::erase_if(list, [&](const VersionStatus& status) { return status.id.model != model; });
  return list;
}

absl::Status Registry::repository_status() const {
  MutexLock lock(mutex_);
  return repository_status_;
}

uint64_t Registry::Subscribe(Listener listener) {
  MutexLock listeners_lock(listeners_mutex_);
  for (const VersionStatus& status : List()) {
    v1::ModelEvent event;
    *event.mutable_version() = Describe(status, /*with_labels=*/false);
    listener(event);
  }
  listeners_.emplace(next_listener_, std::move(listener));
  return next_listener_++;
}

void Registry::Unsubscribe(uint64_t id) {
  MutexLock listeners_lock(listeners_mutex_);
  listeners_.erase(id);
}

absl::Status Registry::NotFound(std::string_view model, std::optional<int64_t> version) const {
  const auto versions = models_.find(model);
  if (versions == models_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : models_) {
      if (names.size() == kMostListed) {
        names.push_back(absl::StrCat("and ", models_.size() - kMostListed, " more"));
        break;
      }
      names.push_back(Quoted(name));
    }
    return absl::NotFoundError(absl::StrCat(
        "there is no model ", Quoted(model), "; ",
        names.empty() ? "the repository is empty" : absl::StrCat("there is ", absl::StrJoin(names, ", "))));
  }
  std::vector<std::string> states;
  for (const auto& [number, known] : versions->second) {
    if (states.size() == kMostListed) {
      states.push_back(absl::StrCat("and ", versions->second.size() - kMostListed, " more"));
      break;
    }
    states.push_back(absl::StrCat(number, " (", StateName(known.status.state), ")"));
  }
  const std::string list = absl::StrCat("its versions are ", absl::StrJoin(states, ", "));
  if (!version.has_value()) {
    return absl::NotFoundError(absl::StrCat("no version of model ", Quoted(model), " is ready; ", list));
  }
  const bool known = versions->second.contains(*version);
  return absl::NotFoundError(absl::StrCat("model ", Quoted(model), known ? " version " : " has no version ", *version,
                                          known ? " is not ready; " : "; ", list));
}

std::string Registry::ManifestStamp(const VersionId& id) const {
  const std::filesystem::path path = options_.root / id.model / std::to_string(id.version) / "manifest.textproto";
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return "absent";
  const auto time = std::filesystem::last_write_time(path, error);
  return absl::StrCat(size, " ", time.time_since_epoch().count());
}

}  // namespace vitrine
