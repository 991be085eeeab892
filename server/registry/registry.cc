// SPDX-License-Identifier: Apache-2.0
#include "server/registry/registry.h"

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/repository/wrong_folder.h"
#include "server/observe/log.h"
#include "server/process/crash_stack.h"
#include "server/process/text_file.h"
#include "server/registry/absent_versions.h"
#include "server/registry/canary_guard.h"
#include "server/registry/settings/refused_licences.h"
#include "server/registry/settings/serving_rules.h"

namespace vitrine {
namespace {

// Niceness that is added to the polling thread. On a busy core it then gets about a tenth of a serving thread's time.
constexpr int kLoaderNiceness = 10;

}  // namespace

absl::Status RegistryOptions::Validate() const {
  if (precision != "auto" && !ParsePrecision(precision)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--precision is \"", precision, "\"; it must be auto, fp32, bf16 or int8"));
  }
  if (const absl::Status valid = ValidateRefusedLicences(refused_licences); !valid.ok()) return valid;
  return ServingSettings::Open(Serving()).status();
}

ServingSettings::Options RegistryOptions::Serving() const {
  ServingSettings::Options settings{.serving_config = serving_config, .admin_state = admin_state, .default_policy = {}};
  settings.default_policy.set_latest(keep_versions);
  settings.precision = ParsePrecision(precision);
  return settings;
}

Registry::Registry(RegistryOptions options, Parts parts, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      own_settings_(parts.settings == nullptr ? *ServingSettings::Open(options_.Serving()) : nullptr),
      parts_(std::move(parts)),
      settings_(parts_.settings == nullptr ? *own_settings_ : *parts_.settings),
      watch_(options_.root, {settings_.options().serving_config}) {}

Registry::~Registry() {
  Stop();
}

void Registry::Start() {
  MutexLock lock(mutex_);
  if (!stopping() && !thread_.joinable()) thread_ = std::thread([this] { Follow(); });
}

void Registry::Follow() {
  const CrashHandlerStack crash_stack;
  pthread_setname_np(pthread_self(), "registry");
  // On Linux, setpriority sets only the calling thread's niceness.
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kLoaderNiceness);
  while (!stopping()) {
    uint64_t asked = 0;
    {
      MutexLock lock(mutex_);
      asked = asked_;
    }
    watch_.Refresh();
    Poll();
    {
      MutexLock lock(mutex_);
      // A poll that Stop interrupted does not count as done.
      if (!stopping()) done_ = asked;
      looked_.NotifyAll();
    }
    if (!stopping()) watch_.Wait(options_.poll_interval);
  }
}

void Registry::Stop() {
  stop_.store(true, std::memory_order_release);
  watch_.Wake();
  std::thread thread;
  {
    MutexLock lock(mutex_);
    thread = std::move(thread_);
    looked_.NotifyAll();  // wakes threads that wait for a poll that will not happen
  }
  if (thread.joinable()) thread.join();
}

bool Registry::WaitForFirstPoll(absl::Duration timeout) {
  const absl::Time end = SteadyClock().Now() + timeout;
  MutexLock lock(mutex_);
  while (!first_poll_done_ && SteadyClock().Now() < end) looked_.WaitFor(mutex_, end - SteadyClock().Now());
  return first_poll_done_;
}

absl::Status Registry::Reconcile(const std::vector<VersionId>& retry, absl::Duration patience) {
  for (const VersionId& id : retry) {
    const absl::StatusOr<VersionStatus> known = Get(id.model, id.version);
    if (!known.ok() || known->state != v1::FAILED) continue;
    table_.Change(id, [](KnownVersion& version) { version.retry_at = absl::InfinitePast(); });
  }
  const absl::Status ending = absl::UnavailableError("the server is ending; retry, or use another replica");
  if (stopping()) return ending;
  bool follows = false;
  {
    MutexLock lock(mutex_);
    follows = thread_.joinable();
  }
  if (!follows) {
    Poll();
    return stopping() ? ending : absl::OkStatus();
  }
  MutexLock lock(mutex_);
  const uint64_t mine = ++asked_;
  watch_.Wake();
  const absl::Time end = SteadyClock().Now() + patience;
  while (done_ < mine && !stopping() && SteadyClock().Now() < end) {
    looked_.WaitFor(mutex_, end - SteadyClock().Now());
  }
  if (done_ >= mine) return absl::OkStatus();
  if (stopping()) return ending;
  return absl::DeadlineExceededError("loading the models took too long");
}

