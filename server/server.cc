// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/join_faults.h"
#include "common/machine/machine.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "server/admin/admin_service.h"
#include "server/admin/canary_watch.h"
#include "server/fronts.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/pages/status_reader.h"
#include "server/pages/version_families.h"
#include "server/process/end_process.h"
#include "server/process/ticker.h"
#include "server/registry/device.h"
#include "server/registry/model_loader.h"
#include "server/registry/registry.h"
#include "server/registry/settings/model_limits.h"
#include "server/resolve.h"
#include "server/serve/execution/executor.h"
#include "server/serve/execution/response.h"
#include "server/serve/request/classify_service.h"
#include "server/serve/request/compute_probe.h"
#include "server/serve/request/drain.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/scheduler.h"
#include "server/trace/tracing.h"
#include "server/wire/http/refusal.h"

namespace vitrine {
namespace {

// Run time of a batch after which the server reports that it is not ready. If half of hung_worker_timeout is shorter
// than this constant, that half is used instead.
constexpr absl::Duration kHungBatch = absl::Minutes(1);
// Interval of compute probes before the server is ready.
constexpr absl::Duration kProbeRetry = absl::Seconds(1);
// Maximum wait of Reread for the registry, which reads the serving configuration.
constexpr absl::Duration kRereadPatience = absl::Seconds(1);
// Time limit for sending the last spans to the collector.
constexpr absl::Duration kSpansGrace = absl::Seconds(1);
constexpr char kStuck[] = "the server's probe image is not answered; an executor or the device hangs";

class RunningServer : public Server {
 public:
  RunningServer(const ServerOptions& options, std::unique_ptr<ServingSettings> settings,
                std::unique_ptr<Tracing> tracing, const Machine& machine, const Clock& clock)
      : options_(options),
        machine_{.cores = machine.cpus, .memory_bytes = machine.memory_bytes},
        clock_(clock),
        metrics_(VITRINE_VERSION, options_.revision),
        settings_(std::move(settings)),
        tracing_(std::move(tracing)),
        loader_(options_.folder(), options_.executor.device,
                {.metrics = &metrics_,
                 .limits = &model_limits_,
                 .cores = [this] { return registry_.CoresPerLoad(); },
                 .precision_of = [this](const VersionId& id) { return settings_->PrecisionOf(id); },
                 .refused_licences = options_.registry.refused_licences}),
        registry_(
            options_.registry,
            {.load = [this](const VersionId& id) { return loader_.Load(id); },
             .bytes_of = [this](const VersionId& id) { return loader_.BytesOf(id); },
             .settings = settings_.get(),
             .limits = &model_limits_,
             .attempted = [this](const VersionId& id, const absl::Status& outcome,
                                 absl::Duration spent) { metrics_.ForModel(id.model)->CountLoad(outcome, spent); }},
            clock),
        health_(registry_, options_.allow_empty),
        canaries_(registry_, *settings_, RerunGoldens, clock),
        admin_(registry_, *settings_, &canaries_),
        admission_(options_.admission, clock),
        scheduler_(options_.batch, clock),
        service_(registry_, admission_, scheduler_, metrics_, clock, options_.request_log,
                 tracing_ == nullptr ? nullptr : &tracing_->tracer()),
        drain_({options_.lame_duck, options_.drain_deadline}, clock),
        probe_(options_.probe, ProbeParts(), clock),
        status_(metrics_,
                {.not_ready = [this] { return WhyNotReady(); },
                 .repository = [this] { return registry_.repository_status(); },
                 .versions = [this] { return registry_.List(); },
                 .version = VITRINE_VERSION,
                 .revision = options_.revision,
                 .compute = ComputeOn(options_.executor.device, ParsePrecision(options_.registry.precision)),
                 .flags = FlagsInForce(options)},
                clock),
        fronts_(options_, {.service = service_,
                           .registry = registry_,
                           .health = health_,
                           .admin = admin_,
                           .metrics = metrics_,
                           .status = status_,
                           .not_ready = [this] { return WhyNotReady(); }}) {
    KeepHistory();
    metrics_.SetSources(MetricSources());
  }

