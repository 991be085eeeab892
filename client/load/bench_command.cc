// SPDX-License-Identifier: Apache-2.0
#include "client/load/bench_command.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/commands/output/text.h"
#include "client/lib/status.h"
#include "client/load/connections.h"
#include "client/load/load_gates.h"
#include "client/load/report/load_output.h"
#include "client/load/stability.h"
#include "client/load/workload/trace_file.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr double kLowestRate = 10;  // requests per second; first rate of a search
constexpr double kHighestSwept = 1e6;
constexpr size_t kMostProbes = 16;
constexpr absl::Duration kProbeDeadline = absl::Seconds(30);
constexpr absl::Duration kLongestPatience = absl::Minutes(2);
constexpr absl::Duration kGrace = absl::Seconds(2);
constexpr absl::Duration kShortestTrace = absl::Seconds(1);
constexpr double kPlainSeconds = 15;  // progress interval without a terminal, longer than a default run

// Returns true if every request would fail with the error of the probe. Returns false for an error caused by overload,
// because an overloaded server can be measured.
bool IsFatal(const absl::Status& status) {
  if (status.ok() || absl::IsDeadlineExceeded(status)) return false;
  return !absl::IsResourceExhausted(status) || !ServerRetryDelay(status).has_value();
}

// Settings and state of one run.
class Bench {
 public:
  Bench(const BenchCommand& command, std::ostream& errors, bool live, const std::function<bool()>& stopped)
      : command_(command), errors_(errors), live_(live) {
    hooks_.stopped = stopped;
    hooks_.progress = [this](const LoadProgress& progress) { Show(progress); };
  }