void Registry::Poll() {
  MutexLock poll_lock(poll_mutex_);
  reclaimer_.Reclaim();
  ReapRetired();
  settings_.Reload();
  const absl::StatusOr<Listing> listed = ListRepository(options_.root);
  std::map<std::string, std::set<int64_t>> present;
  // Known models are polled even if their folder is gone.
  for (const std::string& model : table_.Models()) present[model];
  if (listed.ok()) {
    for (const VersionId& id : listed->versions) present[id.model].insert(id.version);
    {
      MutexLock lock(mutex_);
      on_disk_ = listed->versions;
    }
    TellUnreadable(listed->unreadable);
    PrintLinks(listed->links);
    if (listed->unreadable.empty()) absent_told_ = LogAbsentVersions(settings_, present, absent_told_);
  }
  RetryChanged();
  std::vector<ModelLook> loads;
  for (const auto& [model, versions] : present) {
    const ModelLook look = {model, listed.ok() && !listed->unreadable.contains(model) ? &versions : nullptr};
    if (NeedsLoad(model, look.present)) {
      loads.push_back(look);
    } else {
      PollModel(model, look.present);
    }
  }
  PollSideBySide(loads);
  TellRepositoryStatus(listed);
}

// Lists unreadable models as FAILED, so that their clients see the reason.
void Registry::TellUnreadable(const std::map<std::string, absl::Status>& models) {
  for (const auto& [model, why] : models) {
    const VersionId whole = {model, kWholeModel};
    const std::string reason(why.message());
    if (const absl::StatusOr<VersionStatus> known = Get(model, kWholeModel); known.ok() && known->reason == reason) {
      continue;
    }
    table_.Change(whole, [&](KnownVersion& version) { version.status = {whole, v1::FAILED, reason, nullptr, {}, 0}; });
  }
}

// Calls SetComplete after the first read. Until then any model may exist, so clients get UNAVAILABLE instead of
// NOT_FOUND.
void Registry::TellRepositoryStatus(const absl::StatusOr<Listing>& listed) {
  if (!stopping() && listed.ok()) table_.SetComplete();
  const absl::Status status = listed.ok() ? listed->status() : listed.status();
  const bool empty = listed.ok() && status.ok() && listed->versions.empty();
  // The folder of a wrong --repository may be large, so ExplainNoVersions searches it only after it has changed.
  const std::string stamp = empty ? FileStamp(options_.root) : "";
  const bool changed = std::exchange(empty_stamp_, stamp) != stamp;
  const std::string why_empty = changed && empty ? ExplainNoVersions(options_.root) : "";
  MutexLock lock(mutex_);
  if (status != repository_status_) {
    if (status.ok()) {
      Log(LogLevel::kInfo, "repository can be read again", {{"repository", options_.root.string()}});
    } else {
      Log(LogLevel::kWarning, "repository not readable, loaded versions continue to serve",
          {{"fault", std::string(status.message())}});
    }
    repository_status_ = status;
  }
  if (changed) why_empty_ = why_empty;
  if (listed.ok()) first_poll_done_ = true;
  looked_.NotifyAll();
}

void Registry::PollModel(const std::string& model, const std::set<int64_t>* present) {
  if (present != nullptr) {
    ForgetFailed(model, *present);
    ReloadReplaced(model, *present);
  }
  // A poll tries to load each version only once, because repeated failures must not delay the other models.
  std::set<int64_t> tried;
  for (;;) {
    if (stopping()) return;
    ModelPlan plan;
    std::optional<int64_t> load;
    {
      // The plan is read again after each load, because the settings may have changed during the load.
      MutexLock lock(plan_mutex_);
      plan = TakePlan(model);
      const VersionStep step = NextStep(Facts(model, present, tried), plan);
      for (const int64_t version : step.retire) Retire({model, version}, plan);
      load = step.load;
    }
    if (!load.has_value()) return;
    tried.insert(*load);
    Bring({model, *load}, plan);
  }
}

void Registry::Divide(const std::string& model) {
  MutexLock lock(plan_mutex_);
  TakePlan(model);
}

ModelPlan Registry::TakePlan(const std::string& model) {
  ModelPlan plan = settings_.Plan(model);
  // The table tells callers how to load a version that was put away (rolled back or unloaded). Deleted versions are
  // left out, because they cannot be loaded.
  ModelPlan explained = plan;
  for (const v1::PutAway& away : plan.changed.put_away()) {
    const VersionId id = {model, away.version()};
    if (!IsOnDisk(id) && !Get(model, id.version).ok()) ReadmitVersion(explained.changed, id.version);
  }
  table_.SetPlan(model, explained, IsOnDisk({model, LabelledVersion(plan.serving, kStableLabel)}));
  if (parts_.limits != nullptr) parts_.limits->Set(model, plan.serving);
  return plan;
}