  ~RunningServer() override {
    Hurry();
    Drain();
  }

  // Opens the device, locks the file of the admin state and opens the listeners. Returns an error with every fault.
  absl::Status Open() {
    std::vector<absl::Status> faults = {
        OpenDevice(options_.executor.device, ParsePrecision(options_.registry.precision)), settings_->LockState()};
    fronts_.Open(faults);
    return JoinFaults(faults);
  }

  void Begin() {
    begun_ = true;
    status_.Start();
    auto executors = std::make_unique<ExecutorPool>(
        options_.executor, scheduler_,
        [this](const InferenceRequest& request, InferenceOutput output) {
          auto response = MakeResponse(request, output);
          if (response.ok()) probe_.Succeeded();
          return response;
        },
        clock_, [this](absl::Duration longest) { Watch(longest); });
    {
      MutexLock lock(executors_mutex_);
      executors_ = std::move(executors);
    }
    registry_.Start();
    canaries_.Start(
        [this](const VersionId& id, const std::string& reason) { return admin_.RollBackCanary(id, reason); });
    starter_ = std::thread([this] { AwaitFirstPoll(); });
    const Compute compute = ComputeOn(options_.executor.device, ParsePrecision(options_.registry.precision));
    Log(LogLevel::kInfo, "started",
        {{"repository", options_.repository},
         {"listen", address()},
         {"metrics", metrics_address().empty() ? "off" : metrics_address()},
         {"device", options_.device},
         {"cpu", compute.cpu},
         {"path", compute.path},
         {"precision", compute.precision},
         {"executors", int64_t{options_.executor.ThreadCount()}}});
  }

  const std::string& address() const override { return fronts_.addresses().rpc; }
  const std::string& socket_address() const override { return fronts_.addresses().socket; }
  const std::string& metrics_address() const override { return fronts_.addresses().metrics; }
  const std::string& health_address() const override { return fronts_.addresses().health; }
  const std::string& admin_address() const override { return fronts_.addresses().admin; }
  const std::string& http_address() const override { return fronts_.addresses().http; }

  bool WaitUntilReady(absl::Duration timeout) override {
    const absl::Time end = clock_.Now() + timeout;
    MutexLock lock(mutex_);
    while (phase_ == Phase::kLoading && clock_.Now() < end) changed_.WaitFor(mutex_, end - clock_.Now());
    return phase_ == Phase::kServing;
  }

  std::string WhyNotReady() override { return fronts_.TakeCalls() ? health_.WhyNotServing() : "no calls are accepted"; }

  absl::Status Reread() override {
    // A poll that takes longer, because it also loads models, continues after Reread has returned.
    (void)registry_.Reconcile({}, kRereadPatience);
    return JoinFaults({fronts_.Reread(), settings_->fault()});
  }

  void Hurry() override { drain_.Hurry(); }

  Counts Drain() override {
    if (!StartDraining()) return CountsNow();
    health_.SetNotServing();
    fronts_.StartLeaving();
    if (begun_) {
      const auto refuse = [this] {
        service_.StartDraining();
        fronts_.CloseStreams();
      };
      drain_.Run(service_.ledger(), refuse, [this] {
        return vitrine::Drain::Unanswered{admission_.load().computing > 0, admission_.answers().reserved(),
                                          fronts_.unsent_bytes()};
      });
    }
    probe_.Stop();
    scheduler_.Stop(absl::ZeroDuration());
    TakeExecutors().reset();
    fronts_.EndCalls();
    if (tracing_ != nullptr) tracing_->Stop(kSpansGrace);
    // Loads and destructors must not use a lost device, because its driver may block.
    const auto end_if_lost = [this] {
      if (begun_ && IsLost(options_.executor.device)) EndProcess(kExitDevice, [this] { LogStopped(); });
    };
    end_if_lost();
    // All requests are answered. If a model load still runs, the second tick ends the process, after end_patience.
    const std::unique_ptr<Ticker> end = TryToTick(options_.end_patience, [this, end_if_lost, calls = 0]() mutable {
      end_if_lost();
      if (calls++ > 0) EndProcess(CountsNow().accepted == CountsNow().answered ? 0 : 1, [this] { LogStopped(); });
    });
    if (end == nullptr) Log(LogLevel::kWarning, "no thread can end a shutdown that waits for a load");
    registry_.Stop();
    // registry_.Stop has ended the admin calls that waited for a model load, so EndAdmin does not wait for a load.
    fronts_.EndAdmin();
    canaries_.Stop();
    if (starter_.joinable()) starter_.join();
    fronts_.EndMetrics();
    status_.Stop();
    end_if_lost();  // the device may have been lost during a load
    return LogStopped();
  }