  absl::Status Prepare() {
    ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Connect());
    RequestClass defaults = command_.request;
    defaults.deadline = command_.client.deadline;
    if (command_.trace.empty()) {
      RETURN_IF_ERROR(PrepareClasses(defaults, *client));
    } else {
      RETURN_IF_ERROR(PrepareFromTrace(defaults, *client));
    }
    if (!workload_.passed_over.empty()) {
      errors_ << "vitrine: skipped: " << Printable(workload_.passed_over) << std::endl;
    }
    RETURN_IF_ERROR(Probe(*client));
    ASSIGN_OR_RETURN(connections_, OpenConnections(command_.client, command_.connections));
    Describe();
    return absl::OkStatus();
  }

  LoadReport Run() {
    if (command_.find_max) {
      Search();
    } else if (command_.sweep.has_value()) {
      Sweep();
    } else {
      Measure(command_.rate.value_or(0));
    }
    NameRefused();
    return std::move(report_);
  }

 private:
  absl::StatusOr<std::unique_ptr<Client>> Connect() const {
    ClientOptions options = command_.client;
    options.deadline = kProbeDeadline;
    options.retry.max_attempts = 1;
    return Client::Connect(options);
  }

  absl::Status PrepareClasses(const RequestClass& defaults, Client& client) {
    std::vector<RequestClass> classes;
    for (const std::string& text : command_.mix) {
      ASSIGN_OR_RETURN(std::vector<RequestClass> more, ParseMix(text, defaults));
      std::move(more.begin(), more.end(), std::back_inserter(classes));
    }
    if (classes.empty()) classes.push_back(defaults);
    RETURN_IF_ERROR(NameModels(client, classes));
    ASSIGN_OR_RETURN(workload_, PrepareWorkload(std::move(classes), command_.workload));
    return absl::OkStatus();
  }

  absl::Status PrepareFromTrace(const RequestClass& defaults, Client& client) {
    ASSIGN_OR_RETURN(trace_, ReadTrace(command_.trace, defaults));
    RETURN_IF_ERROR(NameModels(client, trace_.classes));
    if (command_.warm_up.value_or(absl::ZeroDuration()) >= TraceLength()) {
      return absl::InvalidArgumentError(absl::StrCat("--warmup ", absl::FormatDuration(*command_.warm_up),
                                                     " leaves no measurement of a trace of ",
                                                     absl::FormatDuration(TraceLength())));
    }
    ASSIGN_OR_RETURN(workload_, PrepareTrace(trace_, command_.workload));
    return absl::OkStatus();
  }

  // Assigns the only model that is ready to each request class without a model.
  static absl::Status NameModels(Client& client, std::vector<RequestClass>& classes) {
    std::string only;
    for (RequestClass& one : classes) {
      if (!one.model.name.empty()) continue;
      if (only.empty()) {
        ASSIGN_OR_RETURN(const v1::ModelVersion model, ChooseModel(client, {}));
        only = model.model();
      }
      one.model.name = only;
    }
    return absl::OkStatus();
  }

  // Sends one request of each request class, up to kMostProbes requests, so that a wrong model or image causes one
  // error instead of a million failures.
  absl::Status Probe(Client& client) const {
    std::set<std::string> asked;
    for (const Workload::Request& one : workload_.requests) {
      const RequestClass& request_class = workload_.classes[one.request_class];
      if (hooks_.stopped()) return absl::CancelledError("interrupted before the load began");
      if (asked.size() >= kMostProbes || !asked.insert(request_class.Description()).second) continue;
      v1::ClassifyRequest request;
      request.ParseFromString(one.bytes);
      const absl::Status status = client.Classify(request).status();
      if (!IsFatal(status)) continue;
      const std::string image = one.image.empty() ? "" : absl::StrCat(", ", Printable(one.image));
      return absl::Status(status.code(), absl::StrCat("the first request (", request_class.Description(), image,
                                                      ") was refused: ", status.message()));
    }
    return absl::OkStatus();
  }

  // Returns the time of the last request plus the mean gap between requests; at least kShortestTrace.
  absl::Duration TraceLength() const {
    const int64_t last = trace_.arrivals.back().due;
    const auto gaps = static_cast<int64_t>(std::max<size_t>(2, trace_.arrivals.size()) - 1);
    return std::max(kShortestTrace, absl::Nanoseconds(last + last / gaps + 1));
  }

  LoadSettings SettingsFor(double rate) const {
    LoadSettings settings = command_.load;
    const bool counted = settings.max_requests > 0;
    settings.duration = command_.duration.value_or(counted ? absl::InfiniteDuration() : settings.duration);
    settings.warm_up = command_.warm_up.value_or(settings.warm_up);
    settings.patience = absl::ZeroDuration();
    settings.bounds = command_.goal.bounds;
    for (const RequestClass& one : workload_.classes) {
      settings.patience = std::max(settings.patience, std::min(one.deadline + kGrace, kLongestPatience));
    }
    if (!command_.trace.empty()) {
      settings.trace = true;
      settings.arrivals = [this] { return ArrivalsOf(trace_.arrivals); };
      settings.warm_up = command_.warm_up.value_or(absl::ZeroDuration());
      settings.duration =
          std::min(command_.duration.value_or(absl::InfiniteDuration()), TraceLength() - settings.warm_up);
    } else if (rate > 0) {
      settings.arrivals = [this, rate] { return ArrivalsAtRate(command_.process, rate, command_.load.seed); };
    }
    return settings;
  }

  void Describe() {
    LoadSetting& setting = report_.setting;
    setting.server = command_.client.address;
    const char* process = command_.process == ArrivalProcess::kPoisson ? "Poisson" : "constant";
    setting.mode = command_.load.mode;
    setting.closed = command_.IsClosed();
    setting.loop = setting.closed           ? absl::StrCat("closed loop, ", command_.load.concurrency, " at a time")
                   : command_.trace.empty() ? absl::StrCat("open loop, ", process, " arrivals")
                                            : absl::StrCat("open loop, trace ", command_.trace);
    for (const RequestClass& one : workload_.classes) setting.classes.push_back(one.Description());
    const size_t classes = setting.classes.size();
    setting.load = classes == 1 ? setting.classes.front() : absl::StrCat(classes, " classes of requests");
    std::set<std::string> images;
    for (const Workload::Request& request : workload_.requests) images.insert(request.image);
    absl::StrAppendFormat(&setting.load, ", %d image%s of %.0f bytes", images.size(), images.size() == 1 ? "" : "s",
                          workload_.image_bytes);
    setting.started = absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone());
    setting.connections = command_.connections;
    setting.threads = command_.load.threads;
    setting.warm_up_seconds = absl::ToDoubleSeconds(SettingsFor(0).warm_up);
    setting.server_process = command_.load.server_process;
    if (!command_.find_max) return;
    setting.goal = absl::StrFormat("%g %% within their deadline", 100 * command_.goal.least_good);
    for (const LatencyBound& bound : command_.goal.bounds) {
      absl::StrAppendFormat(&setting.goal, ", p%g <= %s", 100 * bound.quantile, absl::FormatDuration(bound.most));
    }
  }

  // Measures one rate (0: the closed loop or the trace).
  const LoadPoint& Measure(double rate) {
    shown_ = 0;
    LoadPoint point{rate, RunLoad(connections_, workload_, SettingsFor(rate), hooks_)};
    point.stability = JudgeStability(point.result.record, command_.stability);
    if (command_.find_max && !point.result.interrupted) {
      point.missed = MissedGoal(point.result.record, point.stability, command_.goal);
    }
    if (point.result.interrupted) report_.complete = false;
    if (live_) errors_ << "\r\33[K";
    if (rate > 0 && (command_.find_max || command_.sweep.has_value())) {
      const LoadRecord& record = point.result.record;
      const std::optional<int64_t> p99 = record.QuantileOfDue(0.99);
      const std::string verdict = PointVerdict(point);
      errors_ << absl::StrFormat("%10.1f/s offered, goodput %.1f/s, p99 %s%s%s\n", rate, record.GoodPerSecond(),
                                 p99.has_value() ? absl::StrFormat("%.2f ms", static_cast<double>(*p99) / 1e6) : "inf",
                                 verdict.empty() ? "" : "; ", verdict)
              << std::flush;
    }
    report_.points.push_back(std::move(point));
    return report_.points.back();
  }

  void Sweep() {
    for (const double rate : command_.sweep->Rates()) {
      if (!hooks_.stopped() && !Measure(rate).result.interrupted) continue;
      report_.complete = false;
      break;
    }
    double best = 0, at = 0;
    bool stable = true;
    for (const LoadPoint& point : report_.points) {
      const double good = point.result.record.GoodPerSecond();
      if (!InvalidReason(point).empty() || point.result.interrupted || good <= best) continue;
      best = good;
      stable = point.stability.verdict != Stability::Verdict::kNotStable;
      at = point.offered;
    }
    report_.verdict = at > 0 ? absl::StrFormat("The highest goodput is %.1f requests/s, at %.1f offered%s.", best, at,
                                               stable ? "" : " (not stable)")
                             : "No rate had an answer in time while the generator itself was on time.";
    if (!report_.complete) report_.verdict = "Incomplete: the sweep was interrupted. " + report_.verdict;
  }

  void Search() {
    const double low = command_.sweep.has_value() ? command_.sweep->low : command_.rate.value_or(kLowestRate);
    const double high = command_.sweep.has_value() ? command_.sweep->high : std::max(low, kHighestSwept);
    RateSearch search(low, high, command_.tolerance);
    std::string doubt;  // reason to doubt the result of the lowest rate that missed the goal
    while (const std::optional<double> rate = search.Next()) {
      const LoadPoint* point = hooks_.stopped() ? nullptr : &Measure(*rate);
      // Repeats an invalid measurement once, because a disturbance by another program has usually ended by then.
      if (point != nullptr && !point->result.interrupted && !InvalidReason(*point).empty()) point = &Measure(*rate);
      if (point == nullptr || point->result.interrupted) {
        report_.complete = false;
        break;
      }
      const bool met = point->missed->empty();
      if (!met) doubt = DoubtAbout(*point);
      search.Record(*rate, met);
    }
    report_.best = search.best();
    if (report_.complete && report_.best.has_value()) Repeat();
    report_.verdict = report_.complete ? SearchVerdict(low) + doubt : "Incomplete: the search was interrupted.";
    if (!report_.complete && report_.best.has_value()) {
      report_.verdict += absl::StrFormat(" The highest rate until then that meets the goal (%s) is %.1f requests/s%s.",
                                         report_.setting.goal, *report_.best, StabilityOfBest());
    }
  }

  // Measures the search's result several times, and lowers the rate until most samples meet the goal. Close to the
  // limit, a rate meets the goal only in some samples.
  void Repeat() {
    constexpr int kMostSteps = 5;
    double rate = *report_.best;
    for (int step = 0; step < kMostSteps; ++step, rate *= 1 - command_.tolerance) {
      while (!SamplesOf(report_.points, rate).Decides(command_.repeats)) {
        if (hooks_.stopped() || Measure(rate).result.interrupted) {
          report_.complete = false;
          return;
        }
      }
      report_.best = rate;
      report_.samples = SamplesOf(report_.points, rate);
      if (report_.samples->MostMet()) return;
    }
    report_.best.reset();
  }

  // Describes how the load generator may have caused the missed goal; empty: InvalidReason finds no cause.
  static std::string DoubtAbout(const LoadPoint& point) {
    const std::string reason = InvalidReason(point);
    if (reason.empty()) return "";
    return absl::StrFormat(
        " The load generator may be the limit: at %.1f requests/s, in both measurements %s. The server alone may reach "
        "more: give the generator a core of its own, or more --threads and --connections.",
        point.offered, reason);
  }

  std::string SearchVerdict(double low) const {
    if (!report_.best.has_value()) {
      if (report_.samples.has_value()) {
        return absl::StrFormat("At no rate did most measurements meet the goal (%s).", report_.setting.goal);
      }
      return absl::StrFormat("Not even %.1f requests/s meet the goal (%s).", low, report_.setting.goal);
    }
    const bool is_missed = std::any_of(report_.points.begin(), report_.points.end(),
                                       [](const LoadPoint& point) { return point.missed != ""; });
    return absl::StrFormat("The highest rate that meets the goal (%s) is %.1f requests/s%s, %s.%s",
                           report_.setting.goal, *report_.best, StabilityOfBest(), report_.samples->InWords(),
                           is_missed ? ""
                                     : " No rate missed the goal: the search ends at --sweep's HIGH; give a higher "
                                       "one.");
  }

  std::string StabilityOfBest() const {
    for (const LoadPoint& point : report_.points) {
      if (point.offered != *report_.best || point.missed != "") continue;
      switch (point.stability.verdict) {
        case Stability::Verdict::kNotStable:
          return absl::StrCat(" (not stable there: ", point.stability.reason, ")");
        case Stability::Verdict::kUnknown:
          return absl::StrCat(" (stability unknown: ", point.stability.reason, ")");
        case Stability::Verdict::kStable:
          break;
      }
    }
    return "";
  }

  // Prints a line for each image that a server refused, as classify and eval do.
  void NameRefused() {
    std::map<std::string, std::string> refused;
    bool is_full = false;
    for (const LoadPoint& point : report_.points) {
      is_full = is_full || point.result.record.refused().size() >= kMostRefused;
      for (const auto& [request, why] : point.result.record.refused()) {
        refused.emplace(workload_.requests[request].image, why);
      }
    }
    for (const auto& [image, why] : refused) {
      if (!image.empty()) errors_ << "vitrine: " << Printable(image) << ": " << Printable(why) << "\n";
    }
    if (is_full) errors_ << "vitrine: only these images are listed; there may be more\n";
    errors_ << std::flush;
  }

  // Redraws a line on a terminal; otherwise prints a line every kPlainSeconds.
  void Show(const LoadProgress& progress) {
    if (!live_ && progress.seconds - shown_ < kPlainSeconds) return;
    shown_ = progress.seconds;
    errors_ << absl::StrFormat(
                   "%s%5.0f s  %.0f/s due, %.0f/s answered, %.0f refused, p50 %.1f ms, p99 %.1f ms, %d outstanding%s",
                   live_ ? "\r\33[K" : "", progress.seconds, progress.due, progress.answered, progress.failed,
                   progress.p50_ms, progress.p99_ms, progress.outstanding, live_ ? "" : "\n")
            << std::flush;
  }

  const BenchCommand& command_;
  std::ostream& errors_;
  const bool live_;
  double shown_ = 0;  // seconds of the measurement at which Show last printed
  LoadHooks hooks_;
  Trace trace_;
  Workload workload_;
  LoadConnections connections_;
  LoadReport report_;
};

}  // namespace

