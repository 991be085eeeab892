#ifndef VITRINE_SERVER_METRICS_H_
#define VITRINE_SERVER_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/histogram.h"
#include "server/mutex.h"

namespace vitrine {

struct VersionStatus;  // server/registry.h

// Labels of vitrine_requests_total{method}.
enum class Method : int { kClassify = 0, kClassifyStream = 1 };
inline constexpr int kMethods = 2;
inline constexpr int kCodes = 17;  // canonical codes, 0 to 16

// Labels of vitrine_stage_duration_seconds{stage}.
enum class Stage : int { kQueue = 0, kDecode, kCompute, kEncode, kTotal };
inline constexpr int kStages = 5;

// What is counted about one model, whatever its version. Bound when the model loads. Thread-safe.
class ModelMetrics {
 public:
  explicit ModelMetrics(int executors);

  // Written by one executor only.
  struct Executor {
    Executor();
    void Observe(Stage stage, absl::Duration spent) {
      stages[static_cast<int>(stage)].Observe(absl::ToDoubleSeconds(spent));
    }
    std::array<Histogram, kStages> stages;
    Histogram batch_images;
    Histogram batch_tokens;
  };
  Executor& executor(int index) { return *executors_.at(index); }

  // A call ended with this code. Any thread.
  void CountRequest(Method method, absl::StatusCode code) {
    requests_[static_cast<int>(method)][static_cast<int>(code)].fetch_add(1, std::memory_order_relaxed);
  }
  void CountLoadFailure() { load_failures_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend class Metrics;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::array<std::array<std::atomic<uint64_t>, kCodes>, kMethods> requests_{};
  std::atomic<uint64_t> load_failures_ = 0;
};

// Every metric of the server: names, labels, help and buckets stand in metrics.cc and nowhere else. Reading costs the
// executors nothing. Thread-safe.
class Metrics : public prometheus::Collectable {
 public:
  // Gauges that are read when Prometheus asks; any may be null. Called from the scraping thread.
  struct Sources {
    std::function<std::vector<VersionStatus>()> versions;
    std::function<int64_t()> queue_depth;  // requests that wait
    std::function<int64_t()> queue_bytes;  // of their pictures and tensors
    std::function<int64_t()> in_flight;    // admitted and not yet answered
  };

  // `executors`: threads of the ExecutorPool. `build` is the version of the program.
  Metrics(int executors, std::string build);

  // Before the first scrape.
  void SetSources(Sources sources);

  // The metrics of a model that the registry knows, made on first use. Never pass a name from a request.
  std::shared_ptr<ModelMetrics> ForModel(const std::string& model);
  // Requests that named no model of the registry; label "unknown".
  ModelMetrics& unknown() { return *unknown_; }

  std::vector<prometheus::MetricFamily> Collect() const override;
  // The text exposition format, version 0.0.4.
  std::string Text() const;

 private:
  std::map<std::string, std::shared_ptr<ModelMetrics>> Models() const;
  void AddCounters(std::vector<prometheus::MetricFamily>& families) const;
  void AddHistograms(std::vector<prometheus::MetricFamily>& families) const;

  const int executors_;
  const std::string build_;
  const std::shared_ptr<ModelMetrics> unknown_;
  Sources sources_;  // constant after SetSources

  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<ModelMetrics>> models_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_METRICS_H_