 private:
  // Returns the sources of the gauges. The first scrape may come before executors and listeners exist.
  Metrics::Sources MetricSources() {
    return {.versions = [this](MetricFamilies& families) { AddVersionFamilies(families, registry_.List()); },
            .queue = [this] { return scheduler_.depth(); },
            .admission = [this] { return admission_.load(); },
            .answers =
                [this] {
                  return AnswerStatus{admission_.answers().reserved(), admission_.answers().limit()};
                },
            .received = [this] { return fronts_.received(); },
            .unsent_bytes = [this] { return fronts_.unsent_bytes(); },
            .executors =
                [this] {
                  MutexLock lock(executors_mutex_);
                  return executors_ != nullptr ? executors_->Status() : std::vector<ExecutorStatus>();
                },
            .lanes_busy_ratio = [this] { return status_.ExecutorsBusyRatio(); },
            .machine = [this] { return machine_; },
            .ready = [this] { return WhyNotReady().empty(); },
            .repository_readable = [this] { return registry_.repository_status().ok(); },
            .connections = [this] { return fronts_.open_connections(); },
            .open_streams = [this] { return fronts_.open_streams(); },
            .rejected_settings = [this] { return fronts_.RejectedSettings(settings_->fault()); },
            .certificates = [this] { return fronts_.Certificates(); },
            .repository_refreshed = RefreshSource(options_.remote.cache, options_.repository),
            .log_lines = [] { return History().Counts(); },
            .spans = SpanSource(tracing_.get()),
            .device = StatusSource(options_.executor.device)};
  }

  ComputeProbe::Parts ProbeParts() {
    return {
        .models = [this] { return registry_.ReadyModels(); },
        .submit = [this](InferenceRequest request) { scheduler_.Submit(std::move(request)); },
        .report =
            [this](const ComputeFindings& found) {
              health_.SetFailing(found.failing);
              health_.SetBroken(found.stuck ? kStuck : "");
            },
        .fatal = LossSource(options_.executor.device),
        .end =
            [] { EndProcess(kExitDevice, [] { spdlog::critical("probe: the device is lost; the process ends"); }); }};
  }

  std::unique_ptr<ExecutorPool> TakeExecutors() {
    MutexLock lock(executors_mutex_);
    return std::move(executors_);
  }

  enum class Phase { kLoading, kServing, kDraining };

  void AwaitFirstPoll() {
    while (!registry_.WaitForFirstPoll(absl::Milliseconds(50))) {
      MutexLock lock(mutex_);
      if (phase_ == Phase::kDraining) return;
    }
    // Waits until a model has computed, or until there is no model. Each model's goldens were run when it was loaded.
    while (!probe_.TryUntilOneComputes().ok()) {
      MutexLock lock(mutex_);
      if (phase_ == Phase::kDraining) return;
      changed_.WaitFor(mutex_, kProbeRetry);
    }
    {
      MutexLock lock(mutex_);
      if (phase_ == Phase::kDraining) return;
      phase_ = Phase::kServing;
      health_.SetServing();
      probe_.Start();
      changed_.NotifyAll();
    }
    LogReady();
  }

  // Waits until the server is ready, then logs "ready". The first requests may be answered before this line is logged.
  void LogReady() {
    if (const std::string why = WhyNotReady(); !why.empty()) Log(LogLevel::kWarning, "not ready", {{"reason", why}});
    while (!WhyNotReady().empty()) {
      MutexLock lock(mutex_);
      if (phase_ == Phase::kDraining) return;
      changed_.WaitFor(mutex_, kProbeRetry);
    }
    const std::vector<VersionStatus> versions = registry_.List();
    const int64_t ready = std::ranges::count(versions, v1::READY, &VersionStatus::state);
    Log(LogLevel::kInfo, "ready", {{"versions", ready}, {"refused", std::ssize(versions) - ready}});
  }