absl::StatusOr<BenchOutcome> RunBench(const BenchCommand& command, std::ostream& out, std::ostream& errors, bool live,
                                      const std::function<bool()>& stopped) {
  RETURN_IF_ERROR(ValidateBench(command));
  Bench bench(command, errors, live, stopped);
  RETURN_IF_ERROR(bench.Prepare());
  RETURN_IF_ERROR(MakeFolder(command.out));
  LoadReport report = bench.Run();
  report.gates = JudgeLoad(command.gates, report);
  if (command.format == Format::kJson) {
    out << LoadJson(report, -1) << std::flush;
  } else {
    PrintLoad(report, out);
  }
  const bool missed = PrintMisses(report, errors);
  if (!command.out.empty()) RETURN_IF_ERROR(WriteLoadFiles(report, command.out));
  const auto any = [&](auto is) { return std::any_of(report.points.begin(), report.points.end(), is); };
  if (stopped() && (!report.complete || any([](const LoadPoint& point) { return point.result.interrupted; }))) {
    return BenchOutcome::kInterrupted;
  }
  const bool measured = command.find_max
                            ? report.complete && report.best.has_value()
                            : any([](const LoadPoint& point) { return point.result.record.answered() > 0; });
  if (!measured) return BenchOutcome::kNothing;
  return missed ? BenchOutcome::kMissed : BenchOutcome::kMeasured;
}

}  // namespace vitrine
