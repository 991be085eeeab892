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
#include "base/mutex.h"
#include "server/observe/histogram.h"
#include "server/process/shed.h"

namespace vitrine {

// Labels of vitrine_requests_total{method}.
enum class Method : int { kClassify = 0, kClassifyStream, kModelInfer, kHttpInfer, kHttpClassify };
inline constexpr int kMethods = 5;
const char* MethodName(Method method);
inline constexpr int kCodes = 17;  // canonical codes, 0 to 16

// Labels of vitrine_stage_duration_seconds{stage}.
enum class Stage : int { kQueue = 0, kDecode, kCompute, kEncode };
inline constexpr int kStages = 4;
const char* StageName(Stage stage);

// How far a request came. Labels of vitrine_requests_expired_total{stage}.
enum class Progress : int { kAdmission = 0, kQueue, kCompute };
inline constexpr int kProgresses = 3;

// Why a version was taken out of traffic: a canary by its guard, or any version by an operator.
enum class RollbackCause : int { kErrorRate = 0, kGoldenDrift, kSlow, kAnswers, kLabels, kOperator };
inline constexpr int kRollbackCauses = 6;

// How requests ended, as summed for a scrape.
struct RequestTotals {
  struct ByMethod {
    std::array<uint64_t, kCodes> codes{};
    HistogramTotals ok_duration;  // seconds
    HistogramTotals error_duration;
  };
  std::array<ByMethod, kMethods> methods;
  std::array<uint64_t, kShedReasons> shed{};

  // Sums, for rates.
  uint64_t OfCode(absl::StatusCode code) const;
  uint64_t All() const;
  uint64_t Errors() const { return All() - OfCode(absl::StatusCode::kOk); }
  uint64_t Faults() const;  // INTERNAL, UNKNOWN, DATA_LOSS: the server's own
  uint64_t Shed() const;
};

// How requests ended. Thread-safe.
class RequestCounts {
 public:
  // A request ended so, this long after its arrival. A refusal because of load is counted by its ShedReason too. Takes
  // no memory.
  void Count(Method method, const absl::Status& status, absl::Duration spent);
  RequestTotals Totals() const;
  // Seconds, of all methods.
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

// How sure a model was of one picture.
struct Sureness {
  double confidence = 0;  // softmax probability of the first class, as in its answer
  double entropy = 0;     // of the softmax, by the logarithm of the number of classes; 0 where there is one class
};
// `logits` are finite, at least one; `temperature` is what they are divided by, above 0.
Sureness SurenessOf(std::span<const float> logits, double temperature = 1);

// What is counted about one version while it is in memory. Thread-safe.
class VersionMetrics {
 public:
  VersionMetrics();

  // Those that reached the version.
  RequestCounts& requests() { return requests_; }
  RequestTotals Requests() const { return requests_.Totals(); }

  // Of a picture that was answered.
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

// Sums over the life of the server, of all methods.
struct StageTotals {
  uint64_t count = 0;
  double seconds = 0;
};
struct ModelTotals {
  std::array<StageTotals, kStages> stages;  // of requests answered OK
  StageTotals succeeded;                    // requests answered OK
  StageTotals failed;                       // requests refused or failed
  uint64_t batches = 0;
};

// What is counted about one model, whatever its version. Bound when the model loads. Thread-safe.
class ModelMetrics {
 public:
  ModelMetrics();

  // All of the model: those that were refused before they reached a version, and those of every version there is or
  // was.
  RequestCounts& requests() { return requests_; }
  RequestTotals Requests() const { return requests_.Totals(); }
  // The block of a version that is being loaded, one for all who ask while somebody holds it.
  std::shared_ptr<VersionMetrics> ForVersion(int64_t version);
  // Those that somebody holds.
  std::map<int64_t, std::shared_ptr<VersionMetrics>> Versions() const;

  // A request that was answered OK spent so long in a stage; in kCompute, a batch that was computed.
  void CountAnswered(Stage stage, absl::Duration spent) {
    answered_[static_cast<int>(stage)].Observe(absl::ToDoubleSeconds(spent));
  }
  // A request that ended without an answer spent so long in a stage; in kCompute, a batch that failed.
  void CountUnanswered(Stage stage, absl::Duration spent) {
    unanswered_[static_cast<int>(stage)].Observe(absl::ToDoubleSeconds(spent));
  }
  // What a batch that was computed held.
  void CountBatch(int64_t images, int64_t tokens, int64_t grids);
  // The deadline of a request passed, or its client left.
  void CountExpired(Progress progress) { Count(expired_[static_cast<int>(progress)]); }
  void CountCancelled(Progress progress) { Count(cancelled_[static_cast<int>(progress)]); }
  // An attempt to load a version ended.
  void CountLoad(const absl::Status& status, absl::Duration spent);
  // A version was taken out of traffic.
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
  std::map<int64_t, std::weak_ptr<VersionMetrics>> versions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_MODEL_METRICS_H_
