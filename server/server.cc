#include "server/server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "server/admission.h"
#include "server/classify_service.h"
#include "server/device.h"
#include "server/executor.h"
#include "server/http_endpoint.h"
#include "server/metrics.h"
#include "server/model_loader.h"
#include "server/mutex.h"
#include "server/registry.h"
#include "server/response.h"
#include "server/rpc_front.h"
#include "server/scheduler.h"

namespace vitrine {
namespace {

// A batch that takes longer than this, or half of hung_worker_timeout, makes the server say that it is not ready.
constexpr absl::Duration kHungBatch = absl::Minutes(1);
// Of a process that ends because an executor does not come back.
constexpr int kExitHung = 3;
// How often draining looks at its condition.
constexpr absl::Duration kDrainStep = absl::Milliseconds(2);
// Draining ends when nothing new came for this long, so that callers who have not heard yet read "draining" and not a
// broken connection; it waits for such silence no longer than the second duration.
constexpr absl::Duration kQuiet = absl::Milliseconds(250);
constexpr absl::Duration kMaxQuietWait = absl::Seconds(2);
// Once nothing is left to compute, answers that no client has taken for this long are given up.
constexpr absl::Duration kUnreadGrace = absl::Seconds(2);
constexpr absl::Duration kHurriedDeadline = absl::Seconds(1);
constexpr absl::Duration kShutdownGrace = absl::Seconds(1);

absl::Status Join(const std::vector<absl::Status>& statuses) {
  std::vector<std::string> faults;
  absl::StatusCode code = absl::StatusCode::kOk;
  for (const absl::Status& status : statuses) {
    if (status.ok()) continue;
    if (faults.empty()) code = status.code();
    faults.emplace_back(status.message());
  }
  return absl::Status(code, absl::StrJoin(faults, "\n"));
}

ServerOptions Resolve(ServerOptions options, const Device& device) {
  options.executor.device = device;
  options.admission.executors = options.executor.ThreadCount();
  options.registry.root = options.repository;
  return options;
}

class RunningServer : public Server {
 public:
  RunningServer(const ServerOptions& options, const Device& device, const Clock& clock)
      : options_(Resolve(options, device)),
        clock_(clock),
        metrics_(options_.executor.ThreadCount(), VITRINE_VERSION),
        loader_(options_.repository, device, &metrics_),
        registry_(
            options_.registry, [this](const VersionId& id) { return loader_.Load(id); }, clock),
        admission_(options_.admission, clock),
        scheduler_(options_.batch, clock),
        service_(registry_, admission_, scheduler_, metrics_, clock) {
    metrics_.SetSources({.versions = [this] { return registry_.List(); },
                         .queue_depth = [this] { return scheduler_.depth().requests; },
                         .queue_bytes = [this] { return scheduler_.depth().bytes; },
                         .in_flight = [this] { return admission_.load().requests; }});
  }

  ~RunningServer() override {
    Hurry();
    Drain();
  }

  absl::Status Open() {
    std::vector<absl::Status> faults = {OpenDevice(options_.executor.device)};
    absl::StatusOr<std::unique_ptr<RpcFront>> rpc = RpcFront::Start(options_.rpc, service_, registry_);
    faults.push_back(rpc.status());
    if (rpc.ok()) rpc_ = *std::move(rpc);
    if (!options_.metrics.empty()) {
      absl::StatusOr<std::unique_ptr<HttpEndpoint>> http = HttpEndpoint::Start(
          options_.metrics, {.metrics = &metrics_, .not_ready = [this] {
                               return rpc_ == nullptr ? "no calls are taken" : rpc_->health().WhyNotServing();
                             }});
      faults.push_back(http.status());
      if (http.ok()) http_ = *std::move(http);
    }
    if (http_ != nullptr) metrics_address_ = http_->address();
    if (rpc_ != nullptr) address_ = rpc_->address();
    return Join(faults);
  }

  void Begin() {
    executors_.emplace(
        options_.executor, scheduler_,
        [](const InferenceRequest& request, InferenceOutput output) { return MakeResponse(request, output); }, clock_,
        [this](absl::Duration longest) { Watch(longest); });
    registry_.Start();
    starter_ = std::thread([this] { AwaitFirstPoll(); });
    spdlog::info("started repository={} listen={} metrics={} device={} executors={}", options_.repository, address_,
                 metrics_address_.empty() ? "off" : metrics_address_, options_.device, executors_->threads());
  }

  const std::string& address() const override { return address_; }
  const std::string& metrics_address() const override { return metrics_address_; }

  bool WaitUntilReady(absl::Duration timeout) override {
    const absl::Time end = clock_.Now() + timeout;
    MutexLock lock(mutex_);
    while (phase_ == Phase::kLoading && clock_.Now() < end) changed_.WaitFor(mutex_, end - clock_.Now());
    return phase_ == Phase::kServing;
  }

  void Hurry() override {
    MutexLock lock(mutex_);
    hurried_ = true;
    changed_.NotifyAll();
  }