void Registry::ForgetFailed(const std::string& model, const std::set<int64_t>& present) {
  for (const VersionStatus& known : List(model)) {
    if (known.state == v1::FAILED && !present.contains(known.id.version)) table_.Remove(known.id);
  }
}

std::vector<VersionFacts> Registry::Facts(const std::string& model, const std::set<int64_t>* present,
                                          const std::set<int64_t>& tried) const {
  std::map<int64_t, VersionFacts> facts;
  const std::map<int64_t, std::string> waiting = table_.Waiting(model);
  if (present != nullptr) {
    for (const int64_t version : *present) facts[version] = {.version = version};
  }
  for (const KnownVersion& known : table_.Known(model)) {
    const VersionId& id = known.status.id;
    if (id.version == kWholeModel) continue;
    VersionFacts& fact = facts[id.version];
    fact.version = id.version;
    fact.on_disk = present != nullptr && present->contains(id.version);
    if (known.status.state == v1::READY) fact.state = VersionFacts::State::kReady;
    fact.is_waiting = waiting.contains(id.version);
    if (known.status.state == v1::RETIRING) {
      fact.state = VersionFacts::State::kRetiring;
      // A version that a request still uses can be restored without reading the disk.
      fact.on_disk = fact.on_disk || !known.retiring.expired();
    }
    if (known.status.state != v1::FAILED) continue;
    const bool due = clock_.Now() >= known.retry_at || ManifestStamp(id) != known.stamp;
    if (!due || tried.contains(id.version)) fact.state = VersionFacts::State::kFailed;
  }
  std::vector<VersionFacts> list;
  for (const auto& [version, fact] : facts) list.push_back(fact);
  return list;
}

bool Registry::NeedsLoad(const std::string& model, const std::set<int64_t>* present) const {
  if (NextStep(Facts(model, present, /*tried=*/{}), settings_.Plan(model)).load.has_value()) return true;
  const std::vector<KnownVersion> known = table_.Known(model);
  return present != nullptr && std::any_of(known.begin(), known.end(),
                                           [&](const KnownVersion& version) { return IsReplaced(version, *present); });
}

std::optional<int64_t> Registry::NextLoad(const std::string& model, const ModelPlan& plan) const {
  std::set<int64_t> present;
  for (const VersionId& id : OnDisk()) {
    if (id.model == model) present.insert(id.version);
  }
  return NextStep(Facts(model, &present, /*tried=*/{}), plan).load;
}

void Registry::Retire(const VersionId& id, const ModelPlan& plan) {
  std::string reason = plan.changed.unloaded() ? "the model was unloaded" : "";
  for (const v1::PutAway& away : plan.changed.put_away()) {
    if (away.version() == id.version) reason = away.reason();
  }
  Log(LogLevel::kInfo, "version retires", {{"model", id.model}, {"version", id.version}, {"reason", reason}});
  if (IsPutAway(plan.changed, id.version)) reason = ReasonForCallers(reason);
  // `held` is declared before the call of Change, so that the model is freed after Change has released its lock.
  const absl::StatusOr<ModelHandle> held = Find(id.model, id.version);
  table_.Change(id, [&](KnownVersion& known) {
    known.status.state = v1::RETIRING;
    known.status.reason = reason;
    known.retiring = known.status.model;
    known.status.model = nullptr;
  });
}

void Registry::ReapRetired() {
  for (const VersionStatus& status : List()) {
    // List sets `model` if a request still has a handle of the version.
    if (status.state == v1::RETIRING && status.model == nullptr) table_.Remove(status.id);
  }
}

absl::Status Registry::repository_status() const {
  MutexLock lock(mutex_);
  return repository_status_;
}

std::string Registry::WhyEmpty() const {
  MutexLock lock(mutex_);
  return why_empty_;
}

std::vector<ModelHandle> Registry::ReadyModels() const {
  std::vector<ModelHandle> ready;
  for (VersionStatus& version : List()) {
    if (version.state == v1::READY && version.model != nullptr) ready.push_back(std::move(version.model));
  }
  return ready;
}

int Registry::CoresPerLoad() const {
  {
    MutexLock lock(mutex_);
    if (first_poll_done_) return 1;
  }
  return std::max(1, options_.loads_at_once / std::max(1, claims_.count()));
}

std::vector<VersionId> Registry::OnDisk() const {
  MutexLock lock(mutex_);
  return on_disk_;
}

bool Registry::IsOnDisk(const VersionId& id) const {
  MutexLock lock(mutex_);
  return std::binary_search(on_disk_.begin(), on_disk_.end(), id);
}

}  // namespace vitrine