  // Runs on the watchdog's thread, which also runs while the server drains. A hung thread cannot be ended, and its
  // requests cannot be answered. So the process ends; otherwise the requests would wait forever.
  void Watch(absl::Duration longest) {
    if (longest > options_.hung_worker_timeout) {
      EndProcess(kExitHung, [&] {
        const Counts counts = CountsNow();
        spdlog::critical(
            "hung: a batch has been running for {}, longer than --hung-worker-timeout; accepted={} answered={}",
            absl::FormatDuration(longest), counts.accepted, counts.answered);
      });
    }
    const bool is_long = longest > std::min(kHungBatch, options_.hung_worker_timeout / 2);
    if (std::exchange(said_hung_, is_long) == is_long) return;
    health_.SetHung(is_long ? "a batch has been running for too long; an executor hangs" : "");
  }

  // Returns false if StartDraining was called before.
  bool StartDraining() {
    MutexLock lock(mutex_);
    if (phase_ == Phase::kDraining) return false;
    phase_ = Phase::kDraining;
    changed_.NotifyAll();
    return true;
  }

  Counts LogStopped() {
    const Counts counts = CountsNow();
    registry_.LogLoading();
    if (begun_) Log(LogLevel::kInfo, "stopped", {{"accepted", counts.accepted}, {"answered", counts.answered}});
    return counts;
  }

  Counts CountsNow() { return {service_.ledger().accepted(), service_.ledger().answered()}; }

  const ServerOptions options_;
  const MachineLimits machine_;
  const Clock& clock_;
  Metrics metrics_;
  const std::unique_ptr<ServingSettings> settings_;
  const std::unique_ptr<Tracing> tracing_;  // null if tracing is off
  ModelLimitsTable model_limits_{options_.batch.Limits(), BatchLimitsOf(options_.executor.device)};
  ModelLoader loader_;
  Registry registry_;
  Health health_;
  CanaryWatch canaries_;
  AdminService admin_;
  Admission admission_;
  Scheduler scheduler_;
  ClassifyService service_;
  vitrine::Drain drain_;
  ComputeProbe probe_;
  StatusReader status_;
  Fronts fronts_;
  bool begun_ = false;
  std::thread starter_;
  bool said_hung_ = false;  // used only by the watchdog's thread

  Mutex executors_mutex_;  // guards the pool of executors, which exists from Begin to Drain
  std::unique_ptr<ExecutorPool> executors_ ABSL_GUARDED_BY(executors_mutex_);

  Mutex mutex_;
  CondVar changed_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kLoading;
};

// Returns a server with its device and listeners open. Begin starts the executors and model loads.
absl::StatusOr<std::unique_ptr<RunningServer>> OpenServer(ServerOptions options) {
  RETURN_IF_ERROR(options.Validate());
  const Machine machine = FindMachine();
  ASSIGN_OR_RETURN(const Device device, ParseDevice(options.device));
  ASSIGN_OR_RETURN(std::unique_ptr<ServingSettings> settings, ServingSettings::Open(options.registry.Serving()));
  ASSIGN_OR_RETURN(std::unique_ptr<Tracing> tracing,
                   Tracing::Open(options.tracing, SteadyClock(), HttpCode, VITRINE_VERSION));
  options = Resolve(std::move(options), device, machine);
  Log(LogLevel::kInfo, "machine", DescribeMachine(machine, options));
  auto server =
      std::make_unique<RunningServer>(options, std::move(settings), std::move(tracing), machine, SteadyClock());
  RETURN_IF_ERROR(server->Open());
  return server;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<RunningServer> server, OpenServer(std::move(options)));
  server->Begin();
  return server;
}

absl::Status Server::Check(ServerOptions options) {
  const absl::Status files = CheckFiles(options), repository = CheckRepository(options);
  return JoinFaults({files, OpenServer(WithoutNewFiles(std::move(options))).status(), repository});
}

}  // namespace vitrine