  Counts Drain() override {
    if (!StartDraining()) return CountsNow();
    if (rpc_ != nullptr) {
      rpc_->health().SetNotServing();
      if (executors_.has_value()) FinishRequests();
    }
    scheduler_.Stop(absl::ZeroDuration());
    executors_.reset();
    if (rpc_ != nullptr) rpc_->Shutdown(kShutdownGrace);
    registry_.Stop();
    if (starter_.joinable()) starter_.join();
    http_.reset();
    const Counts counts = CountsNow();
    if (rpc_ != nullptr) spdlog::info("stopped accepted={} answered={}", counts.accepted, counts.answered);
    return counts;
  }

 private:
  enum class Phase { kLoading, kServing, kDraining };

  void AwaitFirstPoll() {
    while (!registry_.WaitForFirstPoll(absl::Milliseconds(50))) {
      MutexLock lock(mutex_);
      if (phase_ == Phase::kDraining) return;
    }
    MutexLock lock(mutex_);
    if (phase_ == Phase::kDraining) return;
    phase_ = Phase::kServing;
    rpc_->health().SetServing();
    changed_.NotifyAll();
    const std::vector<VersionStatus> versions = registry_.List();
    const auto ready = std::count_if(versions.begin(), versions.end(),
                                     [](const VersionStatus& version) { return version.state == v1::READY; });
    spdlog::info("ready versions={} refused={}", ready, versions.size() - ready);
  }

  // On the watchdog's thread, which goes on while draining. Nothing can end a thread that does not come back, and its
  // requests cannot be answered: without it the process would hold them and its core for ever.
  void Watch(absl::Duration longest) {
    if (longest > options_.hung_worker_timeout) {
      const Counts counts = CountsNow();
      spdlog::critical(
          "hung: a batch has been running for {}, longer than --hung-worker-timeout; accepted={} answered={}",
          absl::FormatDuration(longest), counts.accepted, counts.answered);
      spdlog::default_logger()->flush();
      std::_Exit(kExitHung);
    }
    const bool is_long = longest > std::min(kHungBatch, options_.hung_worker_timeout / 2);
    if (std::exchange(said_hung_, is_long) == is_long) return;
    rpc_->health().SetHung(is_long ? "a batch has been running for too long; an executor hangs" : "");
  }

  // False if it was called before.
  bool StartDraining() {
    MutexLock lock(mutex_);
    if (phase_ == Phase::kDraining) return false;
    phase_ = Phase::kDraining;
    changed_.NotifyAll();
    return true;
  }

  // Waits until `done`, at most until `longest` has passed, or a second once hurried.
  void WaitFor(absl::Duration longest, absl::Duration hurried, const std::function<bool()>& done) {
    const absl::Time start = clock_.Now();
    while (!done()) {
      MutexLock lock(mutex_);
      if (clock_.Now() - start >= (hurried_ ? std::min(hurried, longest) : longest)) return;
      changed_.WaitFor(mutex_, kDrainStep);
    }
  }

  // Until every answer is out. A client that does not read cannot hold this up: see kUnreadGrace.
  void FinishAnswers(const Ledger& ledger) {
    int64_t taken = ledger.answered();
    absl::Time moved = clock_.Now();
    WaitFor(options_.drain_deadline, kHurriedDeadline, [&] {
      const absl::Time now = clock_.Now();
      const bool computing = admission_.load().requests > 0;
      if (taken != std::exchange(taken, ledger.answered()) || computing) moved = now;
      if (ledger.in_flight() == 0) return true;
      if (now - moved < kUnreadGrace) return false;
      spdlog::warn("draining: {} answers are not read by their clients and are given up", ledger.in_flight());
      return true;
    });
  }

  void FinishRequests() {
    Ledger& ledger = service_.ledger();
    spdlog::info("draining in_flight={} lame_duck={}", ledger.in_flight(), absl::FormatDuration(options_.lame_duck));
    WaitFor(options_.lame_duck, absl::ZeroDuration(), [] { return false; });
    service_.StartDraining();
    FinishAnswers(ledger);
    int64_t seen = ledger.accepted();
    absl::Time quiet_since = clock_.Now();
    WaitFor(kMaxQuietWait, absl::ZeroDuration(), [&] {
      const absl::Time now = clock_.Now();
      if (ledger.accepted() != std::exchange(seen, ledger.accepted())) quiet_since = now;
      return now - quiet_since >= kQuiet;
    });
  }

  Counts CountsNow() { return {service_.ledger().accepted(), service_.ledger().answered()}; }

  const ServerOptions options_;
  const Clock& clock_;
  Metrics metrics_;
  ModelLoader loader_;
  Registry registry_;
  Admission admission_;
  Scheduler scheduler_;
  ClassifyService service_;
  std::string address_;          // constant after Open
  std::string metrics_address_;  // constant after Open
  std::optional<ExecutorPool> executors_;
  std::unique_ptr<RpcFront> rpc_;
  std::unique_ptr<HttpEndpoint> http_;
  std::thread starter_;
  bool said_hung_ = false;  // touched by the watchdog's thread alone

  Mutex mutex_;
  CondVar changed_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kLoading;
  bool hurried_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  RETURN_IF_ERROR(options.Validate());
  ASSIGN_OR_RETURN(const Device device, ParseDevice(options.device));
  auto server = std::make_unique<RunningServer>(options, device, SteadyClock());
  RETURN_IF_ERROR(server->Open());
  server->Begin();
  return server;
}

}  // namespace vitrine
