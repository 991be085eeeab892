// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_MODEL_METRICS_H_
#define VITRINE_SERVER_OBSERVE_MODEL_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/observe/histogram.h"
#include "server/process/shed.h"

namespace vitrine {

// API method of a request; a label of vitrine_requests_total{method}.
enum class Method : int { kClassify = 0, kClassifyStream, kModelInfer, kHttpInfer, kHttpClassify };
inline constexpr int kMethods = 5;
const char* MethodName(Method method);
inline constexpr int kCodes = 17;  // canonical codes, 0 to 16

// Processing stage; a label of vitrine_stage_duration_seconds{stage}.
enum class Stage : int { kQueue = 0, kDecode, kCompute, kEncode };
inline constexpr int kStages = 4;
const char* StageName(Stage stage);

// Last stage that a request reached; a label of vitrine_requests_expired_total{stage}.
enum class Progress : int { kAdmission = 0, kQueue, kCompute };
inline constexpr int kProgresses = 3;

// Reason for removing a version from traffic. The guard removes canaries for the first five reasons; an operator may
// remove any version.
enum class RollbackCause : int { kErrorRate = 0, kGoldenDrift, kSlow, kAnswers, kLabels, kOperator };
inline constexpr int kRollbackCauses = 6;

// Results of requests, summed for a scrape.
struct RequestTotals {
  struct ByMethod {
    std::array<uint64_t, kCodes> codes{};
    HistogramTotals ok_duration;  // seconds
    HistogramTotals error_duration;
  };
  std::array<ByMethod, kMethods> methods;
  std::array<uint64_t, kShedReasons> shed{};

  // Return numbers of requests, summed over all methods. Rates are computed from these sums.
  uint64_t OfCode(absl::StatusCode code) const;
  uint64_t All() const;
  uint64_t Errors() const { return All() - OfCode(absl::StatusCode::kOk); }
  uint64_t Faults() const;  // returns the number of INTERNAL, UNKNOWN and DATA_LOSS: faults of the server
  uint64_t Shed() const;
};

// Counts requests by result. Thread-safe.
class RequestCounts {
 public:
  // Counts the end of a request, with its time since arrival. A rejection because of load is also counted under its
  // ShedReason.
  void Count(Method method, const absl::Status& status, absl::Duration spent);
  RequestTotals Totals() const;
  // Return the durations of requests in seconds, over all methods.
  HistogramTotals OkDuration() const;
  HistogramTotals ErrorDuration() const;

 private:
  struct ByMethod {
    ByMethod();
    std::array<std::atomic<uint64_t>, kCodes> codes{};
    Histogram ok_duration;
    Histogram error_duration;
  };
  std::array<ByMethod, kMethods> methods_;
  std::array<std::atomic<uint64_t>, kShedReasons> shed_{};
};

// Certainty of a model's answer to one image.
struct Sureness {
  double confidence = 0;  // softmax probability of the most probable class, as in the answer
  double entropy = 0;     // softmax entropy divided by the logarithm of the number of classes; 0 for a single class
};
// Returns the certainty. Requires at least one logit, finite logits, and a `temperature` above 0; the logits are
// divided by it.
Sureness SurenessOf(std::span<const float> logits, double temperature = 1);

// Counters of one version in memory. Thread-safe.
class VersionMetrics {
 public:
  VersionMetrics();

  // Returns the counts of requests that were submitted to the version.
  RequestCounts& requests() { return requests_; }
  RequestTotals Requests() const { return requests_.Totals(); }

  // Counts an answered image.
  void CountSureness(const Sureness& sureness) {
    confidence_.Observe(sureness.confidence);
    entropy_.Observe(sureness.entropy);
  }

 private:
  friend class Metrics;
  RequestCounts requests_;
  Histogram confidence_;
  Histogram entropy_;
};

// Number of measured durations and their sum, over all methods since the server's start.
struct StageTotals {
  uint64_t count = 0;
  double seconds = 0;
};
struct ModelTotals {
  std::array<StageTotals, kStages> stages;  // stages of requests that were answered OK
  StageTotals succeeded;                    // requests that were answered OK
  StageTotals failed;                       // requests that were rejected or failed
  uint64_t batches = 0;
};

// Counters of one model over all its versions. Each version gets a pointer to this object when it is loaded.
// Thread-safe.
class ModelMetrics {
 public:
  ModelMetrics();

  // Returns the counts of all requests of the model. These were submitted to a current or past version, or rejected
  // after the model was found.
  RequestCounts& requests() { return requests_; }
  RequestTotals Requests() const { return requests_.Totals(); }
  // Returns the metrics of a version that is being loaded. Drops the metrics of other versions that have left memory.
  // Until this call their metrics are kept, so that a scrape after a rollback still contains the last requests of the
  // canary.
  std::shared_ptr<VersionMetrics> ForVersion(int64_t version);
  // Returns the metrics of the versions in memory, and of versions that left memory after the last call of ForVersion.
  std::map<int64_t, std::shared_ptr<VersionMetrics>> Versions() const;

  // Counts the time that a successful request spent in a stage; for kCompute, the time of a successful batch.
  void CountAnswered(Stage stage, absl::Duration spent) {
    answered_[static_cast<int>(stage)].Observe(absl::ToDoubleSeconds(spent));
  }
  // Counts the time that a request without a successful answer spent in a stage; for kCompute, the time of a failed
  // batch.
  void CountUnanswered(Stage stage, absl::Duration spent) {
    unanswered_[static_cast<int>(stage)].Observe(absl::ToDoubleSeconds(spent));
  }
  // Counts the content of a computed batch.
  void CountBatch(int64_t images, int64_t tokens, int64_t grids);
  // Count a request whose deadline passed (expired) or whose client left (cancelled).
  void CountExpired(Progress progress) { Count(expired_[static_cast<int>(progress)]); }
  void CountCancelled(Progress progress) { Count(cancelled_[static_cast<int>(progress)]); }
  // Counts an attempt to load a version.
  void CountLoad(const absl::Status& status, absl::Duration spent);
  // Counts the removal of a version from traffic.
  void CountRollback(RollbackCause cause) { Count(rollbacks_[static_cast<int>(cause)]); }
  uint64_t Rollbacks(RollbackCause cause) const {
    return rollbacks_[static_cast<int>(cause)].load(std::memory_order_relaxed);
  }

  ModelTotals Totals() const;

 private:
  friend class Metrics;
  static void Count(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

  RequestCounts requests_;
  std::array<Histogram, kStages> answered_;
  std::array<Histogram, kStages> unanswered_;
  Histogram batch_images_;
  Histogram batch_tokens_;
  Histogram batch_grids_;
  std::array<std::atomic<uint64_t>, kProgresses> expired_{};
  std::array<std::atomic<uint64_t>, kProgresses> cancelled_{};
  std::array<std::atomic<uint64_t>, kRollbackCauses> rollbacks_{};
  std::atomic<uint64_t> load_failures_ = 0;
  Histogram ok_loads_;
  Histogram failed_loads_;

  mutable Mutex mutex_;
  std::map<int64_t, std::shared_ptr<VersionMetrics>> versions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_MODEL_METRICS_H_
