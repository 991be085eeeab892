// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_MODEL_METRICS_H_
#define VITRINE_SERVER_OBSERVE_MODEL_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

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

// How requests ended: each is counted once, in one of these. Thread-safe.
class RequestCounts {
 public:
  // A request ended so, this long after its arrival. A refusal because of load is counted by its ShedReason too.
  void Count(Method method, const absl::Status& status, absl::Duration spent);
  void AddTo(RequestTotals& totals) const;

 private:
  struct ByMethod {
    ByMethod();
    std::array<std::atomic<uint64_t>, kCodes> codes{};
    SharedHistogram ok_duration;
    SharedHistogram error_duration;
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

// What is counted about one version while it is in memory. Thread-safe but for the executors' parts.
class VersionMetrics {
 public:
  explicit VersionMetrics(int executors);

  // Written by one executor only.
  struct Executor {
    Executor();
    Histogram duration;    // seconds from arrival to answer, OK answers
    Histogram confidence;  // see Sureness
    Histogram entropy;
  };
  Executor& executor(int index) { return *executors_.at(index); }

  // Those that reached the version. Any thread.
  RequestCounts& requests() { return requests_; }
  RequestTotals Requests() const;

 private:
  friend class Metrics;
  friend class ModelMetrics;
  RequestCounts requests_;
  std::vector<std::unique_ptr<Executor>> executors_;
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

// What is counted about one model, whatever its version. Bound when the model loads. Thread-safe but for the executors'
// parts.
class ModelMetrics {
 public:
  explicit ModelMetrics(int executors);

  // Written by one executor only.
  struct Executor {
    Executor();
    void Observe(Stage stage, absl::Duration spent) {
      stages[static_cast<int>(stage)].Observe(absl::ToDoubleSeconds(spent));
    }
    std::array<Histogram, kStages> stages;  // of requests answered OK, and of batches that were computed
    Histogram batch_images;
    Histogram batch_tokens;
    Histogram batch_grids;
  };
  Executor& executor(int index) { return *executors_.at(index); }

  // Requests that were refused before they reached a version.
  RequestCounts& refused() { return refused_; }
  // The block of a version that is being loaded, one for all who ask while somebody holds it. What it counted stays in
  // Requests() when nobody does.
  std::shared_ptr<VersionMetrics> ForVersion(int64_t version);
  // Those that somebody holds.
  std::map<int64_t, std::shared_ptr<VersionMetrics>> Versions() const;
  // Of the model: refused, and of every version there is or was.
  RequestTotals Requests() const;

  // A request that ended without an answer spent so long in a stage; in kCompute, a batch that failed. Any thread.
  void CountUnanswered(Stage stage, absl::Duration spent) {
    unanswered_[static_cast<int>(stage)].Observe(absl::ToDoubleSeconds(spent));
  }
  // The deadline of a request passed, or its client left.
  void CountExpired(Progress progress) { Count(expired_[static_cast<int>(progress)]); }
  void CountCancelled(Progress progress) { Count(cancelled_[static_cast<int>(progress)]); }
  // An attempt to load a version ended.
  void CountLoad(const absl::Status& status, absl::Duration spent);

  ModelTotals Totals() const;

 private:
  friend class Metrics;
  static void Count(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }
  // Adds the versions that nobody holds to what is left of them.
  void Settle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RequestCounts refused_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::array<SharedHistogram, kStages> unanswered_;
  std::array<std::atomic<uint64_t>, kProgresses> expired_{};
  std::array<std::atomic<uint64_t>, kProgresses> cancelled_{};
  std::atomic<uint64_t> load_failures_ = 0;
  SharedHistogram ok_loads_;
  SharedHistogram failed_loads_;

  mutable Mutex mutex_;
  mutable std::map<int64_t, std::shared_ptr<VersionMetrics>> versions_ ABSL_GUARDED_BY(mutex_);
  mutable RequestTotals gone_ ABSL_GUARDED_BY(mutex_);  // of versions that nobody holds any more
  struct Seconds {
    double ok = 0;
    double error = 0;
  };
  mutable std::array<Seconds, kMethods> summed_ ABSL_GUARDED_BY(mutex_);  // as last said by Requests()
};

// Bounds of the buckets, for the families that show them.
std::span<const double> SecondBounds();
std::span<const double> LoadSecondBounds();
std::span<const double> ImageBounds();
std::span<const double> TokenBounds();
std::span<const double> GridBounds();
std::span<const double> ConfidenceBounds();
std::span<const double> EntropyBounds();

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_MODEL_METRICS_H_
